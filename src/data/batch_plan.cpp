#include "data/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "base/shuffle.h"
#include "regard/error.h"

namespace regard::data {
namespace {

constexpr std::size_t kMostPairs = std::size_t{1} << 32;  // indices of pairs have 32 bits

// Pairs are sorted by length within chunks of about this many batches. The chunks are large enough for
// batches of similar lengths, and small enough that batches differ from epoch to epoch.
constexpr std::int64_t kBatchesSortedTogether = 64;

// Number of blocks that form a window. A block consists of consecutive items.
constexpr std::size_t kBlocksOfAWindow = 256;

// Divide `count` items into blocks, shuffle the blocks, and return the blocks [begin, end) of each window.
// If `windows` is 1, return one window of one block.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> shuffled_windows(std::size_t count,
                                                                               std::size_t windows,
                                                                               RandomStream& random) {
  if (windows <= 1) return {{{0, count}}};
  const std::size_t size = std::max<std::size_t>(1, count / (windows * kBlocksOfAWindow));
  std::vector<std::size_t> blocks((count + size - 1) / size);
  std::iota(blocks.begin(), blocks.end(), std::size_t{0});
  shuffle(blocks, random);
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % kBlocksOfAWindow == 0) result.emplace_back();
    result.back().emplace_back(blocks[i] * size, std::min(count, (blocks[i] + 1) * size));
  }
  return result;
}

std::size_t windows_of(std::size_t tokens, std::int64_t window_tokens) {
  return tokens / static_cast<std::size_t>(window_tokens) + 1;
}

}  // namespace

void EpochPlan::make(const PairStore& pairs, const Options& options, std::uint64_t epoch) {
  if (pairs.size() > kMostPairs)
    throw usage_error("the training data has too many pairs")
        .found(std::to_string(pairs.size()))
        .expected("at most " + std::to_string(kMostPairs))
        .remedy("Divide the data, and train on the parts one after the other");
  RandomStream random({options.seed, epoch, place_of("data.order")});
  order_.clear();
  offsets_.assign(1, 0);
  const Copies copies(options.sources, options.seed, epoch);
  std::vector<std::uint32_t> window;
  const std::size_t windows = windows_of(pairs.target.tokens(), options.window_tokens);
  for (const auto& blocks : shuffled_windows(pairs.size(), windows, random)) {
    window.clear();
    for (const auto& [begin, end] : blocks)
      for (std::size_t pair = begin; pair < end; ++pair)
        window.insert(window.end(), copies.of(pair), static_cast<std::uint32_t>(pair));
    add_window(pairs, options, window, random);
  }
}

void EpochPlan::add_window(const PairStore& pairs, const Options& options, std::vector<std::uint32_t>& order,
                           RandomStream& random) {
  shuffle(order, random);
  const auto tokens = [&pairs](std::uint32_t pair) {
    return static_cast<std::int64_t>(pairs.target.length(pair));
  };
  if (options.by_length) {
    const std::int64_t stretch = options.batch_tokens * kBatchesSortedTogether;
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      for (std::int64_t sum = 0; end < order.size() && sum < stretch; ++end) sum += tokens(order[end]);
      std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                       order.begin() + static_cast<std::ptrdiff_t>(end),
                       [&pairs](std::uint32_t a, std::uint32_t b) {
                         return std::tuple(pairs.target.length(a), pairs.source.length(a)) <
                                std::tuple(pairs.target.length(b), pairs.source.length(b));
                       });
    }
  }
  // batches as ranges [begin, end) of pairs, in order
  std::vector<std::pair<std::size_t, std::size_t>> batches;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::int64_t sum = tokens(order[end++]);
    while (end < order.size() && sum + tokens(order[end]) <= options.batch_tokens)
      sum += tokens(order[end++]);
    batches.emplace_back(begin, end);
  }
  shuffle(batches, random);
  for (const auto& [begin, end] : batches) {
    order_.insert(order_.end(), order.begin() + static_cast<std::ptrdiff_t>(begin),
                  order.begin() + static_cast<std::ptrdiff_t>(end));
    offsets_.push_back(order_.size());
  }
}

void random_windows(std::uint64_t seed, std::uint64_t batch, std::int64_t tokens, std::int64_t context,
                    std::span<std::int64_t> starts, std::span<const WeightedSource> sources) {
  const WeightedSource whole{static_cast<std::size_t>(tokens), 1.0};
  if (sources.empty()) sources = std::span(&whole, 1);
  struct Range {
    // first possible start of a window in the source, and number of possible starts
    std::int64_t first = 0, count = 0;
    // sum of weight · number of possible starts, over all sources up to and including this one
    double until = 0;
  };
  std::vector<Range> ranges;
  RandomStream region({seed, batch / kRegionBatches, place_of("data.regions")});
  double sum = 0;
  std::int64_t begin = 0;
  for (const WeightedSource& source : sources) {
    const std::int64_t end = std::min(static_cast<std::int64_t>(source.end), tokens - context);
    const std::int64_t count = std::max<std::int64_t>(end - begin, 0);
    const auto outside = static_cast<std::uint64_t>(std::max<std::int64_t>(count - kRegion, 0));
    const std::int64_t skipped = outside == 0 ? 0 : static_cast<std::int64_t>(region.next_below(outside + 1));
    sum += static_cast<double>(count) * source.weight;
    if (count > 0 && source.weight > 0) ranges.push_back({begin + skipped, std::min(count, kRegion), sum});
    begin = static_cast<std::int64_t>(source.end);
  }
  RandomStream random({seed, batch, place_of("data.windows")});
  for (std::int64_t& start : starts) {
    auto range = ranges.begin();
    if (ranges.size() > 1) {
      const double drawn = static_cast<double>(random.next_below(std::uint64_t{1} << 53)) * 0x1.0p-53 * sum;
      while (range + 1 != ranges.end() && drawn >= range->until) ++range;
    }
    start =
        range->first + static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(range->count)));
  }
}

void WindowPlan::make(std::int64_t tokens, std::int64_t context, std::uint64_t seed, std::uint64_t epoch,
                      std::span<const WeightedSource> sources) {
  RandomStream random({seed, epoch, place_of("data.window order")});
  starts_.clear();
  const auto count = tokens <= context ? std::size_t{0} : static_cast<std::size_t>((tokens - 1) / context);
  const Copies copies(sources, seed, epoch);
  std::vector<std::int64_t> window;
  for (const auto& blocks :
       shuffled_windows(count, windows_of(static_cast<std::size_t>(tokens), kRegion), random)) {
    window.clear();
    for (const auto& [begin, end] : blocks)
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t start = static_cast<std::int64_t>(i) * context;
        window.insert(window.end(), copies.of(static_cast<std::size_t>(start)), start);
      }
    shuffle(window, random);
    starts_.insert(starts_.end(), window.begin(), window.end());
  }
}

}  // namespace regard::data
