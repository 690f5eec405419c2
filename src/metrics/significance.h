// Confidence intervals and tests of the difference between two systems, as sacreBLEU computes them: bootstrap
// resampling (Efron 1979; Koehn 2004, https://aclanthology.org/W04-3250) and approximate randomisation
// (Riezler and Maxwell 2005, https://aclanthology.org/W05-0908). Results and random numbers are the same as
// in sacreBLEU.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace regard::metrics {

// Returns the score of a sample of rows; the sample may contain an index several times. Rows 0 to n - 1 are
// the n lines of the first system; if two systems are compared, rows n to 2n - 1 are the lines of the second.
using Scorer = std::function<double(std::span<const std::uint32_t> rows)>;

// Return a scorer for a score that is computed from sums of statistics over rows, such as BLEU. statistics:
// [rows][values]. Sums are f32, as in sacreBLEU.
Scorer scorer_of_sums(std::vector<std::vector<float>> statistics,
                      std::function<double(std::span<const double> sums)> score);
// Return a scorer that computes the mean of `values`, one value per row.
Scorer scorer_of_mean(std::vector<double> values);

struct ResamplingOptions {
  // number of samples; 0 means the default: 1000 for the bootstrap, 10000 for randomisation
  std::int64_t samples = 0;
  std::uint32_t seed = 12345;
};

struct Interval {
  double mean = 0;              // mean of the resampled scores
  double half_width = 0;        // half the width of the 95 % confidence interval
  double lower = 0, upper = 0;  // ends of the confidence interval
};
// Return the confidence interval of a score. Samples whose score is NaN are left out; if no sample remains,
// the result is NaN. Throws usage if there are no lines or samples.
Interval bootstrap(std::size_t lines, const Scorer& score, const ResamplingOptions& options = {});

struct Comparison {
  double first = 0, second = 0;  // scores of the two systems
  // Two-sided p-value of the difference between the scores; NaN if the difference is not finite. Samples
  // whose difference is not finite are left out; if no sample remains, p is NaN.
  double p = 1;
};
// Result of paired bootstrap resampling, which draws samples of lines. Both systems are scored on the same
// samples.
struct BootstrapComparison : Comparison {
  Interval first_interval, second_interval;
};
BootstrapComparison paired_bootstrap(std::size_t lines, const Scorer& score,
                                     const ResamplingOptions& options = {});
// Test by approximate randomisation: in each sample, each line's outputs are exchanged between the systems
// with probability 1/2.
Comparison approximate_randomization(std::size_t lines, const Scorer& score,
                                     const ResamplingOptions& options = {});

}  // namespace regard::metrics
