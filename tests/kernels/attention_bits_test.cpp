// The bits of a row of attention depend only on its query and on the keys that it may attend to. They do not
// depend on the number of threads, the rest of the batch, the number of queries in the call, or later keys.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "attention_case.h"
#include "isa_fixture.h"

namespace regard::kernels {
namespace {

using testing::AttentionCase;
using testing::Floats;
using testing::SequenceShape;

class AttentionBits : public testing::EachIsa {};
REGARD_EACH_ISA(AttentionBits);

bool same_bits(const float* a, const float* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

constexpr int kVariants = 8;

// Return the options of one variant. The variants differ in heads, sizes, window, dropout and softcap.
AttentionCase variant(int number) {
  AttentionCase made;
  Attention& options = made.options;
  options.heads = 4, options.kv_heads = number % 2 == 0 ? 4 : 2;
  options.head_dim = number == 2 ? 20 : 32, options.value_dim = number == 3 ? 48 : 32;
  options.scale = 0.18f;
  options.causal = number != 4;
  if (number == 5 || number == 4) options.window = 40;
  if (number == 1 || number == 6) options.dropout = 0.2f, options.dropout_key = {4, 5, 6};
  if (number == 6) options.softcap = 1.5f;
  return made;
}

// Add a mask and bias for `rows` sequences of at most `most` queries and keys; used by variant 7.
void add_masks(RandomStream& random, AttentionCase& made, std::int64_t rows, std::int64_t most) {
  Attention& options = made.options;
  options.mask_query_stride = options.bias_query_stride = most;
  options.mask_sequence_stride = options.bias_sequence_stride = most * most;
  made.mask.resize(static_cast<std::size_t>(rows * most * most));
  made.bias.resize(made.mask.size());
  for (auto& allowed : made.mask) allowed = random.next_below(4) != 0;
  for (float& x : made.bias) x = static_cast<float>(random.next_normal());
}

// Return one sequence of a case as a case of its own.
AttentionCase alone(const AttentionCase& batch, std::size_t s) {
  AttentionCase one = batch;
  const auto cut = [](const Floats& all, std::int64_t begin, std::int64_t count, std::int64_t width) {
    return Floats(all.begin() + begin * width, all.begin() + (begin + count) * width);
  };
  const SequenceShape& shape = batch.shapes[s];
  const std::int64_t queries = batch.query_begin(s), keys = batch.key_begin(s);
  one.shapes = {shape};
  one.query = cut(batch.query, queries, shape.queries, batch.query_width());
  one.out_gradient = cut(batch.out_gradient, queries, shape.queries, batch.out_width());
  one.key = cut(batch.key, keys, shape.keys, batch.key_width());
  one.value = cut(batch.value, keys, shape.keys, batch.value_width());
  return one;
}

// Return the case with its sequences in another order.
AttentionCase reordered(const AttentionCase& batch, const std::vector<std::size_t>& order) {
  AttentionCase result = batch;
  result.shapes.clear(), result.query.clear(), result.key.clear(), result.value.clear();
  result.out_gradient.clear();
  for (std::size_t s : order) {
    const AttentionCase one = alone(batch, s);
    result.shapes.push_back(one.shapes[0]);
    const auto append = [](Floats& to, const Floats& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(result.query, one.query), append(result.key, one.key), append(result.value, one.value);
    append(result.out_gradient, one.out_gradient);
  }
  return result;
}

void run(AttentionCase& made, ThreadPool& pool) {
  const Attention problem = made.problem(true);
  attention_forward(pool, problem);
  attention_backward(pool, problem);
}

// Compare all results of sequence s of `batch` with `one`, which is the same sequence run alone.
void expect_same(const AttentionCase& batch, std::size_t s, const AttentionCase& one) {
  const auto check = [&](const Floats& all, const Floats& own, std::int64_t begin, const char* what) {
    EXPECT_TRUE(same_bits(all.data() + begin, own.data(), own.size())) << what << " of sequence " << s;
  };
  const std::int64_t queries = batch.query_begin(s), keys = batch.key_begin(s);
  check(batch.out, one.out, queries * batch.out_width(), "out");
  check(batch.lse, one.lse, queries * batch.options.heads, "lse");
  check(batch.query_gradient, one.query_gradient, queries * batch.query_width(), "query gradient");
  check(batch.key_gradient, one.key_gradient, keys * batch.key_width(), "key gradient");
  check(batch.value_gradient, one.value_gradient, keys * batch.value_width(), "value gradient");
}

TEST_P(AttentionBits, ThreadsAndCompanyDoNotShow) {
  constexpr std::int64_t kMost = 210;
  for (int number = 0; number < kVariants; ++number) {
    RandomStream random(RandomKey{static_cast<std::uint64_t>(number), 1, 1});
    AttentionCase batch = variant(number);
    std::uint64_t index = 3;
    for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{kMost, kMost},
                                        {5, 5},
                                        {1, 130},
                                        {64, 100},
                                        {17, 17},
                                        {33, 3}}) {
      batch.shapes.push_back({queries, keys, keys - queries, index, static_cast<std::int64_t>(index) - 3});
      ++index;
    }
    batch.fill(random);
    if (number == 7) add_masks(random, batch, 6, kMost);
    std::vector<AttentionCase> references;
    ThreadPool single(1);
    for (std::size_t s = 0; s < batch.shapes.size(); ++s) {
      references.push_back(alone(batch, s));
      run(references.back(), single);
    }
    std::vector<std::size_t> order(batch.shapes.size());
    std::iota(order.begin(), order.end(), 0u);
    for (int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      SCOPED_TRACE("variant " + std::to_string(number) + ", threads " + std::to_string(threads));
      AttentionCase shuffled = reordered(batch, order);
      run(shuffled, pool);
      for (std::size_t s = 0; s < order.size(); ++s) expect_same(shuffled, s, references[order[s]]);
      std::rotate(order.begin(), order.begin() + 1, order.end());
      std::swap(order.front(), order.back());
    }
  }
}

// Return `rows` queries starting at `first`, with only the keys that a cache would contain at that point.
AttentionCase piece(const AttentionCase& whole, std::int64_t first, std::int64_t rows) {
  AttentionCase part = whole;
  const SequenceShape& shape = whole.shapes[0];
  const auto cut = [](const Floats& all, std::int64_t begin, std::int64_t count, std::int64_t width) {
    return Floats(all.begin() + begin * width, all.begin() + (begin + count) * width);
  };
  const std::int64_t keys = std::min(shape.keys, first + rows + shape.offset);
  part.shapes[0].queries = rows, part.shapes[0].keys = keys, part.shapes[0].offset = first + shape.offset;
  part.query = cut(whole.query, first, rows, whole.query_width());
  part.out_gradient = cut(whole.out_gradient, first, rows, whole.out_width());
  part.key = cut(whole.key, 0, keys, whole.key_width());
  part.value = cut(whole.value, 0, keys, whole.value_width());
  if (!whole.mask.empty())
    part.mask.erase(part.mask.begin(), part.mask.begin() + first * whole.options.mask_query_stride);
  if (!whole.bias.empty())
    part.bias.erase(part.bias.begin(), part.bias.begin() + first * whole.options.bias_query_stride);
  return part;
}

TEST_P(AttentionBits, CachedIsFull) {
  constexpr std::int64_t kLength = 230;
  ThreadPool pool(2);
  for (int number = 0; number < kVariants; ++number) {
    AttentionCase whole = variant(number);
    if (!whole.options.causal) continue;  // only causal rows do not depend on later keys
    RandomStream random(RandomKey{static_cast<std::uint64_t>(number), 2, 2});
    whole.shapes = {{kLength, kLength, 0, 11, 0}};
    whole.fill(random);
    if (number == 7) add_masks(random, whole, 1, kLength);
    attention_forward(pool, whole.problem(false));
    const auto width = static_cast<std::size_t>(whole.out_width());
    for (std::int64_t rows : {1, 7, 100}) {
      SCOPED_TRACE("variant " + std::to_string(number) + ", rows at once " + std::to_string(rows));
      for (std::int64_t first = 0; first + rows <= kLength; first += rows) {
        AttentionCase part = piece(whole, first, rows);
        attention_forward(pool, part.problem(false));
        const auto begin = static_cast<std::size_t>(first);
        ASSERT_TRUE(same_bits(part.out.data(), whole.out.data() + begin * width, part.out.size()))
            << "out of rows from " << first;
        ASSERT_TRUE(same_bits(part.lse.data(), whole.lse.data() + begin * 4, part.lse.size()))
            << "lse of rows from " << first;
      }
    }
  }
}

TEST_P(AttentionBits, LaterKeysDoNotShow) {
  ThreadPool pool(1);
  for (int number : {0, 5, 6}) {
    AttentionCase full = variant(number);
    RandomStream random(RandomKey{1, 3, 3});
    full.shapes = {{50, 400, 0, 11, 0}};
    full.fill(random, 30.0f);
    attention_forward(pool, full.problem(false));
    AttentionCase shorter = piece(full, 0, 50);
    ASSERT_EQ(shorter.shapes[0].keys, 50);
    attention_forward(pool, shorter.problem(false));
    EXPECT_TRUE(same_bits(full.out.data(), shorter.out.data(), full.out.size()));
    EXPECT_TRUE(same_bits(full.lse.data(), shorter.lse.data(), full.lse.size()));
  }
}

// Negative control: a masked key is inserted before the others, so the blocks of keys begin at other keys.
// The results are equal up to rounding, but their bits differ.
TEST_P(AttentionBits, TheTestSeesAShiftOfTheBlocks) {
  ThreadPool pool(1);
  AttentionCase plain = variant(0);
  RandomStream random(RandomKey{1, 4, 4});
  plain.shapes = {{150, 150, 0, 11, 0}};
  plain.fill(random);
  AttentionCase shifted = plain;
  shifted.shapes = {{150, 151, 1, 11, 0}};
  shifted.key.insert(shifted.key.begin(), static_cast<std::size_t>(plain.key_width()), 0.0f);
  shifted.value.insert(shifted.value.begin(), static_cast<std::size_t>(plain.value_width()), 0.0f);
  shifted.mask.assign(151, 1);
  shifted.mask[0] = 0;
  attention_forward(pool, plain.problem(false));
  attention_forward(pool, shifted.problem(false));
  EXPECT_FALSE(same_bits(plain.out.data(), shifted.out.data(), plain.out.size()));
  for (std::size_t i = 0; i < plain.out.size(); ++i) ASSERT_NEAR(plain.out[i], shifted.out[i], 1e-5);
}

}  // namespace
}  // namespace regard::kernels
