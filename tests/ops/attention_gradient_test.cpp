// Attention on the tape compared with its reference implementation in double: joint projections, grouped
// heads, sequences without queries or keys, trainable biases, windows, softcap.
#include <gtest/gtest.h>

#include "kernels/isa_fixture.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/plain/attention.h"
#include "ops/ragged.h"
#include "support/namespaces.h"
#include "support/operation_case.h"

namespace regard::testing {
namespace {

using testing::check_operation;
using testing::Numbers;
using testing::OperationCase;

struct Batch {
  RaggedBuffer queries, keys;
  void add(std::int64_t query_count, std::int64_t key_count) {
    queries.add(query_count, 0);
    keys.add(key_count, 0);
  }
};

// Return rows [begin, end) and columns [column, column + width) of x [rows, features].
Numbers part(const Numbers& x, std::int64_t features, std::int64_t begin, std::int64_t end,
             std::int64_t column, std::int64_t width) {
  Numbers y;
  for (std::int64_t row = begin; row < end; ++row)
    y.insert(y.end(), x.begin() + row * features + column, x.begin() + row * features + column + width);
  return y;
}

// Location of query, key and value: input index, first column and number of features of the input.
struct Places {
  std::array<std::size_t, 3> input;
  std::array<std::int64_t, 3> column, features;
};

Numbers plain_attention(const Batch& batch, const ops::AttentionOptions& options, const Places& places,
                        std::span<const Numbers> v, const Numbers* bias) {
  plain::Attention<double> problem;
  problem.heads = options.heads;
  problem.kv_heads = options.kv_heads > 0 ? options.kv_heads : options.heads;
  problem.head_dim = options.head_dim;
  problem.value_dim = options.value_dim > 0 ? options.value_dim : options.head_dim;
  problem.scale = options.scale != 0.0f
                      ? static_cast<double>(options.scale)
                      : static_cast<double>(1.0f / std::sqrt(static_cast<float>(options.head_dim)));
  problem.softcap = static_cast<double>(options.softcap);
  problem.causal = options.causal, problem.window = options.window;
  const std::array<std::int64_t, 3> widths{problem.heads * problem.head_dim,
                                           problem.kv_heads * problem.head_dim,
                                           problem.kv_heads * problem.value_dim};
  const Ragged queries = batch.queries.view(), keys = batch.keys.view();
  Numbers out;
  for (std::size_t s = 0; s < static_cast<std::size_t>(queries.sequences()); ++s) {
    std::array<Numbers, 3> qkv;
    for (std::size_t i = 0; i < 3; ++i) {
      const Ragged& rows = i == 0 ? queries : keys;
      qkv[i] = part(v[places.input[i]], places.features[i], rows.offsets[s], rows.offsets[s + 1],
                    places.column[i], widths[i]);
    }
    problem.queries = queries.offsets[s + 1] - queries.offsets[s];
    problem.keys = keys.offsets[s + 1] - keys.offsets[s];
    problem.offset = problem.keys - problem.queries;
    problem.query = qkv[0].data(), problem.key = qkv[1].data(), problem.value = qkv[2].data();
    problem.bias = bias != nullptr ? bias->data() : nullptr;
    problem.bias_head_stride = options.bias_head_stride,
    problem.bias_query_stride = options.bias_query_stride;
    const Numbers part_out = plain::attention(problem).out;
    out.insert(out.end(), part_out.begin(), part_out.end());
  }
  return out;
}

class AttentionGradients : public testing::EachIsa {};

// Query, key and value may be columns of one variable, with unused columns between them.
TEST_P(AttentionGradients, OfAJointProjection) {
  Batch batch;
  for (const std::int64_t length : {5, 0, 1, 20}) batch.add(length, length);
  for (const bool causal : {false, true}) {
    ops::AttentionOptions options;
    options.heads = 4, options.kv_heads = 2, options.head_dim = 6, options.value_dim = 5;
    options.causal = causal, options.softcap = causal ? 3.0f : 0.0f, options.window = causal ? 7 : 0;
    const Places places{{0, 0, 0}, {3, 30, 45}, {60, 60, 60}};
    OperationCase joint;
    joint.name = "attention";
    joint.inputs = {{26, 60}};
    joint.operation = [&](Tape& tape, std::span<const Var> v) {
      return ops::attention(tape, {v[0], 3}, {v[0], 30}, {v[0], 45}, batch.queries.view(), batch.keys.view(),
                            options);
    };
    joint.plain = [&](std::span<const Numbers> v) {
      return plain_attention(batch, options, places, v, nullptr);
    };
    joint.samples = 200;
    check_operation(joint, causal ? 1 : 2);
  }
}

// Queries are in one variable, keys and values in another. Some sequences have no queries, some no keys.
TEST_P(AttentionGradients, OfAMemory) {
  Batch batch;
  batch.add(3, 9);
  batch.add(0, 4);
  batch.add(2, 0);
  batch.add(7, 13);
  ops::AttentionOptions options;
  options.heads = 2, options.head_dim = 8, options.scale = 0.5f;
  const Places places{{0, 1, 1}, {0, 0, 16}, {16, 32, 32}};
  OperationCase memory;
  memory.name = "cross-attention";
  memory.inputs = {{12, 16}, {26, 32}};
  memory.operation = [&](Tape& tape, std::span<const Var> v) {
    return ops::attention(tape, {v[0]}, {v[1], 0}, {v[1], 16}, batch.queries.view(), batch.keys.view(),
                          options);
  };
  memory.plain = [&](std::span<const Numbers> v) {
    return plain_attention(batch, options, places, v, nullptr);
  };
  memory.samples = 200;
  check_operation(memory, 3);
}

// The same columns can be the keys and the values. In self-attention without projections, they are also the
// queries. Their gradient is the sum of the gradients of queries, keys and values.
TEST_P(AttentionGradients, OfColumnsThatOverlap) {
  Batch batch;
  for (const std::int64_t length : {5, 1, 12}) batch.add(length, length);
  ops::AttentionOptions options;
  options.heads = 2, options.head_dim = 6, options.scale = 0.5f;
  // Key and value are equal; query, key and value are equal; value overlaps half of the key.
  const Places all[] = {{{0, 1, 1}, {0, 0, 0}, {12, 12, 12}},
                        {{1, 1, 1}, {0, 0, 0}, {12, 12, 12}},
                        {{0, 1, 1}, {0, 2, 8}, {12, 24, 24}}};
  for (const Places& places : all)
    for (const bool used_before : {false, true}) {
      OperationCase overlapping;
      overlapping.name = "attention of columns that overlap";
      overlapping.inputs = {{18, 12}, {18, places.features[2]}};
      overlapping.operation = [&](Tape& tape, std::span<const Var> v) {
        const auto columns = [&](std::size_t i) {
          return ops::Columns{v[places.input[i]], places.column[i]};
        };
        Var out = ops::attention(tape, columns(0), columns(1), columns(2), batch.queries.view(),
                                 batch.keys.view(), options);
        // With another use of the input, attention adds to a gradient that exists already.
        return used_before ? ops::add(tape, out, v[0]) : out;
      };
      overlapping.plain = [&](std::span<const Numbers> v) {
        Numbers out = plain_attention(batch, options, places, v, nullptr);
        for (std::size_t i = 0; used_before && i < out.size(); ++i) out[i] += v[0][i];
        return out;
      };
      overlapping.samples = 200;
      check_operation(overlapping, 5);
    }
}

// A bias per head, query and key may be shared by all sequences. Its gradient is then the sum over the
// sequences.
TEST_P(AttentionGradients, OfASharedBias) {
  Batch batch;
  for (const std::int64_t length : {6, 9, 2}) batch.add(length, length);
  ops::AttentionOptions options;
  options.heads = 3, options.head_dim = 4;
  options.bias_head_stride = 9 * 9, options.bias_query_stride = 9;
  const Places places{{0, 1, 2}, {0, 0, 0}, {12, 12, 12}};
  OperationCase biased;
  biased.name = "biased attention";
  biased.inputs = {{17, 12}, {17, 12}, {17, 12}, {3, 9, 9}};
  biased.operation = [&](Tape& tape, std::span<const Var> v) {
    ops::AttentionOptions with = options;
    with.bias = v[3];
    return ops::attention(tape, {v[0]}, {v[1]}, {v[2]}, batch.queries.view(), batch.keys.view(), with);
  };
  biased.plain = [&](std::span<const Numbers> v) {
    return plain_attention(batch, options, places, v, &v[3]);
  };
  biased.samples = 200;
  check_operation(biased, 4);
}

REGARD_EACH_ISA(AttentionGradients);

}  // namespace
}  // namespace regard::testing
