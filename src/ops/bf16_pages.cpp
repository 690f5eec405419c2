#include "ops/bf16_pages.h"

#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/bf16_paged_attention.h"
#include "kernels/bf16_pages.h"
#include "ops/attention_probe.h"

namespace regard::ops {
namespace {

using kernels::AttentionSequence;
using kernels::kBf16PageRows;

kernels::Bf16PageShape page_shape(const kernels::Attention& problem) {
  return {problem.kv_heads, problem.head_dim, problem.value_dim};
}

// Return the queries rounded to bf16, as f32 with the same strides.
const float* rounded_queries(Tape& tape, const kernels::Attention& problem) {
  std::int64_t rows = 0;
  for (const AttentionSequence& sequence : problem.sequences)
    rows = std::max(rows, sequence.query_begin + sequence.queries);
  const std::int64_t width = problem.heads * problem.head_dim;
  float* query = tape.arena().tensor({rows, problem.query_stride}).f32();
  std::uint16_t* bits = tape.arena().array<std::uint16_t>(static_cast<std::size_t>(width)).data();
  for (std::int64_t row = 0; row < rows; ++row) {
    kernels::round_to_bf16(tape.pool(), problem.query + row * problem.query_stride, bits, width);
    kernels::widen_bf16(tape.pool(), bits, query + row * problem.query_stride, width);
  }
  return query;
}

// Report attention weights to the probe. The kernels for probes read f32, so keys and values are widened.
void probe(Tape& tape, const kernels::Attention& problem, std::string_view point) {
  const kernels::Bf16PageShape shape = page_shape(problem);
  kernels::Attention wide = problem;
  wide.query = rounded_queries(tape, problem);
  wide.key_stride = shape.heads * shape.head_dim, wide.value_stride = shape.heads * shape.value_dim;
  const std::span<AttentionSequence> sequences =
      tape.arena().array<AttentionSequence>(problem.sequences.size());
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    AttentionSequence& sequence = sequences[s] = problem.sequences[s];
    float* key = tape.arena().tensor({sequence.keys, wide.key_stride}).f32();
    float* value = tape.arena().tensor({sequence.keys, wide.value_stride}).f32();
    kernels::read_bf16_pages(shape, sequence.pages, sequence.keys, key, value);
    sequence.key = key, sequence.value = value, sequence.pages = {};
  }
  wide.sequences = sequences;
  probe_weights(tape, wide, point);
}

}  // namespace

void copy_to_bf16_pages(Tape& tape, const kernels::Attention& problem,
                        std::span<AttentionSequence> sequences) {
  struct Copy {
    const AttentionSequence* sequence;
    float* page;
    std::int64_t first;  // index of the page's first row in the sequence
  };
  const kernels::Bf16PageShape shape = page_shape(problem);
  const std::int64_t page_floats = shape.key_floats() + shape.value_floats();
  std::int64_t count = 0;
  for (const AttentionSequence& sequence : sequences)
    count += (sequence.keys + kBf16PageRows - 1) / kBf16PageRows;
  const std::span<Copy> copies = tape.arena().array<Copy>(static_cast<std::size_t>(count));
  const std::span<const float*> at = tape.arena().array<const float*>(static_cast<std::size_t>(count));
  float* pages = tape.arena().tensor({count, page_floats}).f32();
  std::size_t next = 0;
  for (AttentionSequence& sequence : sequences) {
    sequence.pages = {at.data() + next, kBf16PageRows, 0, shape.key_floats(), true};
    for (std::int64_t first = 0; first < sequence.keys; first += kBf16PageRows, ++next) {
      float* page = pages + static_cast<std::int64_t>(next) * page_floats;
      at[next] = page;
      copies[next] = {&sequence, page, first};
    }
  }
  tape.pool().parallel_for(count, [&](std::int64_t index, int) {
    const Copy& copy = copies[static_cast<std::size_t>(index)];
    const AttentionSequence& sequence = *copy.sequence;
    kernels::write_bf16_page(
        shape, copy.page, copy.page + shape.key_floats(), 0,
        {sequence.key + copy.first * problem.key_stride, sequence.value + copy.first * problem.value_stride,
         problem.key_stride, problem.value_stride, std::min(kBf16PageRows, sequence.keys - copy.first)});
  });
}

void bf16_attention(Tape& tape, const kernels::Attention& problem, bool probed, std::string_view point) {
  kernels::bf16_paged_attention(tape.pool(), problem);
  if (probed) probe(tape, problem, point);
}

}  // namespace regard::ops
