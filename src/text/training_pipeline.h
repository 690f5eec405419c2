// What trainers share: the parts of a tokenizer.json around the model, and the counting of words under them.
//
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "text/word_counts.h"

namespace regard::text {

// The special tokens of models trained here; ids follow this order.
inline const std::vector<std::string> kSpecialTokens = {"<pad>", "<unk>", "<s>", "</s>"};

// Stands for the file in messages.
extern const std::string kTrainedSource;

// Where a word ends. What is learnt never crosses it.
enum class WordRule {
  words,   // letters with their marks, numbers, other signs, each with one space before it; for every script
  gpt2,    // GPT-2's pattern, which parts Indic vowel signs from their letters
  spaces,  // at white space, which is dropped
  signs,   // also between letters or digits and other signs (\w+|[^\w\s]+)
  bert,    // also at each punctuation sign
  metaspace,  // at spaces, which are written "▁" and begin the word after them, as in sentencepiece
};

// Json null for none, the part itself for one, else a Sequence with the parts under `key`.
Json sequence_json(const char* key, std::vector<Json> parts);
// To normal form C, to lower case, and with a space at the beginning.
Json normalizer_json(bool normalize, bool lower_case, bool prefix_space);
// `bytes`: words end as byte-level models have them.
Json word_rule_json(WordRule words, bool bytes);

// For models of characters: pieces joined, with `bytes` those spelt in bytes read, and the space of
// normalizer_json() or of the rule metaspace taken away again.
Json character_decoder_json(bool bytes, bool prefix_space, bool metaspace);

// tokenizer.json's keys in their usual order, "model" still missing. `end_token`: encode adds "</s>" after
// each text. Throws usage if </s> is not among `special` then.
Json pipeline_json(const std::vector<std::string>& special, bool end_token, Json normalizer,
                   Json pre_tokenizer, Json decoder);

// Words as the pipeline's normalizer and pre-tokenizer give them; see count_words().
std::vector<WordCount> count_words_of(const LineSource& lines, const Json& pipeline, bool bytes,
                                      ThreadPool* pool);

// `special` with `unknown` before them if it is not among them.
std::vector<std::string> with_unknown(std::vector<std::string> special, const std::string& unknown);
// Throws usage if special tokens and alphabet alone are more than the vocabulary is to have.
void require_room(std::size_t vocabulary_size, std::size_t needed);

// A vocabulary object; the ids are the tokens' places.
Json vocabulary_json(const std::vector<std::string>& tokens);

}  // namespace regard::text
