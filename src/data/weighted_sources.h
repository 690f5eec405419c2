// Sources of training examples. The weight of a source determines how often an epoch contains its examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace regard::data {

// The weight of a source is the number of times that an epoch contains each of its examples. With weight 2.3,
// every example occurs twice and, with probability 0.3 (drawn anew in each epoch), a third time.
struct WeightedSource {
  std::size_t end = 0;  // index after the last example of the source; the sources' examples are contiguous
  double weight = 1.0;
};

// Return one source per weight: source i ends at the index ends[i]. If there are more weights than `ends`,
// the remaining sources are empty.
std::vector<WeightedSource> weighted_sources(std::span<const std::size_t> ends,
                                             std::span<const double> weights);

// Return one source per weight, for `examples` examples. source_of(i) returns the index of the source of
// example i.
std::vector<WeightedSource> weighted_sources(std::size_t examples,
                                             const std::function<std::size_t(std::size_t)>& source_of,
                                             std::span<const double> weights);

// Return the mean number of examples in an epoch.
double examples_per_epoch(std::span<const WeightedSource> sources);

// Computes how many times each example occurs in an epoch.
class Copies {
 public:
  // If `sources` is empty, every example occurs once. `sources` must outlive the object.
  Copies(std::span<const WeightedSource> sources, std::uint64_t seed, std::uint64_t epoch);
  std::size_t of(std::size_t example) const;

 private:
  std::span<const WeightedSource> sources_;
  std::array<std::uint32_t, 2> key_;
};

// Counts the training examples of each source while they are read.
class SourceCounter {
 public:
  SourceCounter() = default;
  // Count `examples` examples in the order of their sources; source_of(i) returns the index of the source of
  // example i.
  SourceCounter(std::size_t examples, const std::function<std::size_t(std::size_t)>& source_of);

  // Record that `examples` examples have been read in total, and that the last one is from the source with
  // index `source`. Sources are read in order.
  void set(std::size_t source, std::size_t examples);
  // Return, for each source, the index after its last example.
  const std::vector<std::size_t>& ends() const { return ends_; }

 private:
  std::vector<std::size_t> ends_;
};

}  // namespace regard::data
