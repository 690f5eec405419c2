// Free functions and Learner objects used from four threads at once, on pools of one and two threads.
#include <cmath>

#include "api/together.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::Bits;
using testing::Entry;

class FunctionsTogether : public ::testing::TestWithParam<int> {
  testing::ThreadsDuring threads_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Pools, FunctionsTogether, ::testing::Values(1, 2));

Tensor normal(Shape shape, const char* name) {
  return random_normal(shape, 1, name);
}

// Small problems run on the calling thread; the large one runs in parallel.
std::vector<Entry> attention_entries() {
  std::vector<Entry> entries;
  for (const std::int64_t queries : {3, 20, 90}) {
    const Tensor q = normal({2, 4, queries, 32}, "q"), k = normal({2, 2, queries, 32}, "k"),
                 v = normal({2, 2, queries, 32}, "v"), r = normal({2, 4, queries, 32}, "r");
    AttentionOptions options;
    options.causal = true;
    AttentionOptions biased;
    biased.bias = normal({1, 4, queries, queries}, "bias");
    entries.push_back({"attention", [=](int) { return Bits().add(attention(q, k, v, options)); }});
    entries.push_back(
        {"attention_weights", [=](int) { return Bits().add(attention_weights(q, k, options)); }});
    entries.push_back({"attention_backward", [=](int) {
                         const auto gradients = attention_backward(q, k, v, r, options);
                         return Bits().add(gradients.query).add(gradients.key).add(gradients.value);
                       }});
    entries.push_back({"attention_backward with a bias", [=](int) {
                         const auto gradients = attention_backward(q, k, v, r, biased);
                         return Bits().add(gradients.query).add(gradients.bias);
                       }});
  }
  return entries;
}

TEST_P(FunctionsTogether, Attention) {
  testing::expect_bits_of_each_alone(attention_entries(), 20);
}

TEST_P(FunctionsTogether, Math) {
  const Tensor a = normal({40, 30}, "a"), b = normal({30, 50}, "b"), c = normal({50, 30}, "c"),
               row = normal({30}, "row"), large = normal({150, 200}, "large");
  testing::expect_bits_of_each_alone(
      {
          {"matmul", [&](int) { return Bits().add(matmul(a, b)); }},
          {"matmul, shared out", [&](int) { return Bits().add(matmul(transpose(large), large)); }},
          {"matmul_transposed", [&](int) { return Bits().add(matmul_transposed(a, c)); }},
          {"matmul_transposed, shared out", [&](int) { return Bits().add(matmul_transposed(large, large)); }},
          {"transpose", [&](int) { return Bits().add(transpose(a)); }},
          {"add", [&](int) { return Bits().add(add(a, a)).add(add(a, row)); }},
          {"scale", [&](int) { return Bits().add(scale(large, 0.3f)); }},
          {"softmax", [&](int) { return Bits().add(softmax(large)); }},
          {"layer_norm", [&](int) { return Bits().add(layer_norm(large)); }},
          {"dot, norm, cosine_similarity",
           [&](int) { return Bits().add(dot(a, a)).add(norm(a)).add(cosine_similarity(row, row)); }},
          {"random_normal",
           [&](int) {
             return Bits().add(normal({9, 9}, "some"));
           }},
          {"most_similar_rows", [&](int) { return Bits().add(most_similar_rows(a, row, 5)); }},
          {"sinusoidal_positions", [&](int) { return Bits().add(sinusoidal_positions(30, 8)); }},
          {"equal_bits, largest_difference",
           [&](int) { return Bits().add(equal_bits(a, a)).add(largest_difference(a, scale(a, 2.0f))); }},
      },
      6);
}

// All threads copy and read handles of the same tensor.
TEST_P(FunctionsTogether, TensorsPrintAndExplain) {
  const Tensor shared = normal({12, 8}, "shared");
  const std::vector<std::string> words{"Money", "Bank", "Grows", "zebra"};
  testing::expect_bits_of_each_alone(
      {
          {"Tensor",
           [&](int) {
             const Tensor handle = shared;
             return Bits()
                 .add(handle.slice_rows(2, 7))
                 .add(handle.slice_columns(1, 4))
                 .add(handle.reshape({8, 12}))
                 .add(handle.clone().to(DType::bf16).to(DType::f32))
                 .add(handle.at({3, 3}))
                 .add(Tensor::of({1.0f, 2.0f}))
                 .add(Tensor::zeros({3}));
           }},
          {"matrix_text, vector_text",
           [&](int) { return Bits().add(matrix_text("X", shared)).add(vector_text(shared)); }},
          {"explain",
           [&](int) {
             std::vector<std::string> invented;
             ExplainInput input;
             input.tokens = words;
             input.vectors = small_vectors(words, &invented);
             const std::vector<ExplainStep> steps = explain(input);
             Bits bits;
             for (const ExplainStep& step : steps) bits.add(step.name).add(step.value);
             return bits.add(follow_query(steps, 1)).add(invented);
           }},
          {"Error",
           [&](int) {
             const auto failed = attempt([&] { return matmul(shared, shared); });
             return Bits().add(failed ? std::string_view("no error") : failed.error().what());
           }},
      },
      20);
}

// Train a Learner that uses most of its operations for a few steps.
Bits trained(std::uint64_t seed) {
  Learner learner;
  const Tensor x = random_normal({12, 16}, seed, "x"), target = random_normal({12, 8}, seed, "target");
  const std::int32_t ids[] = {3, 1, 4, 1, 5, 0, 2, 6, 5, 3, 5, 1};
  const Value table = learner.parameter("table", random_normal({7, 16}, seed, "table")),
              w = learner.parameter("w", random_normal({48, 16}, seed, "w", 0.3f)),
              out = learner.parameter("out", random_normal({8, 16}, seed, "out", 0.3f)),
              bias = learner.parameter("bias", Tensor::zeros({8})),
              gain = learner.parameter("gain", random_normal({16}, seed, "gain"));
  Bits bits;
  for (int step = 0; step < 4; ++step) {
    learner.begin();
    const Value in = learner.add(learner.constant(x), learner.embedding(table, ids));
    const Value normed = learner.layer_norm(in, gain);
    const Value wide = learner.linear(normed, w);
    const Value attended =
        learner.attention(learner.linear(normed, table), learner.linear(normed, table), normed, true, 1);
    const Value hidden = learner.relu(learner.add(attended, learner.scale(in, 0.5f)));
    const Value y = learner.linear(hidden, out, bias);
    const Value loss = learner.add(learner.squared_error(y, target), learner.cross_entropy(y, ids));
    bits.add(learner.step(loss, 1e-2f)).add(learner.value(wide)).add(learner.gradient(w));
    bits.add(learner.value(learner.softmax(y)));
  }
  return bits.add(learner.value(out)).add(learner.value(table));
}

TEST_P(FunctionsTogether, LearnersOfEachThreadsOwn) {
  testing::expect_bits_of_each_alone(
      {{"Learner", [](int) { return trained(1); }}, {"another Learner", [](int) { return trained(2); }}}, 20);
}

}  // namespace
}  // namespace regard::testing
