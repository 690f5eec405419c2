// The inner loop of word-vector training: one step on several input and output rows with logistic loss.
#pragma once

#include <cstdint>

namespace regard::kernels {

// Arguments of a step for one window of skip-gram, CBOW or hierarchical softmax, over all pairs of an input
// row i and an output row o. With s = input_i · output_o and g = (label_o − σ(s)) · rate:
//   output_o += Σ_i g input_i,   input_i += Σ_o g output_o,
// both computed from the values before the step. This is one gradient step on the loss Σ −log σ(±s), with
// + for label 1 and − for label 0. A row may occur more than once in either list; its updates are then added
// in order.
struct PairStep {
  std::int64_t size = 0;           // elements per row
  std::int64_t inputs = 0;         // number of input rows; at most kMaxInputs
  std::int64_t outputs = 0;        // number of output rows; at most kMaxOutputs
  float* const* input = nullptr;   // [inputs]: pointers to the input rows
  float* const* output = nullptr;  // [outputs]: pointers to the output rows
  const float* label = nullptr;    // [outputs]: 1 for positive rows, 0 for negative rows
  float rate = 0;
  float* scratch = nullptr;  // scratch memory of pair_step_scratch(size) floats, aligned to 64 bytes
  float* loss = nullptr;     // if not null, the loss Σ −log σ(±s) is added to this number
};
constexpr std::int64_t kMaxInputs = 32, kMaxOutputs = 64;

constexpr std::int64_t pair_step_scratch(std::int64_t size) {
  return kMaxInputs * (size + 64) + kMaxInputs * kMaxOutputs;
}

void pair_step(const PairStep& step);

// Arguments of an AdaGrad step on one term of GloVe's loss (Pennington, Socher and Manning 2014). With d = w
// · c + b_w + b_c − log x and f = weight · d, the gradients of w and c are f c and f w. The step returns the
// loss, f d / 2.
struct GloveStep {
  std::int64_t size = 0;
  float* word = nullptr;             // [size + 1]; the last element is the bias
  float* context = nullptr;          // [size + 1]
  float* word_squares = nullptr;     // [size + 1]: sums of squared gradients
  float* context_squares = nullptr;  // [size + 1]
  float log_count = 0, weight = 0, rate = 0;
};
float glove_step(const GloveStep& step);

}  // namespace regard::kernels
