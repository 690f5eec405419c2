#include "data/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/shuffle.h"

namespace regard::data {
namespace {

// Pairs are sorted by length within chunks of about this many batches: large enough for batches of similar
// lengths, small enough that batches differ from epoch to epoch.
constexpr std::int64_t kBatchesSortedTogether = 64;

}  // namespace

void EpochPlan::make(const PairStore& pairs, const Options& options, std::uint64_t epoch) {
  RandomStream random({options.seed, epoch, place_of("data.order")});
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0u);
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
  std::vector<std::pair<std::size_t, std::size_t>> batches;  // [begin, end) in order
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::int64_t sum = tokens(order[end++]);
    while (end < order.size() && sum + tokens(order[end]) <= options.batch_tokens)
      sum += tokens(order[end++]);
    batches.emplace_back(begin, end);
  }
  shuffle(batches, random);
  order_.clear();
  offsets_.assign(1, 0);
  for (const auto& [begin, end] : batches) {
    order_.insert(order_.end(), order.begin() + static_cast<std::ptrdiff_t>(begin),
                  order.begin() + static_cast<std::ptrdiff_t>(end));
    offsets_.push_back(order_.size());
  }
}

void random_windows(std::uint64_t seed, std::uint64_t batch, std::int64_t tokens, std::int64_t context,
                    std::span<std::int64_t> starts) {
  RandomStream random({seed, batch, place_of("data.windows")});
  for (std::int64_t& start : starts)
    start = static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(tokens - context)));
}

void WindowPlan::make(std::int64_t tokens, std::int64_t context, std::uint64_t seed, std::uint64_t epoch) {
  starts_.clear();
  for (std::int64_t start = 0; start + context < tokens; start += context) starts_.push_back(start);
  RandomStream random({seed, epoch, place_of("data.window order")});
  shuffle(starts_, random);
}

}  // namespace regard::data
