// Attention in bf16: results and gradients are close to the results of the f32 kernel on the same rounded
// operands. The bits are the same for any number of threads, alone or in a batch, and with AMX or its
// emulation.
#include "kernels/bf16_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "bf16_fixture.h"

namespace regard::kernels {
namespace {

using Floats = std::vector<float>;
using Halves = std::vector<std::uint16_t>;

struct Lengths {
  std::int64_t queries, keys;
};

Floats normal_values(std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("bf16_attention_test")});
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.next_normal());
  return values;
}

// Operands of a batch, in bf16 and widened to f32.
struct Bf16Batch {
  AttentionSpec spec;
  std::vector<Lengths> lengths;
  std::uint64_t first_index = (std::uint64_t{1} << 33) + 7;  // index in the global batch
  Halves query, key, value;
  Floats wide_query, wide_key, wide_value, out_gradient;

  Bf16Batch(const AttentionSpec& given, std::vector<Lengths> all, std::uint64_t seed)
      : spec(given.resolved()), lengths(std::move(all)) {
    std::int64_t queries = 0, keys = 0;
    for (const Lengths& one : lengths) queries += one.queries, keys += one.keys;
    set(queries * spec.heads * spec.head_dim, seed, query, wide_query);
    set(keys * spec.kv_heads * spec.head_dim, seed + 1, key, wide_key);
    set(keys * spec.kv_heads * spec.value_dim, seed + 2, value, wide_value);
    out_gradient = normal_values(queries * spec.heads * spec.value_dim, seed + 3);
  }
  static void set(std::int64_t count, std::uint64_t seed, Halves& halves, Floats& wide) {
    ThreadPool pool(1);
    wide = normal_values(count, seed);
    halves.resize(wide.size());
    round_to_bf16(pool, wide.data(), halves.data(), count);
    widen_bf16(pool, halves.data(), wide.data(), count);
  }
};

struct AttentionResult {
  Floats out, lse, query, key, value;
};

bool same(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
bool same(const AttentionResult& a, const AttentionResult& b) {
  return same(a.out, b.out) && same(a.lse, b.lse) && same(a.query, b.query) && same(a.key, b.key) &&
         same(a.value, b.value);
}

// Run the forward and backward pass in bf16, or with the f32 kernel, which does not round `out`.
AttentionResult attend(const Bf16Batch& batch, bool bf16, int threads) {
  ThreadPool pool(threads);
  AttentionResult r;
  const AttentionSpec& spec = batch.spec;
  r.query.assign(batch.wide_query.size(), 7.0f), r.key.assign(batch.wide_key.size(), 7.0f);
  r.value.assign(batch.wide_value.size(), 7.0f), r.out.resize(batch.out_gradient.size());
  Attention problem;
  static_cast<AttentionSpec&>(problem) = spec;
  problem.dropout_key = {11, 5, place_of("dropout")};
  problem.query_stride = problem.query_gradient_stride = spec.heads * spec.head_dim;
  problem.key_stride = problem.key_gradient_stride = spec.kv_heads * spec.head_dim;
  problem.value_stride = problem.value_gradient_stride = spec.kv_heads * spec.value_dim;
  problem.out_stride = problem.out_gradient_stride = spec.heads * spec.value_dim;
  std::vector<AttentionSequence> sequences;
  std::int64_t queries = 0, keys = 0;
  for (const Lengths& one : batch.lengths) {
    AttentionSequence sequence;
    sequence.query_begin = queries, sequence.queries = one.queries, sequence.keys = one.keys;
    sequence.offset = one.keys - one.queries;
    sequence.index = batch.first_index + sequences.size();
    sequence.key = batch.wide_key.data() + keys * problem.key_stride;
    sequence.value = batch.wide_value.data() + keys * problem.value_stride;
    sequence.key_gradient = r.key.data() + keys * problem.key_stride;
    sequence.value_gradient = r.value.data() + keys * problem.value_stride;
    sequences.push_back(sequence);
    queries += one.queries, keys += one.keys;
  }
  r.lse.resize(static_cast<std::size_t>(queries * spec.heads));
  problem.sequences = sequences, problem.lse = r.lse.data();
  problem.query = batch.wide_query.data(), problem.query_gradient = r.query.data();
  problem.out_gradient = batch.out_gradient.data();
  problem.out = r.out.data();
  if (!bf16) {
    attention_forward(pool, problem);
    attention_backward(pool, problem);
    return r;
  }
  Halves out(r.out.size());
  const Bf16Operands operands{batch.query.data(), batch.key.data(), batch.value.data(), out.data()};
  EXPECT_TRUE(bf16_attention_supports(problem));
  bf16_attention_forward(pool, problem, operands);
  bf16_attention_backward(pool, problem, operands);
  widen_bf16(pool, out.data(), r.out.data(), std::ssize(r.out));
  return r;
}

// ‖x − y‖ / ‖y‖
double relative_error(const Floats& x, const Floats& y) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
    size += std::pow(static_cast<double>(y[i]), 2);
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

AttentionSpec spec_of(std::int64_t heads, std::int64_t kv_heads, std::int64_t size, bool causal) {
  AttentionSpec spec;
  spec.heads = heads, spec.kv_heads = kv_heads, spec.head_dim = size, spec.causal = causal;
  return spec;
}

class Bf16AttentionTest : public testing::EachBf16Path {};

// Rounding changes an operand by at most 2⁻⁹ of its value. Weights and gradients of scores are rounded too.
TEST_P(Bf16AttentionTest, IsNearTheF32Kernel) {
  each_path([](Bf16Path path) {
    std::vector<Bf16Batch> batches;
    batches.emplace_back(spec_of(2, 2, 64, true), std::vector<Lengths>{{70, 70}, {1, 1}, {5, 33}}, 1);
    AttentionSpec wide = spec_of(4, 2, 40, false);
    wide.value_dim = 52;
    batches.emplace_back(wide, std::vector<Lengths>{{17, 50}, {3, 0}, {0, 4}, {65, 20}}, 2);
    for (AttentionSpec dropped : {spec_of(2, 1, 32, true), wide}) {
      dropped.dropout = 0.3f;
      batches.emplace_back(dropped, std::vector<Lengths>{{70, 140}, {3, 3}, {64, 64}}, 7);
    }
    if (path != Bf16Path::emulated)
      for (const float dropout : {0.0f, 0.2f}) {
        AttentionSpec chunks = spec_of(1, 1, 64, true);
        chunks.dropout = dropout;
        batches.emplace_back(chunks, std::vector<Lengths>{{1100, 1100}}, 3);
      }
    for (const Bf16Batch& batch : batches) {
      const AttentionResult exact = attend(batch, false, 1), rounded = attend(batch, true, 1);
      EXPECT_LT(relative_error(rounded.out, exact.out), 0.004);
      EXPECT_LT(relative_error(rounded.query, exact.query), 0.006);
      EXPECT_LT(relative_error(rounded.key, exact.key), 0.006);
      EXPECT_LT(relative_error(rounded.value, exact.value), 0.006);
      for (std::size_t i = 0; i < exact.lse.size(); ++i)
        EXPECT_TRUE(exact.lse[i] == rounded.lse[i] || std::abs(exact.lse[i] - rounded.lse[i]) < 1e-4f);
      EXPECT_GT(relative_error(rounded.out, exact.out), 1e-5) << "control: nothing was rounded";
    }
  });
}

TEST_P(Bf16AttentionTest, SameBitsForAnyThreadsAndBatch) {
  each_path([](Bf16Path) {
    AttentionSpec spec = spec_of(4, 2, 32, true);
    spec.dropout = 0.25f;
    const Bf16Batch alone(spec, {{67, 67}}, 4);
    const AttentionResult one = attend(alone, true, 1);
    EXPECT_TRUE(same(one, attend(alone, true, 3)));
    // `both` has another sequence before the sequence of `alone`.
    Bf16Batch both(spec, {{20, 31}, {67, 67}}, 5);
    --both.first_index;
    const auto append = [](auto& to, const auto& end) { std::copy(end.rbegin(), end.rend(), to.rbegin()); };
    append(both.query, alone.query), append(both.key, alone.key), append(both.value, alone.value);
    append(both.out_gradient, alone.out_gradient);
    const AttentionResult two = attend(both, true, 2);
    const auto last = [](const Floats& all, const Floats& part) {
      return Floats(all.end() - std::ssize(part), all.end());
    };
    EXPECT_TRUE(same(one, {last(two.out, one.out), last(two.lse, one.lse), last(two.query, one.query),
                           last(two.key, one.key), last(two.value, one.value)}));
    // A row does not depend on later rows: run the first 30 queries over the first 30 keys.
    Bf16Batch begin(spec, {{30, 30}}, 4);
    const auto copy = [](auto& to, const auto& from) { std::copy_n(from.begin(), to.size(), to.begin()); };
    copy(begin.query, alone.query), copy(begin.key, alone.key), copy(begin.value, alone.value);
    const Floats first = attend(begin, true, 1).out;
    EXPECT_TRUE(same(first, Floats(one.out.begin(), one.out.begin() + std::ssize(first))));
  });
}

TEST_P(Bf16AttentionTest, EmulationHasTheBitsOfAmx) {
  if (bf16_paths().empty() || bf16_paths().back() != Bf16Path::amx_bf16) GTEST_SKIP() << "no AMX-BF16";
  AttentionSpec spec = spec_of(2, 1, 48, true);
  spec.dropout = 0.1f;
  const Bf16Batch batch(spec, {{75, 80}, {10, 10}}, 6);
  const AttentionResult amx = attend(batch, true, 1);
  set_bf16_path(Bf16Path::emulated);
  EXPECT_TRUE(same(amx, attend(batch, true, 2)));
}

TEST(Bf16Attention, RefusesWhatItDoesNotHave) {
  Attention problem;
  problem.head_dim = problem.value_dim = 8;
  EXPECT_TRUE(bf16_attention_supports(problem));
  problem.window = 3;
  EXPECT_FALSE(bf16_attention_supports(problem));
  problem.window = 0, problem.softcap = 1.0f;
  EXPECT_FALSE(bf16_attention_supports(problem));
}

REGARD_EACH_ISA(Bf16AttentionTest);

}  // namespace
}  // namespace regard::kernels
