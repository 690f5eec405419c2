// SpecAugment: number, length and places of the masked spans, and their seed.
#include "data/spec_augment.h"

#include <gtest/gtest.h>

#include <set>

namespace regard::data {
namespace {

Tensor ones(std::int64_t frames, std::int64_t bins) {
  Tensor features = Tensor::empty({frames, bins});
  std::fill_n(features.f32(), features.elements(), 1.0f);
  return features;
}

// _compute_mask_indices of transformers: int(share · size / length + ε) spans, ε uniform in [0, 1).
TEST(SpecAugment, SpansHaveTheNumberThatTheShareGives) {
  double sum = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    RandomStream random({7, static_cast<std::uint64_t>(i), 1});
    const auto starts = masked_spans({.share = 0.25, .length = 6}, 100, random);
    const auto count = static_cast<double>(starts.size());
    EXPECT_TRUE(count == 4 || count == 5) << count;  // 0.25 · 100 / 6 = 4.17
    EXPECT_EQ(std::set(starts.begin(), starts.end()).size(), starts.size());
    for (const std::int64_t start : starts) EXPECT_TRUE(start >= 0 && start <= 94) << start;
    sum += count;
  }
  EXPECT_NEAR(sum / kTries, 0.25 * 100 / 6, 0.05);
}

TEST(SpecAugment, LimitsOfTheNumberOfSpans) {
  RandomStream random({1, 2, 3});
  EXPECT_TRUE(masked_spans({.share = 0.5, .length = 11}, 10, random).empty());
  EXPECT_TRUE(masked_spans({.share = 0.0, .length = 2}, 10, random).empty());
  EXPECT_EQ(masked_spans({.share = 1.0, .length = 10}, 10, random), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(masked_spans({.share = 0.001, .length = 2, .least = 3}, 10, random).size(), 3u);
  EXPECT_EQ(masked_spans({.share = 1.0, .length = 2, .least = 9}, 10, random).size(), 5u);
}

TEST(SpecAugment, SetsSpansToZeroByTheKeyAlone) {
  const SpecAugment how{.frames = {.share = 0.2, .length = 10}, .bins = {.share = 0.25, .length = 4}};
  Tensor first = ones(100, 16), same = ones(100, 16), other = ones(100, 16);
  spec_augment(first, how, {1, 5, 9});
  spec_augment(same, how, {1, 5, 9});
  spec_augment(other, how, {1, 6, 9});
  int zeros = 0, differs = 0;
  for (std::int64_t i = 0; i < first.elements(); ++i) {
    EXPECT_EQ(first.f32()[i], same.f32()[i]);
    EXPECT_TRUE(first.f32()[i] == 0.0f || first.f32()[i] == 1.0f);
    zeros += first.f32()[i] == 0.0f ? 1 : 0;
    differs += first.f32()[i] != other.f32()[i] ? 1 : 0;
  }
  EXPECT_GT(zeros, 100 * 4);  // a span of 4 bins in 100 frames, and spans of frames
  EXPECT_LT(zeros, 1000);
  EXPECT_GT(differs, 0);
  Tensor unchanged = ones(10, 4);
  spec_augment(unchanged, {}, {1, 2, 3});
  for (std::int64_t i = 0; i < unchanged.elements(); ++i) EXPECT_EQ(unchanged.f32()[i], 1.0f);
}

}  // namespace
}  // namespace regard::data
