// Adafactor (Shazeer and Stern 2018, https://arxiv.org/abs/1804.04235). The second moment of a matrix is
// stored as one mean per row and one mean per column. State: "row" [rows] and "column" [columns] for a
// matrix, "square" for a vector, and "first" if a first moment is used. Sums are computed in double, in a
// fixed order.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

// Base class of Adafactor and AdafactorTorch. Both compute u = g · 1/√(estimate of g²), limit the root mean
// square of u, and update the weight: w −= rate · u.
class FactoredOptimizer : public Optimizer {
 protected:
  // View of a weight as a sequence of matrices [rows, columns]. A vector is a matrix with one row.
  struct Layout {
    std::int64_t matrices, rows, columns;
    bool factored;
  };
  FactoredOptimizer(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                    std::span<const double> rate_factors);
  static Layout layout_of(const Slot& slot);

  // Update the means of the squared gradient: state += share · (mean + epsilon − state).
  void update_means(ThreadPool& pool, Slot& slot, const Step& step, double share, double epsilon);
  // Return the mean of the elements of the state "row" that belong to matrix `matrix`.
  static double mean_of_rows(const Slot& slot, const Layout& layout, std::int64_t matrix);

  // Return the root mean square of the update u. Element (row, column) of u is g · row_factor_ ·
  // column_factor_ or, with a floor, g / √max(row_factor_ · column_factor_, floor).
  double root_mean_square(ThreadPool& pool, const Slot& slot, double gradient_scale, float floor);
  // Arguments of the update w = keep · w − size · u. With a first moment, the moving average of u replaces u.
  struct Change {
    double keep, size, gradient_scale;
    float floor;   // lower bound of the second moment; 0 means none
    float* first;  // first moment; null if none is used
    double first_moment;
  };
  void apply(ThreadPool& pool, const Slot& slot, const Change& change);

  std::vector<float> row_factor_, column_factor_;  // one per row and one per column of the largest weight
  std::vector<double> partial_;                    // partial sums, one per row
};

// Adafactor as in transformers.Adafactor.
class Adafactor : public FactoredOptimizer {
 public:
  Adafactor(std::span<Parameter* const> parameters, const OptimizerOptions& options,
            std::span<const double> rate_factors = {});

  double rate(double scheduled) const override;

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

// Adafactor as in torch.optim.Adafactor. The learning rate is at most 1 / √step, and is always multiplied by
// the root mean square of the weight (at least smallest_scale). The lower bound of the second moment is ε²,
// where ε is the machine epsilon of float; AdafactorOptions::epsilon is not used.
class AdafactorTorch : public FactoredOptimizer {
 public:
  AdafactorTorch(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                 std::span<const double> rate_factors = {});

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;
};

}  // namespace regard::train
