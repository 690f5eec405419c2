// Correlation of two lists of numbers, as scipy.stats computes it.
#pragma once

#include <span>

namespace regard::metrics {

// Return Pearson's linear correlation, or Spearman's (1904): Pearson's correlation of the ranks, with the
// mean rank for tied values. The result is NaN if there are fewer than two values, if one list is constant,
// or if a value is NaN. Throws usage if the lengths differ.
double pearson(std::span<const double> x, std::span<const double> y);
double spearman(std::span<const double> x, std::span<const double> y);

}  // namespace regard::metrics
