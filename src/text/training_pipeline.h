// Functions shared by all trainers. They construct the parts of a tokenizer.json other than "model", and
// count the words of a corpus.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "text/word_counts.h"

namespace regard::text {

// Default special tokens, in the order of their ids.
inline const std::vector<std::string> kSpecialTokens = {"<pad>", "<unk>", "<s>", "</s>"};

// Name that error messages contain instead of a file name while a tokenizer is being trained.
extern const std::string kTrainedSource;

// Rules that divide a text into words. No learned piece crosses a word boundary.
enum class WordRule {
  // Words are sequences of letters with their marks, of numbers, or of other characters, each with at most
  // one preceding space. Suitable for all scripts.
  words,
  gpt2,    // GPT-2's pattern, which separates vowel signs of Indic scripts from their letters
  spaces,  // words end at white space, which is dropped
  signs,   // as `spaces`, but words also end between word characters and other characters (\w+|[^\w\s]+)
  bert,    // as `spaces`, but each punctuation character is a word of its own
  // words start at spaces; a space becomes "▁" at the start of the word after it, as in sentencepiece
  metaspace,
};

// Return a Sequence with `parts` under `key`. Return null if there are no parts, and the part itself if there
// is only one.
Json sequence_json(const char* key, std::vector<Json> parts);
// Return a normalizer with the selected steps: NFC, lower case, and a space at the start.
Json normalizer_json(bool normalize, bool lower_case, bool prefix_space);
// Return the pre-tokenizer of a word rule. `bytes` is true for byte-level models.
Json word_rule_json(WordRule words, bool bytes);

// Return the decoder of character models: join the pieces, decode byte tokens if `bytes` is set, and remove
// the space that normalizer_json() or the rule metaspace added.
Json character_decoder_json(bool bytes, bool prefix_space, bool metaspace);

// Return a tokenizer.json without "model", with keys in the order of Hugging Face's files. If `end_token` is
// set, encode() appends "</s>" to each text. Throws usage if `end_token` is set and "</s>" is not in
// `special`.
Json pipeline_json(const std::vector<std::string>& special, bool end_token, Json normalizer,
                   Json pre_tokenizer, Json decoder);

// Count the words into which the pipeline's normalizer and pre-tokenizer split the lines; see count_words().
std::vector<WordCount> count_words_of(const LineSource& lines, const Json& pipeline, bool bytes,
                                      ThreadPool* pool);

// Return `special`, with `unknown` prepended if it is missing.
std::vector<std::string> with_unknown(std::vector<std::string> special, const std::string& unknown);
// Throw usage if `needed`, the number of special tokens and of characters in the alphabet, exceeds the
// vocabulary size.
void require_room(std::size_t vocabulary_size, std::size_t needed);

// Return an object that maps tokens to ids. The ids are the indices of the tokens.
Json vocabulary_json(const std::vector<std::string>& tokens);

}  // namespace regard::text
