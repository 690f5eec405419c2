#include "text/train_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "regard/error.h"

namespace regard::text {

std::shared_ptr<const Tokenizer> train_words(const LineSource& lines, const WordTrainingOptions& options,
                                             ThreadPool* pool) {
  std::vector<std::string> tokens = options.special_tokens;
  if (std::find(tokens.begin(), tokens.end(), options.unknown) == tokens.end())
    tokens.insert(tokens.begin(), options.unknown);
  if (tokens.size() > options.vocabulary_size)
    throw usage_error("the vocabulary is too small")
        .found(fmt::format("{} tokens asked for", options.vocabulary_size))
        .expected(fmt::format("at least {}: the special tokens", tokens.size()));
  Json json =
      pipeline_json(tokens, options.end_token, normalizer_json(options.normalize, options.lower_case, false),
                    word_rule_json(options.words, false), nullptr);
  std::vector<WordCount> words = count_words_of(lines, json, false, pool);
  std::stable_sort(words.begin(), words.end(),
                   [](const WordCount& a, const WordCount& b) { return a.count > b.count; });
  const std::vector<std::string> special = tokens;
  for (WordCount& word : words) {
    if (tokens.size() == options.vocabulary_size || word.count < options.min_frequency) break;
    // A word spelt as a special token is none of its own.
    if (std::find(special.begin(), special.end(), word.word) != special.end()) continue;
    tokens.push_back(std::move(word.word));
  }
  json["model"] = {{"type", "WordLevel"}, {"vocab", vocabulary_json(tokens)}, {"unk_token", options.unknown}};
  return Tokenizer::from_json(json, kTrainedSource);
}

}  // namespace regard::text
