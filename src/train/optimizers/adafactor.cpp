#include "train/optimizers/adafactor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise_table.h"
#include "kernels/partition.h"

namespace regard::train {
namespace {

constexpr std::int64_t kColumnsPerTask = 64;

double weight_rms(ThreadPool& pool, const float* weight, std::int64_t count) {
  return std::sqrt(kernels::sum_of_squares(pool, weight, count) / static_cast<double>(count));
}

// Return state + share · (target − state), computed in double and rounded to float.
float moved(float state, double target, double share) {
  return static_cast<float>(static_cast<double>(state) + share * (target - static_cast<double>(state)));
}

// Return the update u of one element; see FactoredOptimizer::root_mean_square().
template <bool kFloor>
float update_of(float gradient, float row, float column, float floor) {
  if constexpr (kFloor) return gradient / std::sqrt(std::max(row * column, floor));
  return gradient * (row * column);
}

template <bool kFloor>
double squared_updates(const float* gradient, float row, const float* column, std::int64_t columns,
                       float floor) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const auto u = static_cast<double>(update_of<kFloor>(gradient[j], row, column[j], floor));
    sum += u * u;
  }
  return sum;
}

}  // namespace

FactoredOptimizer::Layout FactoredOptimizer::layout_of(const Slot& slot) {
  const Shape& shape = slot.shape();
  if (shape.rank() < 2) return {1, 1, slot.elements(), false};
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  return {slot.elements() / (rows * columns), rows, columns, true};
}

FactoredOptimizer::FactoredOptimizer(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                                     std::span<const double> rate_factors)
    : Optimizer(parameters, options, rate_factors) {
  std::int64_t rows = 0, columns = 0;
  for (Slot& slot : slots()) {
    const Layout layout = layout_of(slot);
    rows = std::max(rows, layout.matrices * layout.rows);
    columns = std::max(columns, layout.matrices * layout.columns);
    if (layout.factored) {
      slot.add_state("row", {layout.matrices * layout.rows});
      slot.add_state("column", {layout.matrices * layout.columns});
    } else {
      slot.add_state("square", slot.shape());
    }
  }
  row_factor_.resize(static_cast<std::size_t>(rows));
  partial_.resize(static_cast<std::size_t>(rows));
  column_factor_.resize(static_cast<std::size_t>(columns));
}

void FactoredOptimizer::update_means(ThreadPool& pool, Slot& slot, const Step& step, double share,
                                     double epsilon) {
  const Layout layout = layout_of(slot);
  const float* gradient = slot.gradient();
  const double scale = step.gradient_scale * step.gradient_scale;
  if (!layout.factored) {
    float* square = slot.of(0);
    kernels::for_elements(pool, layout.columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto g = static_cast<double>(gradient[i]);
        square[i] = moved(square[i], scale * g * g + epsilon, share);
      }
    });
    return;
  }
  float* row = slot.of(0);
  kernels::for_rows(
      pool, layout.matrices * layout.rows, layout.columns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const double sum =
              kernels::elementwise().sum_of_squares(gradient + i * layout.columns, layout.columns);
          row[i] = moved(row[i], scale * sum / static_cast<double>(layout.columns) + epsilon, share);
        }
      });
  float* column = slot.of(1);
  const std::int64_t tasks = (layout.columns + kColumnsPerTask - 1) / kColumnsPerTask;
  pool.parallel_for(layout.matrices * tasks, [&](std::int64_t task, int) {
    const std::int64_t matrix = task / tasks, first = task % tasks * kColumnsPerTask;
    const std::int64_t count = std::min(kColumnsPerTask, layout.columns - first);
    double sum[kColumnsPerTask] = {};
    for (std::int64_t i = 0; i < layout.rows; ++i) {
      const float* from = gradient + (matrix * layout.rows + i) * layout.columns + first;
      for (std::int64_t j = 0; j < count; ++j)
        sum[j] += static_cast<double>(from[j]) * static_cast<double>(from[j]);
    }
    float* to = column + matrix * layout.columns + first;
    for (std::int64_t j = 0; j < count; ++j)
      to[j] = moved(to[j], scale * sum[j] / static_cast<double>(layout.rows) + epsilon, share);
  });
}

double FactoredOptimizer::mean_of_rows(const Slot& slot, const Layout& layout, std::int64_t matrix) {
  const float* row = slot.of(0) + matrix * layout.rows;
  double sum = 0.0;
  for (std::int64_t i = 0; i < layout.rows; ++i) sum += static_cast<double>(row[i]);
  return sum / static_cast<double>(layout.rows);
}

double FactoredOptimizer::root_mean_square(ThreadPool& pool, const Slot& slot, double gradient_scale,
                                           float floor) {
  const Layout layout = layout_of(slot);
  const std::int64_t rows = layout.matrices * layout.rows;
  kernels::for_rows(pool, rows, layout.columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* gradient = slot.gradient() + i * layout.columns;
      const float* column = column_factor_.data() + i / layout.rows * layout.columns;
      const float row = row_factor_[static_cast<std::size_t>(i)];
      partial_[static_cast<std::size_t>(i)] =
          floor > 0.0f ? squared_updates<true>(gradient, row, column, layout.columns, floor)
                       : squared_updates<false>(gradient, row, column, layout.columns, floor);
    }
  });
  double sum = 0.0;
  for (std::int64_t i = 0; i < rows; ++i) sum += partial_[static_cast<std::size_t>(i)];
  return gradient_scale * std::sqrt(sum / static_cast<double>(slot.elements()));
}

void FactoredOptimizer::apply(ThreadPool& pool, const Slot& slot, const Change& change) {
  const Layout layout = layout_of(slot);
  const auto keep = static_cast<float>(change.keep);
  const auto size = static_cast<float>(change.size * change.gradient_scale);
  const auto beta = static_cast<float>(change.first_moment);
  const auto rest = static_cast<float>(1.0 - change.first_moment);
  kernels::for_rows(
      pool, layout.matrices * layout.rows, layout.columns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t at = i * layout.columns;
          const float* gradient = slot.gradient() + at;
          const float* column = column_factor_.data() + i / layout.rows * layout.columns;
          const float row = row_factor_[static_cast<std::size_t>(i)];
          float* weight = slot.weight() + at;
          for (std::int64_t j = 0; j < layout.columns; ++j) {
            const float u = change.floor > 0.0f ? update_of<true>(gradient[j], row, column[j], change.floor)
                                                : update_of<false>(gradient[j], row, column[j], 0.0f);
            float update = size * u;
            if (change.first != nullptr)
              update = change.first[at + j] = beta * change.first[at + j] + rest * update;
            weight[j] = keep * weight[j] - update;
          }
        }
      });
}

Adafactor::Adafactor(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                     std::span<const double> rate_factors)
    : FactoredOptimizer(parameters, options, rate_factors) {
  if (options.adafactor.first_moment == 0.0) return;
  for (Slot& slot : slots()) slot.add_state("first", slot.shape());
}

double Adafactor::rate(double scheduled) const {
  const AdafactorOptions& how = options().adafactor;
  if (!how.relative_step) return scheduled;
  const auto t = static_cast<double>(steps() + 1);
  return std::min(how.warmup_init ? 1e-6 * t : 1e-2, 1.0 / std::sqrt(t));
}

void Adafactor::update(ThreadPool& pool, Slot& slot, const Step& step) {
  const AdafactorOptions& how = options().adafactor;
  const Layout layout = layout_of(slot);
  const auto t = static_cast<double>(step.number);
  double rate = step.learning_rate;
  if (how.scale_parameter)
    rate *= std::max(how.smallest_scale, weight_rms(pool, slot.weight(), slot.elements()));
  update_means(pool, slot, step, std::pow(t, -how.decay_exponent), how.epsilon);
  const auto inverse_root = [](double value) { return static_cast<float>(1.0 / std::sqrt(value)); };
  const float* column = slot.of(layout.factored ? 1 : 0);
  for (std::int64_t m = 0; m < layout.matrices; ++m) {
    const double mean = layout.factored ? mean_of_rows(slot, layout, m) : 1.0;
    for (std::int64_t i = m * layout.rows; i < (m + 1) * layout.rows; ++i)
      row_factor_[static_cast<std::size_t>(i)] =
          layout.factored ? inverse_root(static_cast<double>(slot.of(0)[i]) / mean) : 1.0f;
  }
  for (std::int64_t j = 0; j < layout.matrices * layout.columns; ++j)
    column_factor_[static_cast<std::size_t>(j)] = inverse_root(static_cast<double>(column[j]));
  const double rms = root_mean_square(pool, slot, step.gradient_scale, 0.0f);
  const bool has_first = how.first_moment != 0.0;
  apply(pool, slot,
        {.keep = 1.0 - slot.weight_decay * rate,
         .size = rate / std::max(1.0, rms / how.clip_threshold),
         .gradient_scale = step.gradient_scale,
         .floor = 0.0f,
         .first = has_first ? slot.of(slot.state.size() - 1) : nullptr,
         .first_moment = how.first_moment});
}

AdafactorTorch::AdafactorTorch(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                               std::span<const double> rate_factors)
    : FactoredOptimizer(parameters, options, rate_factors) {}

void AdafactorTorch::update(ThreadPool& pool, Slot& slot, const Step& step) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const AdafactorOptions& how = options().adafactor;
  const Layout layout = layout_of(slot);
  const auto t = static_cast<double>(step.number);
  const double scale = std::max(how.smallest_scale, weight_rms(pool, slot.weight(), slot.elements()));
  const double keep = 1.0 - step.learning_rate * slot.weight_decay;
  const double rate = scale * std::min(step.learning_rate, 1.0 / std::sqrt(t));
  update_means(pool, slot, step, std::pow(t, -how.decay_exponent), 0.0);
  const float* column = slot.of(layout.factored ? 1 : 0);
  for (std::int64_t m = 0; m < layout.matrices; ++m) {
    const double mean = layout.factored ? std::max(mean_of_rows(slot, layout, m), kEpsilon) : 1.0;
    for (std::int64_t i = m * layout.rows; i < (m + 1) * layout.rows; ++i)
      row_factor_[static_cast<std::size_t>(i)] =
          layout.factored ? static_cast<float>(static_cast<double>(slot.of(0)[i]) / mean) : 1.0f;
  }
  std::copy_n(column, layout.matrices * layout.columns, column_factor_.begin());
  constexpr auto kFloor = static_cast<float>(kEpsilon * kEpsilon);
  const double rms = root_mean_square(pool, slot, step.gradient_scale, kFloor);
  apply(pool, slot,
        {.keep = keep,
         .size = rate / std::max(1.0, rms / how.clip_threshold),
         .gradient_scale = step.gradient_scale,
         .floor = kFloor,
         .first = nullptr,
         .first_moment = 0.0});
}

}  // namespace regard::train
