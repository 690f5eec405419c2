// explain(): every step with its formula, note, names and values; and the lines of follow_query().
#include <gtest/gtest.h>

#include <cmath>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

const std::vector<std::string> kTokens{"a", "b"}, kTwo{"0", "1"};

ExplainInput two_tokens() {
  return {.tokens = kTokens, .vectors = Tensor::of({2, 2}, {1, 0, 0.5f, 1}), .source = "of the test"};
}

void expect_step(const ExplainStep& step, const std::vector<std::string>& texts,
                 const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                 const Tensor& value) {
  SCOPED_TRACE(texts[0]);
  EXPECT_EQ((std::vector{step.name, step.formula, step.note}), texts);
  EXPECT_EQ(step.rows, rows);
  EXPECT_EQ(step.columns, columns);
  ASSERT_EQ(step.value.shape(), value.shape());
  EXPECT_LT(largest_difference(step.value, value), 1e-6f);
}

const char* const kKeys = "Compared with the queries: which tokens attend to it.";
const char* const kRows = "Row: query token. Column: key token.";
const char* const kSum = "Each row is the weighted sum of all value rows.";

// Check the steps from "maximum" on.
void expect_softmax(const std::vector<ExplainStep>& steps, std::size_t at, const Tensor& scores) {
  Tensor maximum = Tensor::empty({2, 1}), exponentials = Tensor::empty({2, 2}), sums = Tensor::empty({2, 1});
  for (std::int64_t r = 0; r < 2; ++r) {
    maximum.f32()[r] = std::max(scores.row(r)[0], scores.row(r)[1]);
    for (std::int64_t c = 0; c < 2; ++c)
      exponentials.row(r)[c] = std::exp(scores.row(r)[c] - maximum.f32()[r]);
    sums.f32()[r] = exponentials.row(r)[0] + exponentials.row(r)[1];
  }
  expect_step(steps.at(at),
              {"maximum", "max of each row", "Subtracted before the exponential to avoid overflow."}, kTokens,
              {"max"}, maximum);
  expect_step(steps.at(at + 1), {"exponentials", "exp(score − max)", "The largest of a row is exactly 1."},
              kTokens, kTokens, exponentials);
  expect_step(steps.at(at + 2), {"sums", "Σ of each row", ""}, kTokens, {"sum"}, sums);
  expect_step(steps.at(at + 3), {"weights", "softmax", "Not negative; each row sums to 1."}, kTokens, kTokens,
              softmax(scores));
}

TEST(ExplainSteps, OfVectorsAlone) {
  const ExplainInput input = two_tokens();
  const auto steps = explain(input, {.positions = false, .projections = false});
  ASSERT_EQ(steps.size(), 7u);
  expect_step(steps[0], {"vectors", "X", "of the test"}, kTokens, kTwo, input.vectors);
  const Tensor scores = Tensor::of({2, 2}, {1, 0.5f, 0.5f, 1.25f});
  expect_step(steps[1], {"scores", "X Xᵀ", kRows}, kTokens, kTokens, scores);
  expect_softmax(steps, 2, scores);
  expect_step(steps[6], {"output", "weights X", kSum}, kTokens, kTwo, matmul(softmax(scores), input.vectors));
}

TEST(ExplainSteps, WithPositions) {
  const ExplainInput input = two_tokens();
  const auto steps = explain(input, {.positions = true, .projections = false});
  ASSERT_EQ(steps.size(), 9u);
  const Tensor positions = sinusoidal_positions(2, 2), placed = add(input.vectors, positions);
  expect_step(
      steps[1],
      {"positions", "P", "Sines in even features, cosines in odd ones: each position has its own pattern."},
      kTokens, kTwo, positions);
  expect_step(steps[2], {"placed", "X + P", ""}, kTokens, kTwo, placed);
  expect_step(steps[3], {"scores", "(X + P)(X + P)ᵀ", kRows}, kTokens, kTokens,
              matmul_transposed(placed, placed));
  expect_step(steps[8], {"output", "weights (X + P)", kSum}, kTokens, kTwo, matmul(steps[7].value, placed));
}

TEST(ExplainSteps, WithRandomProjections) {
  const ExplainInput input = two_tokens();
  const auto steps = explain(input, {.positions = false, .causal = true, .head_dim = 3, .seed = 5});
  ASSERT_EQ(steps.size(), 15u);
  const std::vector<std::string> three{"0", "1", "2"};
  const auto weight = [](const char* name) { return random_normal({2, 3}, 5, name, 1.0f / std::sqrt(2.0f)); };
  const char* const notes[] = {"Compared with the keys: what each token attends to.", kKeys,
                               "Averaged with the attention weights."};
  const std::pair<const char*, const char*> names[] = {
      {"queries", "Q = X W_Q"}, {"keys", "K = X W_K"}, {"values", "V = X W_V"}};
  const char* const weights[] = {"W_Q", "W_K", "W_V"};
  for (std::size_t i = 0; i < 3; ++i) {
    expect_step(steps[1 + i], {weights[i], weights[i], "Random: not trained."}, {}, three,
                weight(weights[i]));
    expect_step(steps[4 + i], {names[i].first, names[i].second, notes[i]}, kTokens, three,
                matmul(input.vectors, weight(weights[i])));
  }
  const Tensor scores = matmul_transposed(steps[4].value, steps[5].value);
  expect_step(steps[7], {"scores", "Q Kᵀ", kRows}, kTokens, kTokens, scores);
  const Tensor scaled = scale(scores, 1.0f / std::sqrt(3.0f));
  expect_step(steps[8], {"scaled", "Q Kᵀ / √d_k", "√3 = 1.7321: keeps the variance near 1."}, kTokens,
              kTokens, scaled);
  Tensor masked = scaled.clone();
  masked.row(0)[1] = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(equal_bits(steps[9].value, masked));
  EXPECT_EQ((std::vector{steps[9].name, steps[9].formula, steps[9].note}),
            (std::vector<std::string>{"masked", "−∞ after the diagonal",
                                      "Causal mask: a token attends to itself and earlier tokens."}));
  expect_softmax(steps, 10, masked);
  expect_step(steps[14], {"output", "weights V", kSum}, kTokens, three,
              matmul(softmax(masked), steps[6].value));
}

TEST(ExplainSteps, WithGivenWeightsAndScaling) {
  ExplainInput input = two_tokens();
  input.w_q = random_normal({2, 3}, 1, "q"), input.w_k = random_normal({2, 3}, 1, "k");
  input.w_v = random_normal({2, 4}, 1, "v");
  const auto steps = explain(input, {.positions = false, .scaling = 4.0f});
  ASSERT_EQ(steps.size(), 14u);
  const std::vector<std::string> three{"0", "1", "2"}, four{"0", "1", "2", "3"};
  expect_step(steps[1], {"W_Q", "W_Q", "From the model."}, {}, three, input.w_q);
  expect_step(steps[2], {"W_K", "W_K", "From the model."}, {}, three, input.w_k);
  EXPECT_TRUE(equal_bits(steps[3].value, input.w_v));
  const Tensor v = matmul(input.vectors, input.w_v);
  expect_step(steps[6], {"values", "V = X W_V", "Averaged with the attention weights."}, kTokens, four, v);
  const Tensor scores = matmul_transposed(matmul(input.vectors, input.w_q), matmul(input.vectors, input.w_k));
  expect_step(steps[8], {"scaled", "Q Kᵀ · scale", "The model divides by 4.0000."}, kTokens, kTokens,
              scale(scores, 0.25f));
  expect_step(steps[13], {"output", "weights V", kSum}, kTokens, four,
              matmul(softmax(scale(scores, 0.25f)), v));
  const auto refused = [&](Tensor ExplainInput::*member, const Shape& shape, const char* message) {
    ExplainInput wrong = input;
    wrong.*member = Tensor::zeros(shape);
    EXPECT_REGARD_ERROR(explain(wrong, {}), ErrorKind::usage, message);
  };
  refused(&ExplainInput::w_v, {3, 4}, "w_v has a wrong shape (expected [2, head_dim], found [3, 4])");
  refused(&ExplainInput::w_v, {2, 0}, "w_v has a wrong shape");
  refused(&ExplainInput::w_k, {2, 4},
          "w_k has a wrong number of columns (expected [2, 3], the shape of w_q, found [2, 4])");
}

TEST(ExplainSteps, OfAHead) {
  ExplainInput input = two_tokens();
  input.q = random_normal({2, 3}, 1, "q"), input.k = random_normal({2, 3}, 1, "k");
  input.v = random_normal({2, 4}, 1, "v"), input.head = "head 1";
  const auto steps = explain(input, {});
  ASSERT_EQ(steps.size(), 11u) << "the head's queries include its positions";
  expect_step(steps[1], {"queries", "Q = X W_Q", "Queries of head 1."}, kTokens, {"0", "1", "2"}, input.q);
  expect_step(steps[2], {"keys", "K = X W_K", kKeys}, kTokens, {"0", "1", "2"}, input.k);
  expect_step(steps[3], {"values", "V = X W_V", "Averaged with the attention weights."}, kTokens,
              {"0", "1", "2", "3"}, input.v);
  ExplainInput wrong = input;
  wrong.v = Tensor::zeros({3, 4});
  EXPECT_REGARD_ERROR(explain(wrong, {}), ErrorKind::usage,
                      "v does not have one row per token (expected [2, head_dim], found [3, 4])");
  wrong.v = Tensor::zeros({2, 0});
  EXPECT_REGARD_ERROR(explain(wrong, {}), ErrorKind::usage, "v does not have one row per token");
}

TEST(ExplainSteps, AQueryIsFollowed) {
  const auto lines = follow_query(explain(two_tokens(), {.positions = false, .projections = false}), 1);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "'b' (token 1) attends to 2 tokens",
                       "  a            score   0.5000   minus max  -0.7500   exp  0.4724   weight  0.3208",
                       "  b            score   1.2500   minus max   0.0000   exp  1.0000   weight  0.6792",
                       "  sum of exp 1.4724; the weights sum to 1",
                       "    0.3208 × [1.000, 0.000]",
                       "  + 0.6792 × [0.500, 1.000]",
                       "  = [0.660, 0.679]",
                   }));
  const auto steps = explain(two_tokens(), {});
  for (const std::int64_t query : {-1, 2})
    EXPECT_REGARD_ERROR(follow_query(steps, query), ErrorKind::usage,
                        "(expected token 0 to 1, found token " + std::to_string(query) + ")");
}

TEST(ExplainSteps, VectorsOfUnknownWordsAreRandom) {
  std::vector<std::string> invented;
  const Tensor vectors = small_vectors({"Quux", "THE", "quux"}, &invented);
  EXPECT_EQ(invented, (std::vector<std::string>{"Quux", "quux"}));
  EXPECT_TRUE(equal_bits(vectors.slice_rows(0, 1), random_normal({1, 4}, 1, "quux", 0.5f)));
  EXPECT_TRUE(equal_bits(vectors.slice_rows(1, 2), Tensor::of({1, 4}, {0.1f, 0.1f, 0.1f, 0.1f})));
  EXPECT_TRUE(equal_bits(vectors.slice_rows(2, 3), vectors.slice_rows(0, 1)));
  EXPECT_EQ(small_vectors({"quux"}).rows(), 1) << "the list is optional";
}

}  // namespace
}  // namespace regard::testing
