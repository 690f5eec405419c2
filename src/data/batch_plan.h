// The order of the training data. It is a pure function of the seed and the position in training, so a
// resumed run reads the same data as an uninterrupted one.
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
    std::int64_t batch_tokens = 4096;  // target tokens per batch, including end tokens
    bool by_length = true;             // batch pairs of similar length
    std::uint64_t seed = 1;
  };

  // Plan an epoch that contains every pair once: shuffle the pairs, sort them by length within chunks of many
  // batches if by_length, divide them into batches of at most batch_tokens (a longer pair gets its own
  // batch), and shuffle the batches.
  void make(const PairStore& pairs, const Options& options, std::uint64_t epoch);

  std::size_t batches() const { return offsets_.size() - 1; }
  // The indices of the pairs of a batch.
  std::span<const std::uint32_t> operator[](std::size_t batch) const {
    return std::span(order_).subspan(offsets_[batch], offsets_[batch + 1] - offsets_[batch]);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> offsets_{0};
};

// Draw the starts of the windows of one batch of a language model, in a stream of `tokens` ids. Each start
// leaves room for `context` inputs and the label after the last. `batch` is the global index of the batch.
void random_windows(std::uint64_t seed, std::uint64_t batch, std::int64_t tokens, std::int64_t context,
                    std::span<std::int64_t> starts);

// Consecutive windows of `context` tokens without overlap, in a random order per epoch.
class WindowPlan {
 public:
  void make(std::int64_t tokens, std::int64_t context, std::uint64_t seed, std::uint64_t epoch);
  std::span<const std::int64_t> starts() const { return starts_; }

 private:
  std::vector<std::int64_t> starts_;
};

}  // namespace regard::data
