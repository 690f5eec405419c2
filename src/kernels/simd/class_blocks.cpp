#include "kernels/class_blocks_table.h"
#include "kernels/simd/math.h"
#include "kernels/simd/reduce.h"

namespace regard::kernels::REGARD_ISA {
namespace {

std::int64_t block_columns(const BlockedLogits& problem, std::int64_t block) {
  const std::int64_t left = problem.classes - block * kClassBlock;
  return left < kClassBlock ? left : kClassBlock;
}

// Return the value to subtract before exp: the maximum, or 0 if all logits are −∞, so that exp(x − shift) is
// 0 and not NaN.
HWY_INLINE FloatVector shift_of(FloatVector maximum) {
  return hn::IfThenZeroElse(hn::Eq(maximum, hn::Neg(hn::Inf(Floats()))), maximum);
}

template <bool kKeep, bool kGap>
void summarise_rows(const BlockedLogits& problem, const LogitsTile& tile) {
  const Floats d;
  const std::int64_t first = tile.block * kClassBlock, columns = block_columns(problem, tile.block);
  float* x = tile.logits;
  for (std::int64_t row = tile.begin; row < tile.end; ++row, x += tile.stride) {
    const std::int64_t target = problem.targets[row] - first;
    if (target >= 0 && target < columns) problem.target_logit[row] = x[target];
    RowMaximum largest;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      largest.add(which, or_lowest(load_first(d, x + i, count), count));
    });
    const FloatVector maximum = largest.total(), shift = shift_of(maximum);
    RowSum sum, gap;
    for_vectors(columns, [&](std::int64_t i, std::int64_t count, int which) {
      const FloatVector distance = hn::Sub(load_first(d, x + i, count), shift);
      const FloatVector power = exp_of_difference(d, distance);
      sum.add(which, or_zero(power, count));
      if constexpr (kGap) gap.add(which, or_zero(hn::Neg(distance), count));
      if constexpr (kKeep) store_first(power, d, x + i, count);
    });
    const std::int64_t place = tile.block * problem.rows + row;
    problem.maximum[place] = first_lane(maximum);
    problem.sum[place] = first_lane(sum.total());
    if constexpr (kGap) problem.gap[place] = first_lane(gap.total());
  }
}

void summarise(const BlockedLogits& problem, const LogitsTile& tile) {
  const bool smoothed = problem.label_smoothing != 0.0f;
  if (problem.gradient != nullptr)
    smoothed ? summarise_rows<true, true>(problem, tile) : summarise_rows<true, false>(problem, tile);
  else
    smoothed ? summarise_rows<false, true>(problem, tile) : summarise_rows<false, false>(problem, tile);
}

// Combine the maximum and the sum of each block into the log-sum-exp of `count` rows, one row per lane.
FloatVector join(const BlockedLogits& problem, std::int64_t row, std::int64_t count) {
  const Floats d;
  const std::int64_t end = class_blocks(problem.classes) * problem.rows;
  FloatVector maximum = hn::Neg(hn::Inf(d)), sum = hn::Zero(d);
  for (std::int64_t at = 0; at < end; at += problem.rows)
    maximum = hn::Max(maximum, load_first(d, problem.maximum + at + row, count));
  const FloatVector shift = shift_of(maximum);
  for (std::int64_t at = 0; at < end; at += problem.rows) {
    const FloatVector factor =
        exp_flushed(d, hn::Sub(load_first(d, problem.maximum + at + row, count), shift));
    sum = hn::MulAdd(load_first(d, problem.sum + at + row, count), factor, sum);
  }
  return hn::Add(shift, log(d, sum));
}

// Return the mean of lse − x over the classes. The sum of x would lose precision if logits are large.
FloatVector mean_distance(const BlockedLogits& problem, std::int64_t row, std::int64_t count,
                          FloatVector lse) {
  const Floats d;
  FloatVector sum = hn::Zero(d);
  for (std::int64_t block = 0; block < class_blocks(problem.classes); ++block) {
    const std::int64_t at = block * problem.rows + row;
    const FloatVector base = shift_of(load_first(d, problem.maximum + at, count));
    const FloatVector columns = hn::Set(d, static_cast<float>(block_columns(problem, block)));
    sum = hn::Add(sum, hn::MulAdd(columns, hn::Sub(lse, base), load_first(d, problem.gap + at, count)));
  }
  return hn::Div(sum, hn::Set(d, static_cast<float>(problem.classes)));
}

void finish_losses(const BlockedLogits& problem, std::int64_t row, std::int64_t count) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const FloatVector lse = join(problem, row, count);
  const auto ignored = hn::RebindMask(
      d, hn::Eq(load_first(integers, problem.targets + row, count), hn::Set(integers, problem.ignore_index)));
  FloatVector loss = hn::Sub(lse, load_first(d, problem.target_logit + row, count));
  if (problem.label_smoothing != 0.0f) {
    const FloatVector mean = mean_distance(problem, row, count, lse);
    loss = hn::MulAdd(hn::Set(d, 1.0f - problem.label_smoothing), loss,
                      hn::Mul(hn::Set(d, problem.label_smoothing), mean));
  }
  store_first(hn::IfThenZeroElse(ignored, loss), d, problem.loss + row, count);
  if (problem.gradient == nullptr) return;
  for (std::int64_t block = 0; block < class_blocks(problem.classes); ++block) {
    float* maximum = problem.maximum + block * problem.rows + row;
    const FloatVector share = exp_flushed(d, hn::Sub(load_first(d, maximum, count), lse));
    store_first(hn::Mul(share, hn::Set(d, problem.factor)), d, maximum, count);
  }
}

// Replace exp(x − m), where m is the maximum logit of the block, with the gradient: factor · (softmax −
// smoothed one-hot).
void finish_gradient(const BlockedLogits& problem, std::int64_t row) {
  const Floats d;
  float* x = problem.gradient + row * problem.classes;
  const std::int32_t target = problem.targets[row];
  const bool ignored = target == problem.ignore_index;
  const FloatVector uniform =
      hn::Set(d, problem.factor * (problem.label_smoothing / static_cast<float>(problem.classes)));
  for (std::int64_t block = 0; block < class_blocks(problem.classes); ++block) {
    const FloatVector share = hn::Set(d, problem.maximum[block * problem.rows + row]);
    float* at = x + block * kClassBlock;
    for_vectors(block_columns(problem, block), [&](std::int64_t i, std::int64_t count, int) {
      const FloatVector gradient = hn::MulSub(load_first(d, at + i, count), share, uniform);
      store_first(ignored ? hn::Zero(d) : gradient, d, at + i, count);
    });
  }
  if (!ignored) x[target] -= problem.factor * (1.0f - problem.label_smoothing);
}

void finish(const BlockedLogits& problem, std::int64_t begin, std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  for (std::int64_t row = begin; row < end; row += lanes) finish_losses(problem, row, end - row);
  if (problem.gradient == nullptr) return;
  for (std::int64_t row = begin; row < end; ++row) finish_gradient(problem, row);
}

}  // namespace

extern const ClassBlocksTable class_blocks_table;
constinit const ClassBlocksTable class_blocks_table{summarise, finish};

}  // namespace regard::kernels::REGARD_ISA
