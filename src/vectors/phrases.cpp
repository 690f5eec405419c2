#include "vectors/phrases.h"

#include <numeric>
#include <unordered_map>

#include "text/vocabulary.h"

namespace regard::vectors {
namespace {

constexpr std::int32_t kEnd = -1;

std::uint64_t bigram_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
}

}  // namespace

RawCorpus join_phrases(const RawCorpus& corpus, const PhraseOptions& options,
                       const std::filesystem::path& temporary) {
  const auto ids = corpus.ids->records();
  const auto common = [&](std::int32_t id) {
    return id != kEnd && corpus.counts[static_cast<std::size_t>(id)] >= options.min_count;
  };
  std::unordered_map<std::uint64_t, std::int64_t> together;
  for (std::size_t i = 1; i < ids.size(); ++i)
    if (common(ids[i - 1]) && common(ids[i])) ++together[bigram_of(ids[i - 1], ids[i])];
  const auto tokens =
      static_cast<double>(std::accumulate(corpus.counts.begin(), corpus.counts.end(), std::int64_t{0}));

  RawCorpus joined;
  joined.words = corpus.words;
  joined.counts.assign(corpus.words.size(), 0);
  joined.ids = std::make_shared<Spill<std::int32_t>>(temporary);
  text::Vocabulary known_words;
  for (const std::string& word : corpus.words) known_words.add(word, known_words.end_id());
  // word id of the phrase for each pair; −1 if the pair is not a phrase
  std::unordered_map<std::uint64_t, std::int32_t> phrases;
  const auto phrase_of = [&](std::int32_t a, std::int32_t b) {
    const std::uint64_t key = bigram_of(a, b);
    const auto [known, is_new] = phrases.try_emplace(key, kEnd);
    if (!is_new) return known->second;
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    const double score = static_cast<double>(together[key] - options.min_count) /
                         static_cast<double>(corpus.counts[x]) / static_cast<double>(corpus.counts[y]) *
                         tokens;
    if (score <= options.threshold) return kEnd;
    const std::string phrase = corpus.words[x] + "_" + corpus.words[y];
    if (const auto same = known_words.find(phrase)) return known->second = *same;
    known->second = known_words.end_id();
    known_words.add(phrase, known->second);
    joined.words.push_back(phrase);
    joined.counts.push_back(0);
    return known->second;
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int32_t id = ids[i];
    if (common(id) && i + 1 < ids.size() && common(ids[i + 1])) {
      const std::int32_t phrase = phrase_of(id, ids[i + 1]);
      if (phrase != kEnd) {
        id = phrase;
        ++i;
      }
    }
    if (id != kEnd) ++joined.counts[static_cast<std::size_t>(id)];
    joined.ids->append(id);
  }
  return joined;
}

}  // namespace regard::vectors
