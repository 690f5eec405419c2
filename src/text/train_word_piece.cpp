#include "text/train_word_piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "text/bpe_trainer.h"

namespace regard::text {
namespace {

// Add the letters as tokens: all letters with their spelling at the start of a word, then the letters that
// occur inside words with their spelling there. Then add the words as lists of these tokens.
void add_words(BpeTrainer& trainer, const std::vector<WordCount>& words,
               const WordPieceTrainingOptions& options) {
  // ids of each letter: at the start of a word, and inside words
  std::map<char32_t, std::pair<std::int32_t, std::int32_t>> ids;
  for (const char32_t c : alphabet_of(words, options.alphabet))
    ids[c] = {trainer.add_token(text_of(c), false), -1};
  std::set<char32_t> inner;
  for (const WordCount& word : words) {
    const std::u32string letters = utf8::code_points(word.word);
    for (std::size_t i = 1; i < letters.size(); ++i)
      if (ids.count(letters[i]) != 0) inner.insert(letters[i]);
  }
  for (const char32_t c : inner)
    ids[c].second = trainer.add_token(options.continuing_prefix + text_of(c), false);
  std::vector<std::int32_t> symbols;
  for (const WordCount& word : words) {
    symbols.clear();
    bool first = true;
    for (const char32_t c : utf8::code_points(word.word)) {
      // characters outside the alphabet are skipped, as in the reference implementation
      const auto id = ids.find(c);
      if (id != ids.end()) symbols.push_back(first ? id->second.first : id->second.second);
      first = false;
    }
    trainer.add_word(symbols, word.count);
  }
}

}  // namespace

std::shared_ptr<const Tokenizer> train_word_piece(const LineSource& lines,
                                                  const WordPieceTrainingOptions& options, ThreadPool* pool) {
  std::vector<std::string> special = with_unknown(options.special_tokens, options.unknown);
  const Json normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", options.clean_text},
                           {"handle_chinese_chars", options.clean_text},
                           {"strip_accents", options.strip_accents},
                           {"lowercase", options.lower_case}};
  const Json decoder = {{"type", "WordPiece"}, {"prefix", options.continuing_prefix}, {"cleanup", true}};
  Json json =
      pipeline_json(special, options.end_token, normalizer, word_rule_json(options.words, false), decoder);
  const std::vector<WordCount> words = count_words_of(lines, json, false, pool);
  BpeTrainer trainer;
  for (const std::string& token : special) trainer.add_token(token, true);
  add_words(trainer, words, options);
  require_room(options.vocabulary_size, trainer.tokens().size());
  trainer.learn({options.vocabulary_size, options.min_frequency, 0, options.continuing_prefix},
                options.progress);
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", options.unknown},
                   {"continuing_subword_prefix", options.continuing_prefix},
                   {"max_input_chars_per_word", options.max_word_length},
                   {"vocab", vocabulary_json(trainer.tokens())}};
  return Tokenizer::from_json(json, kTrainedSource);
}

}  // namespace regard::text
