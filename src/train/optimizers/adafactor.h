// Adafactor (Shazeer and Stern 2018, https://arxiv.org/abs/1804.04235): for a matrix, the second moment is
// kept as one mean per row and one per column. State: "row" [rows] and "column" [columns] of each matrix, or
// "square" of a vector; with a first moment also "first". Sums are in double, in a fixed order.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

// The common part of both variants. u = g · 1/√(estimate of g²); w −= rate · u, where the root mean square
// of the update is limited.
class FactoredOptimizer : public Optimizer {
 protected:
  // A weight as a sequence of matrices [rows, columns]; a vector is one row.
  struct Layout {
    std::int64_t matrices, rows, columns;
    bool factored;
  };
  FactoredOptimizer(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                    std::span<const double> rate_factors);
  static Layout layout_of(const Slot& slot);

  // Move the state towards the means of the squared gradient: state += share · (mean + epsilon − state).
  void update_means(ThreadPool& pool, Slot& slot, const Step& step, double share, double epsilon);
  // Return the mean of a matrix's row state.
  static double mean_of_rows(const Slot& slot, const Layout& layout, std::int64_t matrix);

  // Return the root mean square of the update u. Element (row, column) of u is g · row_factor_ ·
  // column_factor_, or with a floor g / √max(row_factor_ · column_factor_, floor).
  double root_mean_square(ThreadPool& pool, const Slot& slot, double gradient_scale, float floor);
  // Set w = keep · w − size · u. With a first moment, w changes by the moving average of the update instead.
  struct Change {
    double keep, size, gradient_scale;
    float floor;   // 0 if there is none
    float* first;  // null if there is no first moment
    double first_moment;
  };
  void apply(ThreadPool& pool, const Slot& slot, const Change& change);

  std::vector<float> row_factor_, column_factor_;  // buffers, as large as the largest weight needs
  std::vector<double> partial_;                    // per row
};

// transformers.Adafactor.
class Adafactor : public FactoredOptimizer {
 public:
  Adafactor(std::span<Parameter* const> parameters, const OptimizerOptions& options,
            std::span<const double> rate_factors = {});

  double rate(double scheduled) const override;

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

// torch.optim.Adafactor: the learning rate is at most 1 / √step and always multiplied by the root mean square
// of the weight; epsilon is a floor of the second moment.
class AdafactorTorch : public FactoredOptimizer {
 public:
  AdafactorTorch(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                 std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
