// Attention in bf16 over cache pages is close to a composed reference in double that rounds at the same
// points. The bits are the same for any number of queries in a call, any number of threads and any batch.
#include "kernels/bf16_paged_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.h"
#include "bf16_fixture.h"
#include "kernels/bf16_pages.h"

namespace regard::kernels {
namespace {

using Numbers = std::vector<float>;

Numbers random_numbers(std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("bf16_paged_attention_test")});
  Numbers values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.next_normal());
  return values;
}

Numbers rounded_numbers(const Numbers& values) {
  ThreadPool pool(1);
  std::vector<std::uint16_t> bits(values.size());
  Numbers wide(values.size());
  round_to_bf16(pool, values.data(), bits.data(), std::ssize(values));
  widen_bf16(pool, bits.data(), wide.data(), std::ssize(values));
  return wide;
}

// One sequence in f32. Keys and values are also in pages; rows that no query may attend to are NaN.
struct PagedSequence {
  AttentionSpec spec;
  std::int64_t queries, keys;
  Numbers query, key, value;
  std::vector<Numbers> memory;
  std::vector<const float*> at;
  AttentionPages pages;

  PagedSequence(const AttentionSpec& given, std::int64_t query_count, std::int64_t key_count,
                std::uint64_t seed)
      : spec(given.resolved()), queries(query_count), keys(key_count) {
    query = random_numbers(queries * spec.heads * spec.head_dim, seed);
    key = random_numbers(keys * spec.kv_heads * spec.head_dim, seed + 1);
    value = random_numbers(keys * spec.kv_heads * spec.value_dim, seed + 2);
    const Bf16PageShape shape{spec.kv_heads, spec.head_dim, spec.value_dim};
    for (std::int64_t first = 0; first < keys; first += kBf16PageRows) {
      float* page = aligned_page(shape.key_floats() + shape.value_floats());
      const std::int64_t rows = std::min(kBf16PageRows, keys - first);
      // Write some pages in one call and some row by row, as a prefill and decoding do.
      const std::int64_t step = first / kBf16PageRows % 2 == 0 ? rows : 1;
      for (std::int64_t row = 0; row < rows; row += step)
        write_bf16_page(shape, page, page + shape.key_floats(), row, rows_from(first + row, step));
      at.push_back(page);
    }
    pages = {at.data(), kBf16PageRows, 0, shape.key_floats(), true};
  }
  float* aligned_page(std::int64_t floats) {
    constexpr std::size_t kAlignment = 64;
    Numbers& room = memory.emplace_back(static_cast<std::size_t>(floats) + kAlignment, std::nanf(""));
    void* page = room.data();
    std::size_t bytes = room.size() * sizeof(float);
    return static_cast<float*>(
        std::align(kAlignment, static_cast<std::size_t>(floats) * sizeof(float), page, bytes));
  }
  Bf16PageRows rows_from(std::int64_t row, std::int64_t count) const {
    const std::int64_t key_width = spec.kv_heads * spec.head_dim,
                       value_width = spec.kv_heads * spec.value_dim;
    return {key.data() + row * key_width, value.data() + row * value_width, key_width, value_width, count};
  }
};

// A bias and a mask with their strides. Stride 0: the same numbers for every sequence, head or query.
struct PagedExtras {
  const float* bias = nullptr;
  const std::uint8_t* mask = nullptr;
  std::int64_t bias_head_stride = 0, bias_query_stride = 0, bias_sequence_stride = 0;
  std::int64_t mask_head_stride = 0, mask_query_stride = 0, mask_sequence_stride = 0;

  // Return the extras of sequence `index` alone.
  PagedExtras of_sequence(std::int64_t index) const {
    PagedExtras own = *this;
    own.bias += index * bias_sequence_stride, own.mask += index * mask_sequence_stride;
    return own;
  }
};

struct PagedResult {
  Numbers out, lse;
  bool operator==(const PagedResult& other) const {
    const auto same = [](const Numbers& a, const Numbers& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    return same(out, other.out) && same(lse, other.lse);
  }
};

// Compute queries [begin, end) of each sequence in one call. The last query of a sequence has the position of
// its last key.
PagedResult attend(const std::vector<const PagedSequence*>& batch, Range queries, int threads,
                   const PagedExtras& extras = {}) {
  ThreadPool pool(threads);
  const AttentionSpec& spec = batch[0]->spec;
  Attention problem;
  static_cast<AttentionSpec&>(problem) = spec;
  problem.bias = extras.bias, problem.mask = extras.mask;
  problem.bias_head_stride = extras.bias_head_stride, problem.bias_query_stride = extras.bias_query_stride;
  problem.bias_sequence_stride = extras.bias_sequence_stride;
  problem.mask_head_stride = extras.mask_head_stride, problem.mask_query_stride = extras.mask_query_stride;
  problem.mask_sequence_stride = extras.mask_sequence_stride;
  problem.query_stride = spec.heads * spec.head_dim, problem.out_stride = spec.heads * spec.value_dim;
  Numbers query;
  std::vector<AttentionSequence> sequences;
  for (const PagedSequence* one : batch) {
    AttentionSequence sequence;
    sequence.query_begin = std::ssize(query) / problem.query_stride;
    sequence.queries = queries.size(), sequence.keys = one->keys;
    sequence.offset = one->keys - one->queries + queries.begin;
    sequence.pages = one->pages;
    sequence.mask_row = std::ssize(sequences);
    query.insert(query.end(), one->query.begin() + queries.begin * problem.query_stride,
                 one->query.begin() + queries.end * problem.query_stride);
    sequences.push_back(sequence);
  }
  const std::int64_t rows = std::ssize(query) / problem.query_stride;
  PagedResult result;
  result.out.assign(static_cast<std::size_t>(rows * problem.out_stride), 7.0f);
  result.lse.assign(static_cast<std::size_t>(rows * spec.heads), 7.0f);
  problem.sequences = sequences;
  problem.query = query.data(), problem.out = result.out.data(), problem.lse = result.lse.data();
  bf16_paged_attention(pool, problem);
  return result;
}

// Compute the same attention in double, with the rounding of the kernel. Queries, keys and values are
// rounded, and so are the weights before their division by the sum.
PagedResult composed(const PagedSequence& one, const PagedExtras& extras = {}) {
  const AttentionSpec& spec = one.spec;
  const Numbers query = rounded_numbers(one.query), key = rounded_numbers(one.key),
                value = rounded_numbers(one.value);
  PagedResult result;
  for (std::int64_t i = 0; i < one.queries; ++i)
    for (std::int64_t head = 0; head < spec.heads; ++head) {
      const std::int64_t kv_head = head / (spec.heads / spec.kv_heads), position = one.keys - one.queries + i;
      Numbers scores(static_cast<std::size_t>(one.keys), -std::numeric_limits<float>::infinity());
      for (std::int64_t j = 0; j < one.keys; ++j) {
        if ((spec.causal && j > position) || (spec.window > 0 && std::abs(position - j) >= spec.window) ||
            (extras.mask != nullptr &&
             extras.mask[head * extras.mask_head_stride + i * extras.mask_query_stride + j] == 0))
          continue;
        double score = 0;
        for (std::int64_t d = 0; d < spec.head_dim; ++d)
          score += static_cast<double>(
                       query[static_cast<std::size_t>((i * spec.heads + head) * spec.head_dim + d)]) *
                   static_cast<double>(
                       key[static_cast<std::size_t>((j * spec.kv_heads + kv_head) * spec.head_dim + d)]);
        score *= static_cast<double>(spec.scale);
        if (spec.softcap > 0)
          score = std::tanh(score / static_cast<double>(spec.softcap)) * static_cast<double>(spec.softcap);
        if (extras.bias != nullptr)
          score += static_cast<double>(
              extras.bias[head * extras.bias_head_stride + i * extras.bias_query_stride + j]);
        scores[static_cast<std::size_t>(j)] = static_cast<float>(score);
      }
      const float most = one.keys > 0 ? *std::max_element(scores.begin(), scores.end()) : 0.0f;
      double sum = 0;
      Numbers weights(scores.size());
      for (std::size_t j = 0; j < scores.size(); ++j) {
        weights[j] = std::isinf(scores[j]) ? 0.0f : std::exp(scores[j] - most);
        sum += static_cast<double>(weights[j]);
      }
      weights = rounded_numbers(weights);
      for (std::int64_t d = 0; d < spec.value_dim; ++d) {
        double out = 0;
        for (std::int64_t j = 0; j < one.keys; ++j)
          out += static_cast<double>(weights[static_cast<std::size_t>(j)]) *
                 static_cast<double>(
                     value[static_cast<std::size_t>((j * spec.kv_heads + kv_head) * spec.value_dim + d)]);
        result.out.push_back(sum > 0 ? static_cast<float>(out / sum) : 0.0f);
      }
      result.lse.push_back(sum > 0 ? most + static_cast<float>(std::log(sum))
                                   : -std::numeric_limits<float>::infinity());
    }
  return result;
}

double largest_difference(const Numbers& a, const Numbers& b) {
  double most = a.size() == b.size() ? 0 : 1e30;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!(a[i] == b[i]))
      most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

AttentionSpec spec_of(std::int64_t heads, std::int64_t kv_heads, std::int64_t size) {
  AttentionSpec spec;
  spec.heads = heads, spec.kv_heads = kv_heads, spec.head_dim = size, spec.causal = true;
  return spec;
}

std::vector<AttentionSpec> all_specs() {
  std::vector<AttentionSpec> all{spec_of(2, 2, 64), spec_of(6, 2, 24)};
  all.push_back(spec_of(2, 1, 40));
  all.back().value_dim = 52, all.back().causal = false;
  all.push_back(spec_of(2, 2, 16));
  all.back().window = 19;
  all.push_back(spec_of(2, 1, 32));
  all.back().window = 40, all.back().causal = false, all.back().softcap = 3.0f;
  all.push_back(spec_of(1, 1, 16));
  all.back().value_dim = 256, all.back().causal = false;  // the output is larger than all other arrays
  return all;
}

class Bf16PagedAttention : public testing::EachBf16Path {};

// Another order of f32 sums can change a score, so an unnormalised weight may differ by one unit after
// rounding.
TEST_P(Bf16PagedAttention, IsTheComposedReference) {
  each_path([](Bf16Path) {
    for (const AttentionSpec& spec : all_specs())
      for (const auto& [queries, keys] : {std::pair{1, 1}, {1, 70}, {70, 70}, {9, 100}, {3, 0}}) {
        const PagedSequence one(spec, queries, keys, 3);
        const PagedResult result = attend({&one}, {0, queries}, 2), reference = composed(one);
        EXPECT_LT(largest_difference(result.out, reference.out), 2e-3) << queries << " × " << keys;
        EXPECT_LT(largest_difference(result.lse, reference.lse), 1e-4) << queries << " × " << keys;
      }
  });
}

TEST_P(Bf16PagedAttention, AppliesBiasAndMask) {
  each_path([](Bf16Path) {
    AttentionSpec spec = spec_of(4, 2, 32);
    spec.causal = false;
    const PagedSequence one(spec, 5, 67, 5);
    const Numbers bias = random_numbers(4 * 67, 9);
    std::vector<std::uint8_t> mask(67);
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 != 0;
    const PagedExtras extras{bias.data(), mask.data(), 67};
    const PagedResult result = attend({&one}, {0, 5}, 1, extras), reference = composed(one, extras);
    EXPECT_LT(largest_difference(result.out, reference.out), 2e-3);
    EXPECT_LT(largest_difference(result.lse, reference.lse), 1e-4);
    EXPECT_GT(largest_difference(result.out, composed(one).out), 0.05) << "control";
    std::fill(mask.begin(), mask.end(), std::uint8_t{0});
    const PagedResult none = attend({&one}, {0, 5}, 1, extras);
    for (const float value : none.out) EXPECT_EQ(value, 0.0f) << "no key may be attended to";
  });
}

// A bias and a mask for every sequence, head and query. With a window, the first key that a query attends to
// is not the first key of the sequence.
TEST_P(Bf16PagedAttention, AppliesBiasAndMaskWithinAWindow) {
  each_path([](Bf16Path) {
    AttentionSpec spec = spec_of(4, 2, 32);
    spec.window = 45;
    constexpr std::int64_t kQueries = 5, kKeys = 130, kEach = kQueries * kKeys;
    const PagedSequence one(spec, kQueries, kKeys, 5), other(spec, kQueries, kKeys, 15);
    const Numbers bias = random_numbers(2 * 4 * kEach, 9);
    std::vector<std::uint8_t> mask(bias.size());
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = bias[i] > -0.5f;
    const PagedExtras extras{bias.data(), mask.data(), kEach, kKeys, 4 * kEach, kEach, kKeys, 4 * kEach};
    const PagedResult both = attend({&one, &other}, {0, kQueries}, 2, extras);
    PagedResult reference = composed(one, extras.of_sequence(0));
    const PagedResult second = composed(other, extras.of_sequence(1));
    reference.out.insert(reference.out.end(), second.out.begin(), second.out.end());
    reference.lse.insert(reference.lse.end(), second.lse.begin(), second.lse.end());
    EXPECT_LT(largest_difference(both.out, reference.out), 2e-3);
    EXPECT_LT(largest_difference(both.lse, reference.lse), 1e-4);
  });
}

TEST_P(Bf16PagedAttention, SameBitsForAnyCallThreadsAndBatch) {
  each_path([](Bf16Path) {
    for (const AttentionSpec& spec : all_specs()) {
      const PagedSequence one(spec, 70, 75, 11), other(spec, 70, 33 + 70, 12);
      const PagedResult whole = attend({&one}, {0, 70}, 1);
      for (const int threads : {2, 3}) EXPECT_EQ(whole, attend({&one}, {0, 70}, threads));
      for (const std::int64_t step : {1, 7, 64}) {
        PagedResult joined;
        for (std::int64_t begin = 0; begin < 70; begin += step) {
          const PagedResult part = attend({&one}, {begin, std::min<std::int64_t>(70, begin + step)}, 1);
          joined.out.insert(joined.out.end(), part.out.begin(), part.out.end());
          joined.lse.insert(joined.lse.end(), part.lse.begin(), part.lse.end());
        }
        EXPECT_EQ(whole, joined) << "steps of " << step;
      }
      PagedResult both = attend({&other, &one}, {0, 70}, 3);
      both.out.erase(both.out.begin(), both.out.end() - std::ssize(whole.out));
      both.lse.erase(both.lse.begin(), both.lse.end() - std::ssize(whole.lse));
      EXPECT_EQ(whole, both);
      PagedSequence changed(spec, 70, 75, 11);
      changed.query[0] += 1.0f;
      EXPECT_FALSE(whole == attend({&changed}, {0, 70}, 1)) << "control";
    }
  });
}

TEST_P(Bf16PagedAttention, EmulationHasTheBitsOfAmx) {
  if (bf16_paths().empty() || bf16_paths().back() != Bf16Path::amx_bf16) GTEST_SKIP() << "no AMX-BF16";
  for (const AttentionSpec& spec : all_specs()) {
    const PagedSequence one(spec, 20, 90, 6);
    set_bf16_path(Bf16Path::amx_bf16);
    const PagedResult amx = attend({&one}, {0, 20}, 1);
    set_bf16_path(Bf16Path::emulated);
    EXPECT_EQ(amx, attend({&one}, {0, 20}, 2));
  }
}

// Pages before a window's first key are released; they are null.
TEST_P(Bf16PagedAttention, ReadsNoReleasedPage) {
  AttentionSpec spec = spec_of(2, 2, 16);
  spec.window = 19;
  set_bf16_path(Bf16Path::emulated);
  PagedSequence one(spec, 4, 130, 8);
  const PagedResult all = attend({&one}, {0, 4}, 1);
  for (std::size_t page = 0; page < 3; ++page) one.at[page] = nullptr;
  EXPECT_EQ(all, attend({&one}, {0, 4}, 1));
}

TEST_P(Bf16PagedAttention, PagesHoldTheRoundedRows) {
  set_bf16_path(Bf16Path::emulated);
  AttentionSpec spec = spec_of(2, 2, 50);
  spec.value_dim = 70;
  const PagedSequence one(spec, 1, 67, 2);
  Numbers key(one.key.size()), value(one.value.size());
  read_bf16_pages({2, 50, 70}, one.pages, 67, key.data(), value.data());
  EXPECT_EQ(key, rounded_numbers(one.key));
  EXPECT_EQ(value, rounded_numbers(one.value));
}

// The rows of a released page become zero, and the following rows keep their places. clear_bf16_values() sets
// only the values of a page, from a row on.
TEST_P(Bf16PagedAttention, ReleasedPagesAndClearedRowsAreZero) {
  set_bf16_path(Bf16Path::emulated);
  AttentionSpec spec = spec_of(2, 2, 50);
  spec.value_dim = 70;
  PagedSequence one(spec, 1, 67, 2);
  Numbers key = rounded_numbers(one.key), value = rounded_numbers(one.value);
  one.at[0] = nullptr;
  const Bf16PageShape shape{2, 50, 70};
  constexpr std::int64_t kFirst = kBf16PageRows + 3;
  clear_bf16_values(shape, const_cast<float*>(one.at[1]) + shape.key_floats(), 3);
  std::fill_n(key.begin(), kBf16PageRows * 100, 0.0f);
  std::fill_n(value.begin(), kBf16PageRows * 140, 0.0f);
  std::fill(value.begin() + kFirst * 140, value.begin() + 2 * kBf16PageRows * 140, 0.0f);
  Numbers read_key(key.size(), 7.0f), read_value(value.size(), 7.0f);
  read_bf16_pages(shape, one.pages, 67, read_key.data(), read_value.data());
  EXPECT_EQ(read_key, key);
  EXPECT_EQ(read_value, value);
}

REGARD_EACH_ISA(Bf16PagedAttention);

}  // namespace
}  // namespace regard::kernels
