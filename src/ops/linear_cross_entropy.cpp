#include <algorithm>

#include "base/counted.h"
#include "kernels/class_blocks.h"
#include "kernels/rows.h"
#include "ops/check.h"
#include "ops/cross_entropy.h"
#include "ops/product.h"

namespace regard::ops {
namespace {

constexpr std::int64_t kMostRows = 4096;  // maximum rows per chunk

// Return the rows per chunk if gradients are computed; the number depends on the shape, not on the machine. A
// chunk has about 4 MiB of logits, or 16 MiB with bf16, where access to the gradient of W takes a larger
// share of the time.
std::int64_t chunk_rows(std::int64_t classes, bool bf16) {
  const std::int64_t logits = bf16 ? 4 << 20 : 1 << 20;
  return std::clamp<std::int64_t>(logits / std::max<std::int64_t>(classes, 1) / 32 * 32, 32, kMostRows);
}

// In f32, W is packed for the gradient of `hidden` only if W has at most this many elements.
constexpr std::int64_t kMostPackedBack = 4 << 20;

// Rows per task, and number of floats in the task's tile of logits.
constexpr std::int64_t kTaskRows = 96, kTileFloats = kTaskRows * kernels::kClassBlock;

struct Gradients {
  float* hidden = nullptr;  // [rows, features]
  float* weight = nullptr;  // [classes, features]
  float* bias = nullptr;    // [classes]
};

// The forward pass computes the gradients of a chunk while its logits are in memory. The backward pass
// multiplies them by the gradient of the operation's result.
struct LinearCrossEntropyNode : Tape::Node {
  Var hidden, weight, bias;
  Gradients gradients;
  static void backward(LinearCrossEntropyNode& node, Tape& tape) {
    const float upstream = node.out->gradient.f32()[0];
    hand_on(tape, node.hidden, node.gradients.hidden, upstream);
    hand_on(tape, node.weight, node.gradients.weight, upstream);
    hand_on(tape, node.bias, node.gradients.bias, upstream);
  }
  static void hand_on(Tape& tape, Var to, float* gradient, float upstream) {
    if (gradient == nullptr) return;
    const std::int64_t count = to->value.elements();
    const Tape::Gradient target = tape.gradient(to);
    if (target.accumulate)
      kernels::axpy(tape.pool(), upstream, gradient, target.data, count);
    else
      kernels::scale(tape.pool(), gradient, upstream, target.data, count);
    tape.recycle(gradient, count);
  }
};

struct Problem {
  Var hidden, weight, bias;
  const kernels::PackedMatrix* packed;       // Wᵀ
  const kernels::PackedMatrix& packed_back;  // W packed for the gradient of `hidden`; empty if not used
  float* tiles;                              // [workers, kTileFloats]; null if gradients are computed
  // Wᵀ and W packed in bf16; used instead of packed and packed_back if set
  kernels::Bf16Matrix rounded = {}, rounded_back = {};
};

// Return the arguments of a product whose operand B is the weight. If `back` is true, operand A is the
// gradient of the logits, otherwise `hidden`.
kernels::Gemm weight_as_b(Var weight, bool back) {
  const std::int64_t classes = weight->value.rows(), features = weight->value.columns();
  kernels::Gemm product;
  product.b = weight->value.f32(), product.ldb = features, product.transpose_b = !back;
  product.k = back ? classes : features, product.n = back ? features : classes;
  return product;
}

// Pack the weight into the arena.
kernels::PackedMatrix pack_weight(Tape& tape, Var weight, bool back) {
  const kernels::Gemm product = weight_as_b(weight, back);
  return kernels::pack(tape.pool(), product,
                       tape.arena().tensor({kernels::packed_floats(product.k, product.n)}).f32());
}

kernels::Bf16Matrix round_weight(Tape& tape, Var weight, bool back) {
  const kernels::Gemm product = weight_as_b(weight, back);
  return kernels::pack_bf16(
      tape.pool(), product,
      tape.arena().allocate(static_cast<std::size_t>(kernels::bf16_packed_bytes(product.k, product.n))));
}

// Allocate the arrays of BlockedLogits for a chunk of `rows` rows in the arena.
kernels::BlockedLogits make_chunk(Arena& arena, const CrossEntropyOptions& options, std::int64_t rows,
                                  std::int64_t classes, bool gradient) {
  const std::int64_t statistics = kernels::class_blocks(classes) * rows;
  kernels::BlockedLogits chunk;
  chunk.classes = classes;
  if (gradient) chunk.gradient = arena.tensor({rows, classes}).f32();
  chunk.ignore_index = options.ignored;
  chunk.label_smoothing = options.label_smoothing;
  chunk.factor = options.factor;
  chunk.maximum = arena.tensor({statistics}).f32();
  chunk.sum = arena.tensor({statistics}).f32();
  chunk.gap = arena.tensor({statistics}).f32();
  chunk.target_logit = arena.tensor({rows}).f32();
  chunk.loss = arena.tensor({rows}).f32();
  return chunk;
}

// Compute a chunk's losses and, if chunk.gradient is set, the gradient of its logits. Each task computes the
// logits of one block of classes for up to kTaskRows rows; the statistics are computed while the logits are
// in cache.
void chunk_losses(ThreadPool& pool, const Problem& problem, std::int64_t begin,
                  const kernels::BlockedLogits& chunk) {
  const Tensor& hidden = problem.hidden->value;
  const std::int64_t blocks = kernels::class_blocks(chunk.classes);
  const std::int64_t row_tasks = (chunk.rows + kTaskRows - 1) / kTaskRows;
  pool.parallel_for(row_tasks * blocks, [&](std::int64_t task, int worker) {
    const std::int64_t block = task / row_tasks, row = task % row_tasks * kTaskRows;
    const std::int64_t first = block * kernels::kClassBlock, end = std::min(chunk.rows, row + kTaskRows);
    kernels::Gemm product;
    product.m = end - row, product.n = std::min(chunk.classes - first, kernels::kClassBlock);
    product.k = hidden.columns();
    product.a = hidden.row(begin + row), product.lda = hidden.row_stride();
    product.packed_column = first;
    // The logits are stored in chunk.gradient if it is set, otherwise in the worker's tile.
    kernels::LogitsTile tile{block, row, end, problem.tiles + worker * kTileFloats, kernels::kClassBlock};
    if (chunk.gradient != nullptr)
      tile.logits = chunk.gradient + row * chunk.classes + first, tile.stride = chunk.classes;
    product.c = tile.logits, product.ldc = tile.stride;
    product.epilogue.bias = problem.bias != nullptr ? problem.bias->value.f32() + first : nullptr;
    if (problem.rounded.data != nullptr) {
      kernels::gemm_bf16(pool, product, &problem.rounded);
    } else {
      product.packed = problem.packed;
      kernels::gemm(pool, product);
    }
    kernels::summarise_block(chunk, tile);
  });
  kernels::finish_blocks(pool, chunk);
}

// Compute a chunk's contribution to the gradients, where dW is the gradient of W (and so on):
//   dhidden = dlogits W;  dW += dlogitsᵀ hidden;  db += Σ dlogits
void chunk_gradients(Tape& tape, const Problem& problem, std::int64_t begin,
                     const kernels::BlockedLogits& chunk, const Gradients& gradients) {
  const Tensor& hidden = problem.hidden->value;
  const std::int64_t rows = chunk.rows, classes = chunk.classes, features = hidden.columns();
  const float* logits_gradient = chunk.gradient;
  if (gradients.hidden != nullptr) {
    kernels::Gemm product;
    product.m = rows, product.n = features, product.k = classes;
    product.a = logits_gradient, product.lda = classes;
    product.b = problem.weight->value.f32(), product.ldb = features;
    product.packed = problem.packed_back.empty() ? nullptr : &problem.packed_back;
    product.c = gradients.hidden + begin * features, product.ldc = features;
    if (problem.rounded_back.data != nullptr)
      kernels::gemm_bf16(tape.pool(), product, &problem.rounded_back);
    else
      ops::product(tape, product);
  }
  if (gradients.weight != nullptr) {
    kernels::Gemm product;
    product.m = classes, product.n = features, product.k = rows;
    product.a = logits_gradient, product.lda = classes, product.transpose_a = true;
    product.b = hidden.row(begin), product.ldb = hidden.row_stride();
    product.c = gradients.weight, product.ldc = features, product.accumulate = begin > 0;
    ops::product(tape, product);
  }
  if (gradients.bias != nullptr)
    kernels::sum_rows(tape.pool(), logits_gradient, classes, rows, classes, gradients.bias);
}

void check(Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels) {
  require_matrix("cross_entropy", "hidden", hidden);
  require_matrix("cross_entropy", "weight", weight);
  require_contiguous("cross_entropy", "weight", weight);
  if (hidden->value.columns() != weight->value.columns())
    throw shape_error("cross_entropy", "hidden and the weight differ in the number of features",
                      {{"hidden", hidden}, {"weight", weight}})
        .expected("equal numbers of columns");
  require_vector("cross_entropy", "bias", bias, weight->value.rows());
  if (static_cast<std::int64_t>(labels.size()) != hidden->value.rows())
    throw usage_error("cross_entropy: the number of labels differs from the number of rows")
        .found(counted(labels.size(), "label"))
        .expected(std::to_string(hidden->value.rows()) + " labels, one for each row of hidden");
}

Gradients make_gradients(Tape& tape, Var hidden, Var weight, Var bias) {
  const auto want = [](Var variable) { return variable != nullptr && variable->needs_gradient; };
  Gradients gradients;
  Arena& arena = tape.arena();
  const Shape shape = weight->value.shape();
  if (want(hidden)) gradients.hidden = arena.tensor({hidden->value.rows(), hidden->value.columns()}).f32();
  if (want(weight))
    gradients.weight = (hidden->value.rows() > 0 ? arena.tensor(shape) : arena.zeros(shape)).f32();
  if (want(bias)) gradients.bias = arena.zeros({shape[0]}).f32();
  return gradients;
}

}  // namespace

Var linear_cross_entropy(Tape& tape, Var hidden, Var weight, Var bias, std::span<const std::int32_t> labels,
                         const CrossEntropyOptions& options, const kernels::PackedMatrix* packed) {
  check(hidden, weight, bias, labels);
  const std::int64_t rows = hidden->value.rows(), classes = weight->value.rows();
  require_ids("cross_entropy labels", labels, classes, options.ignored);
  const bool wanted = tape.wanted({hidden, weight, bias});
  Var out = tape.make({1}, wanted);
  const Gradients gradients = wanted ? make_gradients(tape, hidden, weight, bias) : Gradients{};

  Arena& arena = tape.arena();
  const Arena::Mark mark = arena.mark();
  const bool given = !wanted && packed != nullptr && !packed->empty();
  const bool bf16 = !given && tape.options().precision == kernels::Precision::bf16;
  const bool pays_back = gradients.hidden != nullptr && weight->value.elements() <= kMostPackedBack;
  const kernels::PackedMatrix own =
      given || bf16 ? kernels::PackedMatrix{} : pack_weight(tape, weight, false);
  const kernels::PackedMatrix own_back =
      pays_back && !bf16 ? pack_weight(tape, weight, true) : kernels::PackedMatrix{};
  float* tiles = wanted ? nullptr : arena.tensor({tape.pool().size(), kTileFloats}).f32();
  Problem problem{hidden, weight, bias, given ? packed : &own, own_back, tiles};
  if (bf16) problem.rounded = round_weight(tape, weight, false);
  if (bf16 && gradients.hidden != nullptr) problem.rounded_back = round_weight(tape, weight, true);
  const std::int64_t step = std::min(wanted ? chunk_rows(classes, bf16) : kMostRows, rows);
  kernels::BlockedLogits chunk = make_chunk(arena, options, step, classes, wanted);
  double sum = 0.0;
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    chunk.rows = std::min(step, rows - begin);
    chunk.targets = labels.data() + begin;
    chunk_losses(tape.pool(), problem, begin, chunk);
    for (std::int64_t r = 0; r < chunk.rows; ++r) sum += static_cast<double>(chunk.loss[r]);
    if (wanted) chunk_gradients(tape, problem, begin, chunk, gradients);
  }
  arena.rewind(mark);
  out->value.f32()[0] = static_cast<float>(sum * static_cast<double>(options.factor));
  if (wanted) {
    LinearCrossEntropyNode node;
    node.hidden = hidden, node.weight = weight, node.bias = bias, node.out = out;
    node.gradients = gradients;
    tape.record(node);
  }
  return out;
}

}  // namespace regard::ops
