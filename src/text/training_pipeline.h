// Functions shared by all trainers: they make the parts of a tokenizer.json around the model, and count
// words with them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "text/word_counts.h"

namespace regard::text {

// Default special tokens; their ids follow this order.
inline const std::vector<std::string> kSpecialTokens = {"<pad>", "<unk>", "<s>", "</s>"};

// File name for error messages.
extern const std::string kTrainedSource;

// Rules for word boundaries. No learnt piece crosses one.
enum class WordRule {
  // sequences of letters with marks, of numbers, or of other signs, each with one preceding space; for all
  // scripts
  words,
  gpt2,       // GPT-2's pattern, which separates Indic vowel signs from their letters
  spaces,     // boundaries at white space, which is dropped
  signs,      // as `spaces`, and between letters or digits and other signs (\w+|[^\w\s]+)
  bert,       // as `spaces`, and at each punctuation sign
  metaspace,  // at spaces; a space becomes "▁" at the start of the following word, as in sentencepiece
};

// Return null for no part, the part itself for one, and a Sequence with the parts under `key` for several.
Json sequence_json(const char* key, std::vector<Json> parts);
// Return a normalizer with the selected steps: normalisation form C, lower case, and a space at the start.
Json normalizer_json(bool normalize, bool lower_case, bool prefix_space);
// Return the pre-tokenizer of a word rule. `bytes`: for byte-level models.
Json word_rule_json(WordRule words, bool bytes);

// Return the decoder of character models: join the pieces, decode byte tokens if `bytes` is set, and remove
// the space that normalizer_json() or the rule metaspace added.
Json character_decoder_json(bool bytes, bool prefix_space, bool metaspace);

// Return a tokenizer.json without "model", keys in their usual order. `end_token`: encode appends "</s>" to
// each text; throws usage if "</s>" is not in `special`.
Json pipeline_json(const std::vector<std::string>& special, bool end_token, Json normalizer,
                   Json pre_tokenizer, Json decoder);

// Count words as split by the pipeline's normalizer and pre-tokenizer; see count_words().
std::vector<WordCount> count_words_of(const LineSource& lines, const Json& pipeline, bool bytes,
                                      ThreadPool* pool);

// Return `special`, with `unknown` prepended if it is missing.
std::vector<std::string> with_unknown(std::vector<std::string> special, const std::string& unknown);
// Throws usage if special tokens and alphabet alone exceed the vocabulary size.
void require_room(std::size_t vocabulary_size, std::size_t needed);

// Return a vocabulary object; ids are the indices of the tokens.
Json vocabulary_json(const std::vector<std::string>& tokens);

}  // namespace regard::text
