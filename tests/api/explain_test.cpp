// The steps of explain() agree with the fused attention kernel.
#include "regard/explain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "regard/attention.h"
#include "regard/autograd.h"
#include "regard/error.h"
#include "regard/math.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

const Tensor& value_of(const std::vector<ExplainStep>& steps, const std::string& name) {
  for (const ExplainStep& step : steps)
    if (step.name == name) return step.value;
  throw std::runtime_error("no step " + name);
}

ExplainInput input_for(const std::vector<std::string>& tokens) {
  return {tokens, small_vectors(tokens), "test", {}, {}, {}};
}

TEST(Explain, EndsWhereTheFusedKernelEnds) {
  for (const bool causal : {false, true}) {
    const std::vector<ExplainStep> steps =
        explain(input_for({"Money", "Bank", "Grows", "slowly"}), {.causal = causal});
    const Shape one_head{1, 1, 4, 4};
    const Tensor fused =
        attention(value_of(steps, "queries").reshape(one_head), value_of(steps, "keys").reshape(one_head),
                  value_of(steps, "values").reshape(one_head), {.causal = causal});
    EXPECT_LT(largest_difference(fused.reshape({4, 4}), value_of(steps, "output")), 1e-6f);
  }
}

TEST(Explain, EveryIntermediateFitsTheNext) {
  const std::vector<ExplainStep> steps = explain(input_for({"River", "Bank"}), {});
  const Tensor &exponentials = value_of(steps, "exponentials"), &sums = value_of(steps, "sums"),
               &weights = value_of(steps, "weights");
  for (std::int64_t r = 0; r < 2; ++r) {
    EXPECT_EQ(std::max(exponentials.row(r)[0], exponentials.row(r)[1]), 1.0f);
    EXPECT_NEAR(weights.row(r)[0] + weights.row(r)[1], 1.0f, 1e-6f);
    for (std::int64_t c = 0; c < 2; ++c)
      EXPECT_NEAR(weights.row(r)[c], exponentials.row(r)[c] / sums.f32()[r], 1e-6f);
  }
}

TEST(Explain, SaysWhichVectorsAreInvented) {
  std::vector<std::string> invented;
  const Tensor vectors = small_vectors({"Bank", "quux"}, &invented);
  EXPECT_EQ(invented, std::vector<std::string>{"quux"});
  EXPECT_NEAR(vectors.at({0, 0}), 0.6, 1e-6);
  EXPECT_NEAR(vectors.at({0, 3}), 0.7, 1e-6);
}

TEST(Explain, RefusesWhatIsNotThere) {
  EXPECT_REGARD_ERROR(explain({}), ErrorKind::usage, "without tokens");
  const std::vector<ExplainStep> steps = explain(input_for({"Bank"}), {});
  EXPECT_REGARD_ERROR(follow_query(steps, 1), ErrorKind::usage, "found token 1");
}

TEST(Learner, GradientsOfAttentionAreThoseOfTheFunction) {
  Learner learner;
  const Tensor q = random_normal({3, 4}, 1, "q"), k = random_normal({5, 4}, 1, "k"),
               v = random_normal({5, 4}, 1, "v");
  const Value vq = learner.parameter("q", q), vk = learner.parameter("k", k), vv = learner.parameter("v", v);
  learner.begin();
  const Tensor target = Tensor::zeros({3, 4});
  const Value out = learner.attention(vq, vk, vv);
  learner.backward(learner.squared_error(out, target));
  const Tensor out_gradient = scale(learner.value(out), 2.0f / 12.0f);  // d mean(x²) / dx
  const AttentionGradients expected =
      attention_backward(q.reshape({1, 1, 3, 4}), k.reshape({1, 1, 5, 4}), v.reshape({1, 1, 5, 4}),
                         out_gradient.reshape({1, 1, 3, 4}));
  EXPECT_LT(largest_difference(learner.gradient(vq), expected.query.reshape({3, 4})), 1e-6f);
  EXPECT_LT(largest_difference(learner.gradient(vk), expected.key.reshape({5, 4})), 1e-6f);
  EXPECT_LT(largest_difference(learner.gradient(vv), expected.value.reshape({5, 4})), 1e-6f);
}

TEST(Learner, FitsALineAndRefusesATakenName) {
  Learner learner;
  const Value w = learner.parameter("w", Tensor::of({1, 1}, {0.0f}));
  EXPECT_REGARD_ERROR(learner.parameter("w", Tensor::of({1, 1}, {0.0f})), ErrorKind::usage, "'w'");
  const Tensor x = Tensor::of({4, 1}, {1, 2, 3, 4}), y = Tensor::of({4, 1}, {3, 6, 9, 12});
  float loss = 0;
  for (int step = 0; step < 400; ++step) {
    learner.begin();
    loss = learner.step(learner.squared_error(learner.linear(learner.constant(x), w), y), 0.05f);
  }
  EXPECT_LT(loss, 1e-4f);
  EXPECT_NEAR(learner.value(w).f32()[0], 3.0f, 1e-2f);
}

}  // namespace
}  // namespace regard::testing
