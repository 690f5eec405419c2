// The inner loop of word-vector training: some input rows against some output rows, logistic loss.
#pragma once

#include <cstdint>

namespace regard::kernels {

// One window of skip-gram, CBOW or hierarchical softmax, over all pairs of an input row i and an output row
// o. With s = input_i · output_o and g = (label_o − σ(s)) · rate:
//   output_o += Σ_i g input_i,   input_i += Σ_o g output_o,
// both from the values before the step: one gradient step on Σ −log σ(±s). Rows may repeat in either list;
// their updates are added in order.
struct PairStep {
  std::int64_t size = 0;           // number of elements of a row
  std::int64_t inputs = 0;         // ≤ kMaxInputs
  std::int64_t outputs = 0;        // ≤ kMaxOutputs
  float* const* input = nullptr;   // [inputs] rows
  float* const* output = nullptr;  // [outputs] rows
  const float* label = nullptr;    // [outputs] 1 or 0
  float rate = 0;
  float* scratch = nullptr;  // [pair_step_scratch(size)], aligned to 64
  float* loss = nullptr;     // if not null, Σ −log σ(±s) is added
};
constexpr std::int64_t kMaxInputs = 32, kMaxOutputs = 64;

constexpr std::int64_t pair_step_scratch(std::int64_t size) {
  return kMaxInputs * (size + 64) + kMaxInputs * kMaxOutputs;
}

void pair_step(const PairStep& step);

// One entry of GloVe's sum (Pennington, Socher and Manning 2014): with d = w · c + b_w + b_c − log x and
// f = weight · d, AdaGrad steps of rate `rate` along f c, f w, f and f. Returns f d / 2.
struct GloveStep {
  std::int64_t size = 0;
  float* word = nullptr;             // [size + 1], the bias last
  float* context = nullptr;          // [size + 1]
  float* word_squares = nullptr;     // [size + 1] sums of squared gradients
  float* context_squares = nullptr;  // [size + 1]
  float log_count = 0, weight = 0, rate = 0;
};
float glove_step(const GloveStep& step);

}  // namespace regard::kernels
