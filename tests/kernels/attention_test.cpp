// The fused kernels compared with the reference implementation in double, over random shapes and options; the
// reference compared with central differences.
#include "kernels/attention.h"

#include <cmath>
#include <limits>
#include <string>

#include "attention_case.h"
#include "isa_fixture.h"

namespace regard::kernels {
namespace {

using testing::AttentionCase;
using testing::Floats;
using testing::PlainSequence;
using testing::SequenceShape;

class AttentionKernel : public testing::EachIsa {};
REGARD_EACH_ISA(AttentionKernel);

std::int64_t pick(RandomStream& random, std::initializer_list<std::int64_t> choices) {
  return *(choices.begin() + random.next_below(choices.size()));
}

bool chance(RandomStream& random, double probability) {
  return random.next_uniform() < static_cast<float>(probability);
}

// Add masks and biases of random broadcastable shapes.
void add_masks(RandomStream& random, AttentionCase& made, std::int64_t rows, std::int64_t most_queries,
               std::int64_t most_keys) {
  Attention& options = made.options;
  const auto strides = [&](std::int64_t& sequence, std::int64_t& head, std::int64_t& query) {
    query = chance(random, 0.7) ? most_keys : 0;
    head = chance(random, 0.5) ? std::max(query * most_queries, most_keys) : 0;
    sequence = chance(random, 0.5) ? std::max({head * options.heads, query * most_queries, most_keys}) : 0;
    return sequence * rows + head * options.heads + query * most_queries + most_keys;
  };
  if (chance(random, 0.3)) {
    const std::int64_t count =
        strides(options.mask_sequence_stride, options.mask_head_stride, options.mask_query_stride);
    made.mask.resize(static_cast<std::size_t>(count));
    for (auto& allowed : made.mask) allowed = chance(random, 0.6);
  }
  if (chance(random, 0.3)) {
    const std::int64_t count =
        strides(options.bias_sequence_stride, options.bias_head_stride, options.bias_query_stride);
    made.bias.resize(static_cast<std::size_t>(count));
    for (float& x : made.bias)
      x = chance(random, 0.05) ? -std::numeric_limits<float>::infinity()
                               : static_cast<float>(random.next_normal());
  }
}

AttentionCase random_case(std::uint64_t seed) {
  RandomStream random(RandomKey{seed, 0, place_of("attention case")});
  AttentionCase made;
  Attention& options = made.options;
  options.kv_heads = pick(random, {1, 2, 3});
  options.heads = options.kv_heads * pick(random, {1, 1, 2, 3});
  options.head_dim = pick(random, {1, 3, 8, 16, 20, 32, 64});
  options.value_dim = chance(random, 0.6) ? options.head_dim : pick(random, {2, 7, 16, 24, 48, 80});
  options.scale = chance(random, 0.7) ? 1.0f / std::sqrt(static_cast<float>(options.head_dim)) : 0.21f;
  if (chance(random, 0.1)) options.scale = -options.scale;
  if (chance(random, 0.25)) options.softcap = 2.5f;
  options.causal = chance(random, 0.5);
  if (chance(random, 0.3)) options.window = pick(random, {1, 4, 30, 100});
  if (chance(random, 0.25)) options.dropout = 0.3f, options.dropout_key = {seed, 5, place_of("test")};
  const bool ends_aligned = chance(random, 0.7);
  std::int64_t most_queries = 0, most_keys = 0;
  const std::int64_t sequences = pick(random, {1, 2, 4});
  for (std::int64_t s = 0; s < sequences; ++s) {
    SequenceShape shape;
    shape.queries = pick(random, {0, 1, 2, 9, 17, 31, 50, 97, 130});
    shape.keys = chance(random, 0.5) ? shape.queries : pick(random, {0, 1, 5, 16, 33, 96, 100, 200});
    shape.offset = ends_aligned ? shape.keys - shape.queries : 0;
    shape.index = 7 + static_cast<std::uint64_t>(s) * 1000003u * 5000u;
    shape.mask_row = s;
    most_queries = std::max(most_queries, shape.queries), most_keys = std::max(most_keys, shape.keys);
    made.shapes.push_back(shape);
  }
  if (chance(random, 0.2)) made.shapes.back().mask_row = 0;
  made.fill(random);
  add_masks(random, made, sequences, most_queries, most_keys);
  return made;
}

std::string describe(const AttentionCase& made) {
  const Attention& o = made.options;
  std::string text = "heads " + std::to_string(o.heads) + "/" + std::to_string(o.kv_heads) + " dims " +
                     std::to_string(o.head_dim) + "/" + std::to_string(o.value_dim) + " causal " +
                     std::to_string(o.causal) + " window " + std::to_string(o.window) + " softcap " +
                     std::to_string(o.softcap) + " dropout " + std::to_string(o.dropout) + " mask " +
                     std::to_string(made.mask.size()) + " bias " + std::to_string(made.bias.size());
  for (const SequenceShape& shape : made.shapes)
    text += " [" + std::to_string(shape.queries) + "x" + std::to_string(shape.keys) + "]";
  return text;
}

// Return the largest error of got[begin...] relative to max(floor, largest finite |truth|). A NaN in only one
// of the arrays, or an infinity that differs, gives infinity.
double worst_error(const Floats& got, std::int64_t begin, const std::vector<double>& truth, double floor) {
  double size = floor, worst = 0.0;
  for (double x : truth)
    if (std::isfinite(x)) size = std::max(size, std::fabs(x));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto x = static_cast<double>(got[static_cast<std::size_t>(begin) + i]);
    if (x == truth[i]) continue;
    const double error = std::fabs(x - truth[i]) / size;
    worst = error <= worst ? worst : std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

void expect_like_plain(AttentionCase& made, ThreadPool& pool) {
  const Attention problem = made.problem(true);
  attention_forward(pool, problem);
  attention_backward(pool, problem);
  std::vector<double> bias_gradient(made.bias.size(), 0.0);
  for (std::size_t s = 0; s < made.shapes.size(); ++s) {
    const PlainSequence<double> sequence(made, s);
    const auto result = ops::plain::attention(sequence.problem);
    const auto gradients =
        ops::plain::attention_backward(sequence.problem, result, sequence.out_gradient.data());
    const std::int64_t queries = made.query_begin(s), keys = made.key_begin(s);
    EXPECT_LT(worst_error(made.out, queries * made.out_width(), result.out, 1.0), 1e-5);
    EXPECT_LT(worst_error(made.lse, queries * made.options.heads, result.lse, 1.0), 1e-5);
    EXPECT_LT(worst_error(made.query_gradient, queries * made.query_width(), gradients.query, 0.1), 1e-4);
    EXPECT_LT(worst_error(made.key_gradient, keys * made.key_width(), gradients.key, 0.1), 1e-4);
    EXPECT_LT(worst_error(made.value_gradient, keys * made.value_width(), gradients.value, 0.1), 1e-4);
    ops::plain::detail::for_each_score(
        sequence.problem, [&](std::int64_t head, std::int64_t query, std::int64_t key, std::size_t i) {
          if (bias_gradient.empty()) return;
          const Attention& o = made.options;
          bias_gradient[static_cast<std::size_t>(made.shapes[s].mask_row * o.bias_sequence_stride +
                                                 head * o.bias_head_stride + query * o.bias_query_stride +
                                                 key)] += gradients.bias[i];
        });
    const std::int64_t size = made.shapes[s].queries * made.shapes[s].keys;
    for (std::int64_t head = 0; head < made.options.heads; ++head) {
      Floats weights(static_cast<std::size_t>(size), -1.0f);
      attention_weights(problem, static_cast<std::int64_t>(s), head, weights.data());
      const std::vector<double> truth(result.weight.begin() + head * size,
                                      result.weight.begin() + (head + 1) * size);
      EXPECT_LT(worst_error(weights, 0, truth, 1.0), 1e-5);
    }
  }
  EXPECT_LT(worst_error(made.bias_gradient, 0, bias_gradient, 0.1), 1e-4);
}

TEST_P(AttentionKernel, EqualsThePlainVersion) {
  ThreadPool pool(2);
  for (std::uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    AttentionCase made = random_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(made));
    expect_like_plain(made, pool);
  }
}

TEST_P(AttentionKernel, LargeScoresStayExact) {
  ThreadPool pool(1);
  AttentionCase made = random_case(3);
  made.options.softcap = 0.0f, made.options.dropout = 0.0f, made.options.scale = 1.0f;
  made.mask.clear(), made.bias.clear();
  made.options.mask_query_stride = made.options.bias_query_stride = 0;
  RandomStream random(RandomKey{1, 2, 3});
  made.shapes = {{40, 150, 110, 1, 0}};
  made.fill(random, 6.0f);
  const Attention problem = made.problem(false);
  attention_forward(pool, problem);
  const PlainSequence<double> sequence(made, 0);
  const auto result = ops::plain::attention(sequence.problem);
  // A score of magnitude s has a rounding error of about s · 2⁻²⁴. The exponential turns this error into a
  // relative error of the weight.
  double largest = 0.0;
  for (double x : result.product) largest = std::max(largest, std::fabs(x));
  EXPECT_LT(worst_error(made.out, 0, result.out, 1.0), largest * 1e-6);
  EXPECT_LT(worst_error(made.lse, 0, result.lse, 1.0), 1e-6);
}

// A query may attend to no key, because there are no keys or because of positions, a mask or a bias. Its
// results are exact zeros.
TEST_P(AttentionKernel, RowsWithNothingToSeeGiveExactZeros) {
  const float infinity = std::numeric_limits<float>::infinity();
  ThreadPool pool(2);
  for (int way = 0; way < 4; ++way) {
    AttentionCase made;
    made.options.heads = 2, made.options.kv_heads = 1, made.options.head_dim = 20,
    made.options.value_dim = 12;
    made.options.scale = 0.3f;
    made.shapes = {{30, way == 0 ? 0 : 30, 0, 1, 0}};
    if (way == 1) made.options.causal = true, made.shapes[0].offset = -30;
    RandomStream random(RandomKey{9, 9, 9});
    made.fill(random);
    if (way == 2) made.mask.assign(30, 0);
    if (way == 3) made.bias.assign(30, -infinity);
    const Attention problem = made.problem(true);
    attention_forward(pool, problem);
    attention_backward(pool, problem);
    for (const Floats* numbers :
         {&made.out, &made.query_gradient, &made.key_gradient, &made.value_gradient, &made.bias_gradient})
      for (float x : *numbers) ASSERT_EQ(x, 0.0f) << "way " << way;
    for (float x : made.lse) ASSERT_EQ(x, -infinity);
    Floats weights(static_cast<std::size_t>(30 * made.shapes[0].keys), 7.0f);
    attention_weights(problem, 0, 1, weights.data());
    for (float x : weights) ASSERT_EQ(x, 0.0f);
  }
}

TEST_P(AttentionKernel, ANanIsNotHidden) {
  ThreadPool pool(1);
  AttentionCase made = random_case(0);
  made.options.window = 0, made.options.causal = false, made.options.softcap = 0, made.options.dropout = 0;
  made.mask.clear(), made.bias.clear();
  made.shapes = {{3, 120, 117, 1, 0}};
  RandomStream random(RandomKey{1, 2, 3});
  made.fill(random);
  for (std::int64_t i = 0; i < made.options.head_dim; ++i)
    made.query[static_cast<std::size_t>(made.query_width() + i)] = std::numeric_limits<float>::quiet_NaN();
  attention_forward(pool, made.problem(false));
  for (std::int64_t i = 0; i < made.options.value_dim; ++i) {
    EXPECT_TRUE(std::isfinite(made.out[static_cast<std::size_t>(i)]));
    EXPECT_TRUE(std::isnan(made.out[static_cast<std::size_t>(made.out_width() + i)]));
    EXPECT_TRUE(std::isfinite(made.out[static_cast<std::size_t>(2 * made.out_width() + i)]));
  }
}

// Return the loss Σ out ∘ out_gradient of the reference implementation, for central differences.
double plain_loss(const PlainSequence<double>& sequence) {
  const auto result = ops::plain::attention(sequence.problem);
  return ops::plain::detail::dot(result.out.data(), sequence.out_gradient.data(),
                                 static_cast<std::int64_t>(result.out.size()));
}

void expect_slopes(PlainSequence<double>& sequence, std::vector<double>& input,
                   const std::vector<double>& gradient) {
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 40) {
    const double before = input[i];
    if (!std::isfinite(before)) continue;
    input[i] = before + kStep;
    const double above = plain_loss(sequence);
    input[i] = before - kStep;
    const double below = plain_loss(sequence);
    input[i] = before;
    ASSERT_NEAR((above - below) / (2 * kStep), gradient[i],
                1e-7 * std::max(1.0, std::fabs(gradient[i])) + 2e-8);
  }
}

TEST(AttentionPlain, GradientsAreCentralDifferences) {
  int checked = 0;
  for (std::uint64_t seed = 1000; checked < 25; ++seed) {
    const AttentionCase made = random_case(seed);
    if (made.shapes[0].queries * made.shapes[0].keys > 600 || made.shapes[0].queries == 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(made));
    ++checked;
    PlainSequence<double> sequence(made, 0);
    const auto result = ops::plain::attention(sequence.problem);
    const auto gradients =
        ops::plain::attention_backward(sequence.problem, result, sequence.out_gradient.data());
    expect_slopes(sequence, sequence.query, gradients.query);
    expect_slopes(sequence, sequence.key, gradients.key);
    expect_slopes(sequence, sequence.value, gradients.value);
    if (made.bias.empty() || made.shapes[0].mask_row != 0) continue;
    std::vector<double> bias_gradient(made.bias.size(), 0.0);
    ops::plain::detail::for_each_score(
        sequence.problem, [&](std::int64_t head, std::int64_t query, std::int64_t key, std::size_t i) {
          bias_gradient[static_cast<std::size_t>(head * made.options.bias_head_stride +
                                                 query * made.options.bias_query_stride + key)] +=
              gradients.bias[i];
        });
    expect_slopes(sequence, sequence.bias, bias_gradient);
  }
}

}  // namespace
}  // namespace regard::kernels
