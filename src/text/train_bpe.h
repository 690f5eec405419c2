// Tokenizers trained here, in the form of a Hugging Face tokenizer.json. Whatever valid UTF-8 goes in comes
// out: decode(encode_ids(x)) is x in Unicode's normal form C, spaces included, as long as x is not taken to
// hold special tokens (EncodeOptions::match_special = false, or decode with skip_special = false).
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

// What words are made of before merges.
enum class Alphabet {
  bytes,       // the 256 bytes: nothing is ever unknown
  characters,  // the characters of the corpus, and the 256 bytes for all others
};

struct BpeTrainingOptions {
  std::size_t vocabulary_size = 10000;  // special tokens and the alphabet included
  std::int64_t min_frequency = 2;       // a rarer pair is not joined
  std::size_t max_token_length = 0;     // in symbols of the alphabet; 0: no limit
  Alphabet alphabet = Alphabet::bytes;
  AlphabetLimits characters;  // others are spelt in bytes; not for Alphabet::bytes
  WordRule words = WordRule::words;
  bool normalize = true;      // to Unicode's normal form C
  bool lower_case = false;    // text loses its capitals; decode gives back lower case
  bool prefix_space = false;  // a text's first word is seen as the others are: good for sentences
  bool end_token = false;     // encode adds </s> where add_special asks: what translation models want
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::function<void(std::size_t tokens)> progress;  // may be empty
};

// Deterministic: the same lines give the same tokenizer for any number of threads. `pool` may be null.
// Throws usage if the vocabulary cannot hold special tokens and alphabet.
std::shared_ptr<const Tokenizer> train_bpe(const LineSource& lines, const BpeTrainingOptions& options,
                                           ThreadPool* pool = nullptr);

struct CharacterTrainingOptions {
  AlphabetLimits characters;
  bool byte_fallback = true;  // 256 more tokens, and nothing is lost; false: other characters are <unk>
  bool normalize = true;
  bool lower_case = false;
  bool end_token = false;
  std::vector<std::string> special_tokens = kSpecialTokens;
};

// One token a character.
std::shared_ptr<const Tokenizer> train_characters(const LineSource& lines,
                                                  const CharacterTrainingOptions& options,
                                                  ThreadPool* pool = nullptr);

}  // namespace regard::text
