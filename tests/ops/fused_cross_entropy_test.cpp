// Cross-entropy fused with the projection: over several blocks of classes it equals the cross-entropy of
// materialised logits. Its bits do not depend on the threads or on whether a gradient is needed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "kernels/isa_fixture.h"
#include "ops/cross_entropy.h"
#include "ops/linear.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kRows = 210, kFeatures = 24;

struct Result {
  float loss = 0.0f;
  std::vector<float> hidden, weight;  // gradients
};

std::vector<float> copy_of(const Tensor& tensor) {
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

class FusedCrossEntropy : public testing::EachIsa {
 protected:
  void fill(std::int64_t classes) {
    RandomStream stream(RandomKey{5, 0, place_of("fused cross-entropy")});
    hidden_ = values_.tensor({kRows, kFeatures});
    weight_ = values_.tensor({classes, kFeatures});
    for (const Tensor& tensor : {hidden_, weight_})
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.f32()[i] = static_cast<float>(stream.next_normal());
    labels_.clear();
    for (std::int64_t row = 0; row < kRows; ++row)
      labels_.push_back(
          row % 7 == 3 ? options_.ignored
                       : static_cast<std::int32_t>(stream.next_below(static_cast<std::uint64_t>(classes))));
  }

  Result run(int threads, bool fused, bool gradient) {
    ThreadPool pool(threads);
    Arena arena;
    Tape tape(pool, arena);
    Tape::Options recorded;
    recorded.record = gradient;
    tape.begin(recorded);
    Var hidden = tape.input(hidden_, gradient), weight = tape.input(weight_, gradient);
    Var loss = fused
                   ? ops::linear_cross_entropy(tape, hidden, weight, nullptr, labels_, options_)
                   : ops::cross_entropy(tape, ops::linear(tape, hidden, weight, nullptr), labels_, options_);
    Result result;
    result.loss = loss->value.f32()[0];
    if (!gradient) return result;
    tape.backward(loss);
    result.hidden = copy_of(hidden->gradient), result.weight = copy_of(weight->gradient);
    return result;
  }

  Arena values_;
  Tensor hidden_, weight_;
  std::vector<std::int32_t> labels_;
  ops::CrossEntropyOptions options_{0.1f, -100, 0.01f};
};

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0f;
  for (float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 3e-6f * largest) << i;
}

TEST_P(FusedCrossEntropy, IsTheCrossEntropyOfTheLogits) {
  for (const std::int64_t classes : {1, 479, 480, 481, 1500})
    for (const float smoothing : {0.0f, 0.1f}) {
      options_.label_smoothing = smoothing;
      fill(classes);
      const Result fused = run(2, true, true), apart = run(1, false, true);
      EXPECT_NEAR(fused.loss, apart.loss, 1e-6f * apart.loss + 1e-6f) << classes;
      if (classes == 1) continue;  // with one class, the gradients are zero
      expect_near(fused.hidden, apart.hidden);
      expect_near(fused.weight, apart.weight);
    }
}

TEST_P(FusedCrossEntropy, BitsDependNeitherOnThreadsNorOnAGradient) {
  fill(1500);
  const Result alone = run(1, true, true), together = run(3, true, true);
  EXPECT_EQ(alone.loss, together.loss);
  EXPECT_EQ(alone.loss, run(2, true, false).loss);
  EXPECT_EQ(alone.hidden, together.hidden);
  EXPECT_EQ(alone.weight, together.weight);
}

TEST_P(FusedCrossEntropy, AnIgnoredRowIsZeroEvenWhereItsLogitsAreNot) {
  fill(600);
  hidden_.f32()[3 * kFeatures] = std::numeric_limits<float>::quiet_NaN();  // row 3 is ignored
  const Result result = run(2, true, true);
  EXPECT_TRUE(std::isfinite(result.loss));
  for (std::int64_t i = 0; i < kFeatures; ++i)
    EXPECT_EQ(result.hidden[static_cast<std::size_t>(3 * kFeatures + i)], 0.0f);
}

REGARD_EACH_ISA(FusedCrossEntropy);

}  // namespace
}  // namespace regard::testing
