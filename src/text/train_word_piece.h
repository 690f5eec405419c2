// Train a WordPiece tokenizer in the format of a Hugging Face tokenizer.json; as in Hugging Face's trainer,
// pieces are learned from pair counts as in BPE. Letters inside words ("##a") get ids in the order of code
// points, whereas Hugging Face's trainer uses the order of a hash table.
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

struct WordPieceTrainingOptions {
  std::size_t vocabulary_size = 30000;  // number of tokens, including special tokens and the alphabet
  std::int64_t min_frequency = 2;       // minimum count of a merge
  // which characters the alphabet includes; a word with other characters becomes the unknown token
  AlphabetLimits alphabet;
  std::string continuing_prefix = "##";
  // maximum length of a word in characters; a longer word becomes the unknown token
  std::size_t max_word_length = 100;
  WordRule words = WordRule::bert;
  // BERT's text cleaning: remove control characters, replace white space with spaces, surround CJK ideographs
  // with spaces.
  bool clean_text = true;
  bool lower_case = false;
  // Remove accents as in BERT's uncased models. This also removes vowels in scripts that write vowels as
  // marks.
  bool strip_accents = false;
  bool end_token = false;  // if true, encode() appends </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";                     // unknown token; added to the special tokens if missing
  std::function<void(std::size_t tokens)> progress;  // called with the number of tokens so far; may be empty
};

// Train a tokenizer; the result is the same for any number of threads of `pool`, which may be null. Throws
// usage if the vocabulary size is too small for special tokens and alphabet.
std::shared_ptr<const Tokenizer> train_word_piece(const LineSource& lines,
                                                  const WordPieceTrainingOptions& options,
                                                  ThreadPool* pool = nullptr);

}  // namespace regard::text
