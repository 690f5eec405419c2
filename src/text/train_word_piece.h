// WordPiece tokenizers trained here, in the form of a Hugging Face tokenizer.json. Pieces are learnt as that
// library's trainer learns them, by the count of pairs as in BPE; the letters within words ("##a") get ids in
// the order of code points, where there they follow the order of a hash table.
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
  std::size_t vocabulary_size = 30000;  // special tokens and the alphabet included
  std::int64_t min_frequency = 2;       // a rarer pair is not joined
  AlphabetLimits alphabet;              // a word with any other character is unknown
  std::string continuing_prefix = "##";
  std::size_t max_word_length = 100;  // in characters; a longer word is unknown
  WordRule words = WordRule::bert;
  // BERT's normalizer: control characters go, white space becomes a space, Chinese characters stand alone.
  bool clean_text = true;
  bool lower_case = false;
  bool strip_accents = false;  // as BERT's uncased models do; unfit for scripts that write vowels as marks
  bool end_token = false;      // encode adds </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";                     // becomes a special token if it is not among them
  std::function<void(std::size_t tokens)> progress;  // may be empty
};

// Deterministic: the same lines give the same tokenizer for any number of threads. `pool` may be null.
// Throws usage if the vocabulary cannot hold special tokens and alphabet.
std::shared_ptr<const Tokenizer> train_word_piece(const LineSource& lines,
                                                  const WordPieceTrainingOptions& options,
                                                  ThreadPool* pool = nullptr);

}  // namespace regard::text
