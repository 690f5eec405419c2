#include "text/train_words.h"

#include <algorithm>

namespace regard::text {

std::shared_ptr<const Tokenizer> train_words(const LineSource& lines, const WordTrainingOptions& options,
                                             ThreadPool* pool) {
  std::vector<std::string> tokens = with_unknown(options.special_tokens, options.unknown);
  require_room(options.vocabulary_size, tokens.size());
  Json json =
      pipeline_json(tokens, options.end_token, normalizer_json(options.normalize, options.lower_case, false),
                    word_rule_json(options.words, false), nullptr);
  std::vector<WordCount> words = count_words_of(lines, json, false, pool);
  std::stable_sort(words.begin(), words.end(),
                   [](const WordCount& a, const WordCount& b) { return a.count > b.count; });
  const std::vector<std::string> special = tokens;
  for (WordCount& word : words) {
    if (tokens.size() == options.vocabulary_size || word.count < options.min_frequency) break;
    // Skip words that have the spelling of a special token.
    if (std::find(special.begin(), special.end(), word.word) != special.end()) continue;
    tokens.push_back(std::move(word.word));
  }
  json["model"] = {{"type", "WordLevel"}, {"vocab", vocabulary_json(tokens)}, {"unk_token", options.unknown}};
  return Tokenizer::from_json(json, kTrainedSource);
}

}  // namespace regard::text
