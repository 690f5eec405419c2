// 10. Run a model on named tensors: hidden states, attention weights, and the gradient of one number of the
// output with respect to every weight.
// Usage: 10_named_tensors [MODEL_FOLDER]; the model is an encoder, by default a tiny BERT of the tests.
#include <cmath>
#include <cstdio>

#include "regard/error.h"
#include "regard/run.h"

int main(int argc, char** argv) try {
  const regard::Runner runner(argc > 1 ? argv[1] : "tests/data/hf-tiny/bert");
  // Two sequences of five and three tokens, padded on the right.
  regard::NamedTensors inputs;
  regard::Tensor& ids = inputs["input_ids"] = regard::Tensor::zeros({2, 5}, regard::DType::i64);
  regard::Tensor& mask = inputs["attention_mask"] = regard::Tensor::zeros({2, 5}, regard::DType::i64);
  for (int row = 0; row < 2; ++row)
    for (int i = 0; i < (row == 0 ? 5 : 3); ++i) ids.i64()[5 * row + i] = 10 + i, mask.i64()[5 * row + i] = 1;

  for (const auto& [name, tensor] :
       runner.run(inputs, {.capture = {"last_hidden_state", "hidden_states", "attentions"}}))
    std::printf("%-20s %s\n", name.c_str(), tensor.shape().text().c_str());

  // The loss is Σ output · weight: here, the first number of the first token.
  const regard::Tensor hidden = runner.run(inputs, {.capture = {"last_hidden_state"}})["last_hidden_state"];
  regard::Tensor& weight = inputs["loss_weight.last_hidden_state"] = regard::Tensor::zeros(hidden.shape());
  weight.f32()[0] = 1.0f;
  std::printf("\nlargest gradients of last_hidden_state[0][0][0] = %.4f\n", hidden.at({0, 0, 0}));
  for (const auto& [name, gradient] : runner.run(inputs, {.capture = {"gradients"}})) {
    float largest = 0.0f;
    for (std::int64_t i = 0; i < gradient.elements(); ++i)
      largest = std::fmax(largest, std::fabs(gradient.f32()[i]));
    if (largest > 0.5f) std::printf("%-60s %.3f\n", name.c_str(), static_cast<double>(largest));
  }
  return 0;
} catch (const regard::Error& error) {
  std::fprintf(stderr, "%s: %s\n", regard::name_of(error.kind()), error.what());
  return 1;
}
