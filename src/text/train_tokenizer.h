// One door to all trainers, for the command line and run files: what to train by name, options with the
// defaults of each type.
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

// "byte-bpe", "bpe", "wordpiece", "unigram", "word", "char".
const std::vector<std::string>& trainable_types();
// "words", "gpt2", "spaces", "signs", "bert", "metaspace".
const std::vector<std::string>& word_rule_names();

struct TokenizerTraining {
  std::string type = "byte-bpe";
  std::size_t vocabulary_size = 10000;        // special tokens and alphabet included; not for char
  std::optional<std::int64_t> min_frequency;  // of a pair, or word; nothing: 2, for words 1; not for unigram
  std::size_t max_piece_length = 0;           // in characters, byte-bpe: bytes; 0: unigram 16, else any
  AlphabetLimits alphabet;                    // not for byte-bpe and word
  std::string continuing_prefix = "##";       // wordpiece
  std::string words;      // the rule for where words end; "": wordpiece bert, word signs, else words
  bool normalize = true;  // to normal form C; wordpiece: as BERT cleans text
  bool lower_case = false;
  bool strip_accents = false;  // wordpiece
  bool prefix_space = false;   // byte-bpe, bpe, unigram
  bool end_token = false;
  bool byte_fallback = true;  // char, unigram: unknown characters are spelt in bytes instead of <unk>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown;  // "": [UNK] if that is among the special tokens, else <unk>
  std::function<void(double fraction, const std::string& what)> progress;  // may be empty
};

// Throws usage for an unknown name and for options that do not fit together.
std::shared_ptr<const Tokenizer> train_tokenizer(const LineSource& lines, const TokenizerTraining& options,
                                                 ThreadPool* pool = nullptr);

}  // namespace regard::text
