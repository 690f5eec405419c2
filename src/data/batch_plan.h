// In which order training sees its data. Everything here is a pure function of seed and place in the data, so
// a resumed run sees what an undisturbed one would have seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/token_store.h"

namespace regard::data {

// The batches of one epoch over a parallel corpus.
class EpochPlan {
 public:
  struct Options {
    std::int64_t batch_tokens = 4096;  // target tokens a batch, its end tokens included
    bool by_length = true;             // pairs of similar length go together
    std::uint64_t seed = 1;
  };

  // Every pair once, shuffled; by_length: sorted by length within stretches of many batches, cut into batches
  // of at most batch_tokens (a longer pair stands alone), the batches shuffled.
  void make(const PairStore& pairs, const Options& options, std::uint64_t epoch);

  std::size_t batches() const { return offsets_.size() - 1; }
  // The pairs of a batch.
  std::span<const std::uint32_t> operator[](std::size_t batch) const {
    return std::span(order_).subspan(offsets_[batch], offsets_[batch + 1] - offsets_[batch]);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> offsets_{0};
};

// Where the windows of a language model's batch begin in a stream of `tokens` ids: `count` draws, each
// leaving room for `context` inputs and the label after the last. `batch` is the global index of the batch.
void random_windows(std::uint64_t seed, std::uint64_t batch, std::int64_t tokens, std::int64_t context,
                    std::span<std::int64_t> starts);

// The windows that lie one after the other, in a random order each epoch.
class WindowPlan {
 public:
  void make(std::int64_t tokens, std::int64_t context, std::uint64_t seed, std::uint64_t epoch);
  std::span<const std::int64_t> starts() const { return starts_; }

 private:
  std::vector<std::int64_t> starts_;
};

}  // namespace regard::data
