// Train a WordPiece tokenizer in the format of a Hugging Face tokenizer.json. As in that library's trainer,
// pieces are learnt by pair counts as in BPE. Letters inside words ("##a") get ids in code-point order; in
// that library their order follows a hash table.
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
  std::size_t vocabulary_size = 30000;  // including special tokens and the alphabet
  std::int64_t min_frequency = 2;       // minimum count of a merge
  AlphabetLimits alphabet;              // words with other characters become unknown
  std::string continuing_prefix = "##";
  std::size_t max_word_length = 100;  // in characters; longer words become unknown
  WordRule words = WordRule::bert;
  // BERT's cleaning: remove control characters, map white space to spaces, surround Chinese characters by
  // spaces.
  bool clean_text = true;
  bool lower_case = false;
  bool strip_accents = false;  // as in BERT's uncased models; damages scripts that write vowels as marks
  bool end_token = false;      // encode appends </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";                     // added to the special tokens if missing
  std::function<void(std::size_t tokens)> progress;  // may be empty
};

// Deterministic: the same lines give the same tokenizer for any number of threads. `pool` may be null.
// Throws usage if the vocabulary cannot hold special tokens and alphabet.
std::shared_ptr<const Tokenizer> train_word_piece(const LineSource& lines,
                                                  const WordPieceTrainingOptions& options,
                                                  ThreadPool* pool = nullptr);

}  // namespace regard::text
