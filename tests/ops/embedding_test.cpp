// The padding row of an embedding gets no gradient; other rows get their whole gradient. With
// Tape::Options::keep, the gradient of the output stays readable.
#include "ops/embedding.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/thread_pool.h"
#include "support/namespaces.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kVocabulary = 4, kFeatures = 3;
const std::vector<std::int32_t> kPaddedIds{0, 2, 3, 2, 0, 1};

struct PaddedGradients {
  std::vector<float> table, out;
};

// Run the backward pass. All features of output row i have the gradient i + 1.
PaddedGradients gradients(std::int32_t padding, bool keep) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true, .keep = keep});
  Tensor values = Tensor::empty({kVocabulary, kFeatures});
  for (std::int64_t i = 0; i < values.elements(); ++i) values.f32()[i] = static_cast<float>(i);
  Var table = tape.input(values, true);
  Var out = ops::embedding(tape, table, kPaddedIds, 2.0f, padding);
  float* upstream = tape.gradient(out).data;
  for (std::size_t t = 0; t < kPaddedIds.size(); ++t)
    for (std::int64_t f = 0; f < kFeatures; ++f)
      upstream[static_cast<std::int64_t>(t) * kFeatures + f] = static_cast<float>(t + 1);
  tape.backward(out);
  PaddedGradients result;
  result.table.assign(table->gradient.f32(), table->gradient.f32() + values.elements());
  if (keep) result.out.assign(out->gradient.f32(), out->gradient.f32() + out->value.elements());
  return result;
}

// Return a gradient of the table whose row `id` is each[id] in every feature. Without padding, each[id] is 2
// · Σ (i + 1) over the positions i of `id` in kPaddedIds.
std::vector<float> rows(std::vector<float> each) {
  std::vector<float> all;
  for (const float row : each) all.insert(all.end(), kFeatures, row);
  return all;
}

TEST(EmbeddingPadding, RowWithoutGradient) {
  EXPECT_EQ(gradients(-1, false).table, rows({12, 12, 12, 6}));
  EXPECT_EQ(gradients(0, false).table, rows({0, 12, 12, 6}));
  EXPECT_EQ(gradients(2, false).table, rows({12, 12, 0, 6}));
}

TEST(EmbeddingPadding, GradientOfTheOutputStaysWhole) {
  for (const std::int32_t padding : {-1, 0, 2}) {
    const std::vector<float> out = gradients(padding, true).out;
    for (std::size_t t = 0; t < kPaddedIds.size(); ++t)
      for (std::size_t f = 0; f < kFeatures; ++f)
        EXPECT_EQ(out[t * kFeatures + f], static_cast<float>(t + 1)) << "padding " << padding;
  }
}

}  // namespace
}  // namespace regard::testing
