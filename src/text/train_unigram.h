// Train a unigram tokenizer in the format of a Hugging Face tokenizer.json. With byte fallback and the word
// rule `words` or `gpt2`, decode(encode_ids(x)) is x in NFC, as for BPE (train_bpe.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/alphabet.h"
#include "text/tokenizer.h"
#include "text/training_pipeline.h"

namespace regard::text {

struct UnigramTrainingOptions {
  // number of tokens, including special tokens, byte tokens and the alphabet
  std::size_t vocabulary_size = 8000;
  AlphabetLimits alphabet;
  std::uint32_t max_piece_length = 16;  // maximum length of a piece in characters
  std::size_t seed_pieces = 1000000;
  double shrinking = 0.75;
  int sub_iterations = 2;
  WordRule words = WordRule::words;  // with metaspace, pieces are spelled as in sentencepiece
  // if true, encode characters outside the alphabet as bytes, otherwise as the token `unknown`
  bool byte_fallback = true;
  bool normalize = true;  // normalise to NFC
  bool lower_case = false;
  bool prefix_space = false;  // insert a space before a text; metaspace always inserts one
  bool end_token = false;     // if true, encode() appends </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";              // unknown token; added to the special tokens if missing
  std::function<void(double part)> progress;  // called with the completed fraction; may be empty
};

// Train a tokenizer; the result is the same for any number of threads of `pool`, which may be null. Throws
// usage if the vocabulary size is too small for special tokens, byte tokens and alphabet.
std::shared_ptr<const Tokenizer> train_unigram(const LineSource& lines, const UnigramTrainingOptions& options,
                                               ThreadPool* pool = nullptr);

}  // namespace regard::text
