// A convolution is a matrix product of windows [output frames, kernel · channels] with the weight. The
// windows overlap in memory: each begins stride · channels elements after the previous one. The product reads
// them without a copy, except that padding or groups require one copy of the frames.
#include "ops/convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm.h"
#include "kernels/partition.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

using kernels::Gemm;

struct ConvolutionSizes {
  std::int64_t in, out, groups, kernel;
  std::int64_t in_group() const { return in / groups; }
  std::int64_t out_group() const { return out / groups; }
  std::int64_t taps() const { return kernel * in_group(); }  // number of weights of one output feature
};

ConvolutionSizes checked_sizes(Var x, Var weight, Var bias, std::span<const std::int32_t> offsets,
                               const ConvolutionOptions& options) {
  require_matrix("convolution", "x", x);
  require_contiguous("convolution", "x", x);
  require_contiguous("convolution", "weight", weight);
  const Shape& shape = weight->value.shape();
  const FrameWindow& window = options.window;
  if (window.kernel < 1 || window.stride < 1 || window.padding < 0 || window.padding_end < 0)
    throw usage_error("convolution: the kernel, stride or padding is out of range")
        .found("kernel " + std::to_string(window.kernel) + ", stride " + std::to_string(window.stride) +
               ", padding " + std::to_string(window.padding) + " and " + std::to_string(window.padding_end))
        .expected("kernel and stride at least 1, padding at least 0");
  const ConvolutionSizes sizes{x->value.columns(), shape[0], options.groups, window.kernel};
  if (sizes.groups < 1 || sizes.in % sizes.groups != 0 || sizes.out % sizes.groups != 0)
    throw usage_error("convolution: the groups do not divide the channels")
        .found(std::to_string(sizes.groups) + " groups, " + std::to_string(sizes.in) + " input and " +
               std::to_string(sizes.out) + " output channels")
        .expected("a common divisor of both numbers of channels");
  if (weight->value.elements() != sizes.out * sizes.taps())
    throw shape_error("convolution", "the weight has a wrong shape", {{"x", x}, {"weight", weight}})
        .expected(std::to_string(sizes.out * sizes.taps()) + " elements, [out, in / groups, kernel]");
  require_vector("convolution", "bias", bias, sizes.out);
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != x->value.rows() ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw shape_error("convolution", "the offsets do not match the frames of x", {{"x", x}})
        .expected("ascending offsets from 0 to " + std::to_string(x->value.rows()));
  return sizes;
}

// Reorder [out, in / groups, kernel] to [out, kernel, in / groups], the order of a window's elements.
void to_window_order(ThreadPool& pool, const ConvolutionSizes& sizes, const float* weight, float* to) {
  const std::int64_t channels = sizes.in_group();
  kernels::for_rows(pool, sizes.out, sizes.taps(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o)
      for (std::int64_t k = 0; k < sizes.kernel; ++k)
        for (std::int64_t c = 0; c < channels; ++c)
          to[(o * sizes.kernel + k) * channels + c] = weight[(o * channels + c) * sizes.kernel + k];
  });
}

void add_from_window_order(ThreadPool& pool, const ConvolutionSizes& sizes, const float* from,
                           float* weight) {
  const std::int64_t channels = sizes.in_group();
  kernels::for_rows(pool, sizes.out, sizes.taps(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o)
      for (std::int64_t k = 0; k < sizes.kernel; ++k)
        for (std::int64_t c = 0; c < channels; ++c)
          weight[(o * channels + c) * sizes.kernel + k] += from[(o * sizes.kernel + k) * channels + c];
  });
}

// The frames of one sequence in the layout that the matrix product with the weight reads.
struct Frames {
  const float* data;          // [groups, frames, in / groups]
  std::int64_t group_stride;  // distance between groups, in elements
};

// Copy `frames` rows of x to [groups, padding + frames + padding_end, in / groups].
Frames padded_copy(Tape& tape, const ConvolutionSizes& sizes, const FrameWindow& window, const float* x,
                   std::int64_t frames) {
  const std::int64_t all = window.padding + frames + window.padding_end, channels = sizes.in_group();
  const Tensor copy = tape.arena().tensor({sizes.groups, all, channels});
  float* const to = copy.f32();
  const auto row_bytes = static_cast<std::size_t>(channels) * sizeof(float);
  kernels::for_rows(tape.pool(), all, sizes.in, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t)
      for (std::int64_t g = 0; g < sizes.groups; ++g) {
        float* row = to + (g * all + t) * channels;
        const std::int64_t frame = t - window.padding;
        if (frame < 0 || frame >= frames)
          std::fill_n(row, channels, 0.0f);
        else
          std::memcpy(row, x + frame * sizes.in + g * channels, row_bytes);
      }
  });
  return {to, all * channels};
}

struct ConvolutionNode : Tape::Node {
  Var x, weight, bias;
  ConvolutionSizes sizes;
  FrameWindow window;
  std::span<const std::int32_t> offsets, out_offsets;
  std::span<const Frames> frames;  // [sequences]
  const float* ordered;            // weight reordered to [out, kernel, in / groups]
  static void backward(ConvolutionNode& node, Tape& tape);
  void weight_gradient(Tape& tape, const float* dy, float* gradient) const;
  void input_gradient(Tape& tape, const float* dy, const Tape::Gradient& dx) const;
};

}  // namespace

std::span<const std::int32_t> convolved_offsets(Tape& tape, std::span<const std::int32_t> offsets,
                                                const FrameWindow& window) {
  const std::span<std::int32_t> to = tape.arena().array<std::int32_t>(offsets.size());
  to[0] = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    to[s + 1] = to[s] + static_cast<std::int32_t>(window.output_frames(offsets[s + 1] - offsets[s]));
  return to;
}

Var convolution(Tape& tape, Var x, Var weight, Var bias, std::span<const std::int32_t> offsets,
                const ConvolutionOptions& options) {
  const ConvolutionSizes sizes = checked_sizes(x, weight, bias, offsets, options);
  const FrameWindow& window = options.window;
  const std::span<const std::int32_t> out_offsets = convolved_offsets(tape, offsets, window);
  const bool wanted = tape.wanted({x, weight, bias});
  Var out = tape.make({out_offsets.back(), sizes.out}, wanted);
  float* const ordered = tape.arena().tensor({sizes.out, sizes.taps()}).f32();
  to_window_order(tape.pool(), sizes, weight->value.f32(), ordered);
  const bool copies = window.padding > 0 || window.padding_end > 0 || sizes.groups > 1;
  const std::span<Frames> frames = tape.arena().array<Frames>(offsets.size() - 1);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const Arena::Mark mark = tape.arena().mark();
    const float* first = x->value.row(offsets[s]);
    frames[s] =
        copies ? padded_copy(tape, sizes, window, first, offsets[s + 1] - offsets[s]) : Frames{first, 0};
    for (std::int64_t g = 0; g < sizes.groups; ++g) {
      Gemm product;
      product.m = out_offsets[s + 1] - out_offsets[s], product.n = sizes.out_group(),
      product.k = sizes.taps();
      product.a = frames[s].data + g * frames[s].group_stride, product.lda = window.stride * sizes.in_group();
      product.b = ordered + g * sizes.out_group() * sizes.taps(), product.ldb = sizes.taps();
      product.transpose_b = true;
      product.c = out->value.row(out_offsets[s]) + g * sizes.out_group(), product.ldc = sizes.out;
      if (bias != nullptr) product.epilogue.bias = bias->value.f32() + g * sizes.out_group();
      kernels::gemm(tape.pool(), product);
    }
    if (!wanted) tape.arena().rewind(mark);
  }
  if (wanted) {
    ConvolutionNode node{};
    node.x = x, node.weight = weight, node.bias = bias, node.out = out;
    node.sizes = sizes, node.window = window;
    node.offsets = tape.arena().copied(offsets), node.out_offsets = out_offsets, node.frames = frames,
    node.ordered = ordered;
    tape.record(node);
  }
  return out;
}

namespace {

// Add dW, the sum of dyᵀ · windows over the sequences in order, to `gradient`.
void ConvolutionNode::weight_gradient(Tape& tape, const float* dy, float* gradient) const {
  float* const ordered_gradient = tape.take(sizes.out * sizes.taps());
  std::fill_n(ordered_gradient, sizes.out * sizes.taps(), 0.0f);
  for (std::size_t s = 0; s < frames.size(); ++s)
    for (std::int64_t g = 0; g < sizes.groups; ++g) {
      Gemm product;
      product.m = sizes.out_group(), product.n = sizes.taps(),
      product.k = out_offsets[s + 1] - out_offsets[s];
      product.a = dy + out_offsets[s] * sizes.out + g * sizes.out_group(), product.lda = sizes.out;
      product.transpose_a = true;
      product.b = frames[s].data + g * frames[s].group_stride, product.ldb = window.stride * sizes.in_group();
      product.c = ordered_gradient + g * sizes.out_group() * sizes.taps(), product.ldc = sizes.taps();
      product.accumulate = true;
      kernels::gemm(tape.pool(), product);
    }
  add_from_window_order(tape.pool(), sizes, ordered_gradient, gradient);
  tape.recycle(ordered_gradient, sizes.out * sizes.taps());
}

// Compute the gradient of the windows, dy W. The gradient of a frame is the sum over all windows that contain
// the frame.
void ConvolutionNode::input_gradient(Tape& tape, const float* dy, const Tape::Gradient& dx) const {
  const std::int64_t channels = sizes.in_group(), taps = sizes.taps();
  for (std::size_t s = 0; s < frames.size(); ++s) {
    const std::int64_t count = out_offsets[s + 1] - out_offsets[s], length = offsets[s + 1] - offsets[s];
    float* const windows = tape.take(std::max<std::int64_t>(1, count * taps));
    for (std::int64_t g = 0; g < sizes.groups; ++g) {
      Gemm product;
      product.m = count, product.n = taps, product.k = sizes.out_group();
      product.a = dy + out_offsets[s] * sizes.out + g * sizes.out_group(), product.lda = sizes.out;
      product.b = ordered + g * sizes.out_group() * taps, product.ldb = taps;
      product.c = windows, product.ldc = taps;
      kernels::gemm(tape.pool(), product);
      kernels::for_rows(
          tape.pool(), length, channels * sizes.kernel, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t frame = begin; frame < end; ++frame) {
              float* to = dx.data + (offsets[s] + frame) * sizes.in + g * channels;
              if (!dx.accumulate) std::fill_n(to, channels, 0.0f);
              for (std::int64_t k = 0; k < sizes.kernel; ++k) {
                const std::int64_t start = frame + window.padding - k, t = start / window.stride;
                if (start < 0 || start % window.stride != 0 || t >= count) continue;
                const float* from = windows + t * taps + k * channels;
                for (std::int64_t c = 0; c < channels; ++c) to[c] += from[c];
              }
            }
          });
    }
    tape.recycle(windows, std::max<std::int64_t>(1, count * taps));
  }
}

void ConvolutionNode::backward(ConvolutionNode& node, Tape& tape) {
  const float* dy = node.out->gradient.f32();
  if (const Tape::Gradient dx = tape.gradient(node.x); dx.data != nullptr) node.input_gradient(tape, dy, dx);
  if (float* dw = tape.accumulated(node.weight)) node.weight_gradient(tape, dy, dw);
  if (float* db = tape.accumulated(node.bias))
    kernels::sum_rows(tape.pool(), dy, node.sizes.out, node.out->value.rows(), node.sizes.out, db);
}

}  // namespace
}  // namespace regard::ops
