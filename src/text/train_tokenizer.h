// One interface to all tokenizer trainers, used by the command line and by run files. Trainers are selected
// by name, and each has its own defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/alphabet.h"
#include "text/tokenizer.h"
#include "text/training_pipeline.h"

namespace regard::text {

// Return the names of all trainers: "byte-bpe", "bpe", "wordpiece", "unigram", "word" and "char".
const std::vector<std::string>& trainable_types();
// Return the names of all word rules: "words", "gpt2", "spaces", "signs", "bert" and "metaspace".
const std::vector<std::string>& word_rule_names();

struct TokenizerTraining {
  std::string type = "byte-bpe";
  // number of tokens, including special tokens and alphabet; ignored for char
  std::size_t vocabulary_size = 10000;
  // minimum count of a merge or a word; ignored for unigram. Default: 2 (type word: 1)
  std::optional<std::int64_t> min_frequency;
  // Limit of the token length in characters (byte-bpe: in bytes); byte-bpe and bpe create only shorter
  // tokens. Ignored for wordpiece, word and char. Default: 0, which means 16 for unigram and no limit for the
  // other types.
  std::size_t max_piece_length = 0;
  // which characters the alphabet of the vocabulary includes; ignored for byte-bpe and word
  AlphabetLimits alphabet;
  std::string continuing_prefix = "##";  // for wordpiece: prefix of pieces inside words
  // Word rule, one of word_rule_names(). Default: "bert" for wordpiece, "signs" for word, "words" for all
  // other types.
  std::string words;
  bool normalize = true;  // normalise to NFC; for wordpiece, apply BERT's text cleaning
  bool lower_case = false;
  bool strip_accents = false;  // for wordpiece: remove accents
  bool prefix_space = false;   // for byte-bpe, bpe and unigram: insert a space before a text
  bool end_token = false;
  bool byte_fallback = true;  // for char and unigram: encode unknown characters as bytes instead of <unk>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown;  // unknown token. Default: [UNK] if it is a special token, otherwise <unk>
  // called with the completed fraction and the name of the phase; may be empty
  std::function<void(double fraction, const std::string& what)> progress;
};

// Throws usage for an unknown name or conflicting options.
std::shared_ptr<const Tokenizer> train_tokenizer(const LineSource& lines, const TokenizerTraining& options,
                                                 ThreadPool* pool = nullptr);

}  // namespace regard::text
