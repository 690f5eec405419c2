// A ragged attention problem that owns its memory, for tests of the kernels. Each of its sequences can also
// be converted to arguments of the reference implementation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/attention_dropout.h"
#include "ops/plain/attention.h"
#include "support/namespaces.h"

namespace regard::testing {

using Floats = std::vector<float>;

struct SequenceShape {
  std::int64_t queries = 0, keys = 0, offset = 0;
  std::uint64_t index = 0;  // index in the global batch; selects the dropout mask
  std::int64_t mask_row = 0;
};

class AttentionCase {
 public:
  kernels::Attention options;  // sizes and options; problem() sets the pointers
  std::vector<SequenceShape> shapes;
  Floats query, key, value, out_gradient, bias;
  std::vector<std::uint8_t> mask;
  Floats out, lse, query_gradient, key_gradient, value_gradient, bias_gradient;

  std::int64_t query_width() const { return options.heads * options.head_dim; }
  std::int64_t key_width() const { return options.kv_heads * options.head_dim; }
  std::int64_t value_width() const { return options.kv_heads * options.value_dim; }
  std::int64_t out_width() const { return options.heads * options.value_dim; }
  std::int64_t query_begin(std::size_t s) const { return begin(s, &SequenceShape::queries); }
  std::int64_t key_begin(std::size_t s) const { return begin(s, &SequenceShape::keys); }

  // Fill the inputs with normal random numbers.
  void fill(RandomStream& random, float spread = 1.0f) {
    const std::int64_t queries = query_begin(shapes.size()), keys = key_begin(shapes.size());
    const auto draw = [&](Floats& numbers, std::int64_t count) {
      numbers.resize(static_cast<std::size_t>(count));
      for (float& x : numbers) x = spread * static_cast<float>(random.next_normal());
    };
    draw(query, queries * query_width());
    draw(key, keys * key_width());
    draw(value, keys * value_width());
    draw(out_gradient, queries * out_width());
  }

  // Return the kernel's arguments, valid until the case is changed. Results are set to NaN, so that elements
  // that are not written are detected.
  kernels::Attention problem(bool with_bias_gradient) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    out.assign(out_gradient.size(), nan);
    lse.assign(static_cast<std::size_t>(query_begin(shapes.size()) * options.heads), nan);
    query_gradient.assign(query.size(), nan);
    key_gradient.assign(key.size(), nan);
    value_gradient.assign(value.size(), nan);
    bias_gradient.assign(bias.size(), 0.0f);
    sequences_.clear();
    for (std::size_t s = 0; s < shapes.size(); ++s) {
      kernels::AttentionSequence sequence;
      sequence.query_begin = query_begin(s), sequence.queries = shapes[s].queries;
      sequence.keys = shapes[s].keys, sequence.offset = shapes[s].offset;
      sequence.key = key.data() + key_begin(s) * key_width();
      sequence.value = value.data() + key_begin(s) * value_width();
      sequence.key_gradient = key_gradient.data() + key_begin(s) * key_width();
      sequence.value_gradient = value_gradient.data() + key_begin(s) * value_width();
      sequence.index = shapes[s].index, sequence.mask_row = shapes[s].mask_row;
      sequences_.push_back(sequence);
    }
    kernels::Attention result = options;
    result.mask = mask.empty() ? nullptr : mask.data();
    result.bias = bias.empty() ? nullptr : bias.data();
    result.bias_gradient = with_bias_gradient && !bias.empty() ? bias_gradient.data() : nullptr;
    result.sequences = sequences_;
    result.query = query.data(), result.query_stride = query_width();
    result.key_stride = key_width(), result.value_stride = value_width();
    result.out = out.data(), result.out_stride = out_width();
    result.lse = lse.data();
    result.out_gradient = out_gradient.data(), result.out_gradient_stride = out_width();
    result.query_gradient = query_gradient.data(), result.query_gradient_stride = query_width();
    result.key_gradient_stride = key_width(), result.value_gradient_stride = value_width();
    return result;
  }

 private:
  std::vector<kernels::AttentionSequence> sequences_;
  std::int64_t begin(std::size_t s, std::int64_t SequenceShape::*count) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < s; ++i) sum += shapes[i].*count;
    return sum;
  }
};

// One sequence of a case, converted to T, as arguments of the reference implementation.
template <class T>
struct PlainSequence {
  std::vector<T> query, key, value, out_gradient, bias;
  plain::Attention<T> problem;

  PlainSequence(const AttentionCase& from, std::size_t s) {
    const kernels::Attention& options = from.options;
    const SequenceShape& shape = from.shapes[s];
    const auto rows = [&](const Floats& all, std::int64_t begin, std::int64_t count, std::int64_t width) {
      return std::vector<T>(all.begin() + begin * width, all.begin() + (begin + count) * width);
    };
    query = rows(from.query, from.query_begin(s), shape.queries, from.query_width());
    key = rows(from.key, from.key_begin(s), shape.keys, from.key_width());
    value = rows(from.value, from.key_begin(s), shape.keys, from.value_width());
    out_gradient = rows(from.out_gradient, from.query_begin(s), shape.queries, from.out_width());
    bias.assign(from.bias.begin(), from.bias.end());
    problem.queries = shape.queries, problem.keys = shape.keys, problem.offset = shape.offset;
    problem.heads = options.heads, problem.kv_heads = options.kv_heads;
    problem.head_dim = options.head_dim, problem.value_dim = options.value_dim;
    problem.scale = static_cast<T>(options.scale), problem.softcap = static_cast<T>(options.softcap);
    problem.causal = options.causal, problem.window = options.window;
    problem.query = query.data(), problem.key = key.data(), problem.value = value.data();
    if (!from.mask.empty()) problem.mask = from.mask.data() + shape.mask_row * options.mask_sequence_stride;
    problem.mask_head_stride = options.mask_head_stride;
    problem.mask_query_stride = options.mask_query_stride;
    if (!bias.empty()) problem.bias = bias.data() + shape.mask_row * options.bias_sequence_stride;
    problem.bias_head_stride = options.bias_head_stride;
    problem.bias_query_stride = options.bias_query_stride;
    if (options.dropout > 0.0f) {
      const auto dropout = kernels::attention_dropout(options.dropout_key, options.dropout);
      problem.dropout_factor = [dropout, shape](std::int64_t head, std::int64_t row, std::int64_t column) {
        return static_cast<T>(
            kernels::dropout_factor(dropout, shape.index, row + shape.offset, head, column));
      };
    }
  }
  PlainSequence(const PlainSequence&) = delete;
};

}  // namespace regard::testing
