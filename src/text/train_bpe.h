// Train a BPE tokenizer in the format of a Hugging Face tokenizer.json. Encoding is lossless for valid UTF-8:
// decode(encode_ids(x)) is x in NFC, including spaces.
// If x contains special tokens, set EncodeOptions::match_special = false, or decode with skip_special =
// false.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/alphabet.h"
#include "text/tokenizer.h"
#include "text/training_pipeline.h"
#include "text/word_counts.h"

namespace regard::text {

// The initial symbols of BPE training.
enum class Alphabet {
  bytes,       // the 256 bytes; every symbol is known
  characters,  // the characters of the corpus; all other characters are encoded as bytes
};

struct BpeTrainingOptions {
  std::size_t vocabulary_size = 10000;  // number of tokens, including special tokens and the alphabet
  std::int64_t min_frequency = 2;       // minimum count of a merge
  // limit of the token length in symbols (BpeTrainer::Limits); 0 means no limit
  std::size_t max_token_length = 0;
  Alphabet alphabet = Alphabet::bytes;
  // which characters the alphabet includes (others are encoded as bytes); ignored for Alphabet::bytes
  AlphabetLimits characters;
  WordRule words = WordRule::words;
  bool normalize = true;    // normalise to NFC
  bool lower_case = false;  // convert to lower case, so that decode() returns lower case
  // if true, encode() inserts a space before the text; the first word then has the tokens that it has after
  // a space
  bool prefix_space = false;
  // if true, encode() with add_special appends </s>, which translation models require
  bool end_token = false;
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::function<void(std::size_t tokens)> progress;  // called with the number of tokens so far; may be empty
};

// Train a tokenizer; the result is the same for any number of threads of `pool`, which may be null. Throws
// usage if the vocabulary size is too small for special tokens and alphabet.
std::shared_ptr<const Tokenizer> train_bpe(const LineSource& lines, const BpeTrainingOptions& options,
                                           ThreadPool* pool = nullptr);

struct CharacterTrainingOptions {
  AlphabetLimits characters;
  // if true, encode characters outside the alphabet as bytes (256 additional tokens), otherwise as <unk>
  bool byte_fallback = true;
  bool normalize = true;
  bool lower_case = false;
  bool end_token = false;
  std::vector<std::string> special_tokens = kSpecialTokens;
};

// Train a tokenizer with one token per character.
std::shared_ptr<const Tokenizer> train_characters(const LineSource& lines,
                                                  const CharacterTrainingOptions& options,
                                                  ThreadPool* pool = nullptr);

}  // namespace regard::text
