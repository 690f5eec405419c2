// Filtering of logits before sampling, compared with transformers (tests/data/logits-warpers), and sampling
// itself.
#include "infer/warp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/golden.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

using testing::Golden;

Warp warp_of(const Json& chain) {
  Warp how;
  how.min_keep = chain["min_tokens_to_keep"].get<std::int64_t>();
  for (const Json& part : chain["chain"]) {
    how.temperature = part.value("temperature", how.temperature);
    how.top_k = part.value("top_k", how.top_k);
    how.top_p = part.value("top_p", how.top_p);
    how.min_p = part.value("min_p", how.min_p);
    how.typical_p = part.value("typical_p", how.typical_p);
    how.epsilon = part.value("epsilon_cutoff", how.epsilon);
    how.eta = part.value("eta_cutoff", how.eta);
    for (const auto& [key, value] : part.items())
      if (!Json{{"temperature", 0},
                {"top_k", 0},
                {"top_p", 0},
                {"min_p", 0},
                {"typical_p", 0},
                {"epsilon_cutoff", 0},
                {"eta_cutoff", 0}}
               .contains(key))
        ADD_FAILURE() << "the golden has a warper that this test does not know: " << key;
  }
  return how;
}

std::vector<double> softmax(const std::vector<float>& scores) {
  double total = 0.0, most = -std::numeric_limits<double>::infinity();
  for (const float score : scores) most = std::max(most, static_cast<double>(score));
  std::vector<double> probabilities;
  for (const float score : scores) {
    probabilities.push_back(std::exp(static_cast<double>(score) - most));
    total += probabilities.back();
  }
  for (double& probability : probabilities) probability /= total;
  return probabilities;
}

// `kept`: number of tokens kept in each row; null if the golden case does not give it.
void expect_probabilities(const Golden& golden, const std::string& input, const std::string& output,
                          const Warp& how, const Json* kept) {
  const Tensor logits = golden.tensor(input), truth = golden.tensor(output);
  ASSERT_EQ(logits.shape(), truth.shape());
  std::vector<std::int32_t> order;
  for (std::int64_t row = 0; row < logits.rows(); ++row) {
    std::vector<float> scores(logits.row(row), logits.row(row) + logits.columns());
    warp(how, scores, order);
    const std::vector<double> probabilities = softmax(scores);
    std::int64_t left = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const std::string where = output + ", row " + std::to_string(row) + ", token " + std::to_string(i);
      ASSERT_NEAR(probabilities[i], truth.row(row)[i], 1e-6) << where;
      ASSERT_TRUE(probabilities[i] > 0.0 || truth.row(row)[i] == 0.0f) << where;
      if (probabilities[i] > 0.0) ++left;
    }
    if (kept != nullptr) {
      EXPECT_EQ(left, (*kept)[static_cast<std::size_t>(row)].get<std::int64_t>())
          << output << ", row " << row;
    }
  }
}

TEST(Warp, RemovesWhatTransformersRemoves) {
  const Golden golden("logits-warpers", "");
  ASSERT_EQ(golden.about()["chains"].size(), 24u);
  for (const auto& [name, chain] : golden.about()["chains"].items()) {
    const Warp how = warp_of(chain);
    expect_probabilities(golden, "logits.neginf", "probs." + name, how, &chain["kept"]);
    if (golden.has("probs_ties." + name))
      expect_probabilities(golden, "logits_ties", "probs_ties." + name, how, nullptr);
  }
}

// Weights of 1 are exact, so that these probabilities are exactly at the limits.
TEST(Warp, LimitsAreInclusiveForMinPAndExclusiveForTopP) {
  const float removed = -std::numeric_limits<float>::infinity();
  std::vector<std::int32_t> order;
  std::vector<float> scores{2.0f, 3.0f, 3.0f};
  warp({.min_p = 1.0}, scores, order);
  EXPECT_EQ(scores, (std::vector<float>{removed, 3.0f, 3.0f}));
  scores.assign(4, 0.0f);
  warp({.top_p = 0.5}, scores, order);
  EXPECT_EQ(std::count(scores.begin(), scores.end(), removed), 2) << "two of four sum to 0.5";
}

TEST(Warp, NothingAskedChangesNothing) {
  std::vector<float> scores{1.0f, -2.0f, 0.5f};
  const std::vector<float> before = scores;
  std::vector<std::int32_t> order;
  EXPECT_TRUE(Warp{}.changes_nothing());
  warp({}, scores, order);
  EXPECT_EQ(scores, before);
}

TEST(Draw, FollowsTheProbabilities) {
  const std::vector<float> scores{std::log(0.2f), -std::numeric_limits<float>::infinity(), std::log(0.5f),
                                  std::log(0.3f)};
  EXPECT_EQ(draw(scores, 0.0), 0);
  EXPECT_EQ(draw(scores, 0.199), 0);
  EXPECT_EQ(draw(scores, 0.201), 2);
  EXPECT_EQ(draw(scores, 0.699), 2);
  EXPECT_EQ(draw(scores, 0.701), 3);
  EXPECT_EQ(draw(scores, 1.0 - 0x1p-53), 3);
}

TEST(Draw, NeverARemovedToken) {
  const float removed = -std::numeric_limits<float>::infinity();
  const std::vector<float> scores{removed, 0.0f, removed};
  for (const double uniform : {0.0, 0.5, 1.0 - 0x1p-53}) EXPECT_EQ(draw(scores, uniform), 1);
  EXPECT_REGARD_ERROR(draw({&removed, 1}, 0.5), ErrorKind::numeric, "cannot sample a token");
}

}  // namespace
}  // namespace regard::infer
