#include "data/weighted_sources.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace regard::data {

std::vector<WeightedSource> weighted_sources(std::span<const std::size_t> ends,
                                             std::span<const double> weights) {
  std::vector<WeightedSource> sources;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t last = sources.empty() ? 0 : sources.back().end;
    sources.push_back({i < ends.size() ? ends[i] : last, weights[i]});
  }
  return sources;
}

std::vector<WeightedSource> weighted_sources(std::size_t examples,
                                             const std::function<std::size_t(std::size_t)>& source_of,
                                             std::span<const double> weights) {
  return weighted_sources(SourceCounter(examples, source_of).ends(), weights);
}

double examples_per_epoch(std::span<const WeightedSource> sources) {
  double sum = 0;
  std::size_t begin = 0;
  for (const WeightedSource& source : sources) {
    sum += static_cast<double>(source.end - begin) * source.weight;
    begin = source.end;
  }
  return sum;
}

Copies::Copies(std::span<const WeightedSource> sources, std::uint64_t seed, std::uint64_t epoch)
    : sources_(sources), key_(fold({seed, epoch, place_of("data.weights")})) {}

std::size_t Copies::of(std::size_t example) const {
  if (sources_.empty()) return 1;
  const auto source = std::upper_bound(sources_.begin(), sources_.end(), example,
                                       [](std::size_t index, const auto& s) { return index < s.end; });
  if (source == sources_.end()) return 1;
  const double whole = std::floor(source->weight), part = source->weight - whole;
  const Counter drawn = philox(
      {static_cast<std::uint32_t>(example), static_cast<std::uint32_t>(std::uint64_t{example} >> 32), 0, 0},
      key_[0], key_[1]);
  return static_cast<std::size_t>(whole) + (static_cast<double>(drawn[0]) < part * 0x1.0p32 ? 1 : 0);
}

SourceCounter::SourceCounter(std::size_t examples, const std::function<std::size_t(std::size_t)>& source_of) {
  for (std::size_t i = 0; i < examples; ++i) set(source_of(i), i + 1);
}

void SourceCounter::set(std::size_t source, std::size_t examples) {
  // A source without examples ends at the same index as the previous source.
  if (ends_.size() <= source) ends_.resize(source + 1, ends_.empty() ? 0 : ends_.back());
  ends_[source] = examples;
}

}  // namespace regard::data
