// The word vectors built into the program: their size, and the effect of a context on an ambiguous word.
#include "vectors/shipped.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "vectors/attend.h"

namespace regard::vectors {
namespace {

// Return how much attention without projections in `text` increases cosine(`word`, `to`) − cosine(`word`,
// `away`).
double pull(const std::string& text, const std::string& word, const std::string& to,
            const std::string& away) {
  ThreadPool pool(1);
  const WordVectors& table = shipped_vectors();
  const Attended attended = attend(table, text, {.unit = false}, pool);
  const auto cosine_to = [&table](std::span<const float> vector, const std::string& other) {
    return cosine(vector, table.require(other));
  };
  for (std::size_t i = 0; i < attended.words.size(); ++i) {
    if (attended.words[i].word != word) continue;
    const auto row = static_cast<std::int64_t>(i);
    const std::span<const float> after(attended.vectors.row(row),
                                       static_cast<std::size_t>(attended.vectors.columns()));
    const std::vector<float> before = table.require(word);
    return (cosine_to(after, to) - cosine_to(after, away)) -
           (cosine_to(before, to) - cosine_to(before, away));
  }
  ADD_FAILURE() << word;
  return 0;
}

TEST(ShippedVectors, AreSmallAndComplete) {
  EXPECT_LE(kShippedVectors.size(), 300000U);
  const WordVectors& table = shipped_vectors();
  EXPECT_GE(table.count(), 5000U);
  EXPECT_EQ(table.size(), 32);
  for (std::size_t i = 0; i < table.count(); ++i) EXPECT_NEAR(table.norm(i), 1.0f, 0.03f) << table.word(i);
  for (const char* word :
       {"money", "bank", "grows", "river", "flows", "exam", "cake", "capital", "france", "fox"})
    EXPECT_TRUE(table.find(word).has_value()) << word;
}

TEST(ShippedVectors, MoneyPullsBankTowardsMoneyAndRiverAway) {
  EXPECT_GT(pull("money bank grows", "bank", "money", "river"), 0.2);
  EXPECT_GT(pull("river bank flows", "bank", "river", "money"), 0.2);
}

// The ambiguous words of this test were not considered when the vectors were made.
TEST(ShippedVectors, PullOtherAmbiguousWordsToo) {
  EXPECT_GT(pull("summer light sun", "light", "sun", "heavy"), 0.2);
  EXPECT_GT(pull("heavy light burden", "light", "heavy", "sun"), 0.05);
  EXPECT_GT(pull("train station late", "train", "station", "soldiers"), 0.1);
  EXPECT_GT(pull("train the soldiers", "train", "soldiers", "station"), 0.1);
  EXPECT_GT(pull("play the match", "match", "game", "fire"), 0.02);
  EXPECT_GT(pull("fire and match", "match", "fire", "game"), 0.1);
}

}  // namespace
}  // namespace regard::vectors
