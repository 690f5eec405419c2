// The order of the training data. It is a pure function of the seed and the position in training, so a
// resumed run reads the same data as an uninterrupted one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/token_store.h"
#include "data/weighted_sources.h"

namespace regard::data {

// The batches of one epoch over a parallel corpus of at most 2^32 pairs.
class EpochPlan {
 public:
  struct Options {
    std::int64_t batch_tokens = 4096;  // maximum number of target tokens per batch, including end tokens
    bool by_length = true;             // sort pairs by length, within chunks of many batches
    std::uint64_t seed = 1;
    std::vector<WeightedSource> sources{};  // sources of the pairs; if empty, every pair occurs once
    // Size of a shuffled window in target tokens; a smaller corpus is one window. A window consists of blocks
    // from random parts of the corpus, so that a mapped file is read in large pieces.
    std::int64_t window_tokens = std::int64_t{1} << 27;
  };

  // Plan an epoch: shuffle the pairs, divide them into batches of at most batch_tokens, and shuffle the
  // batches. A pair of more than batch_tokens target tokens is a batch of its own. Throws usage for too many
  // pairs.
  void make(const PairStore& pairs, const Options& options, std::uint64_t epoch);

  std::size_t batches() const { return offsets_.size() - 1; }
  // Return the indices of the pairs of a batch.
  std::span<const std::uint32_t> operator[](std::size_t batch) const {
    return std::span(order_).subspan(offsets_[batch], offsets_[batch + 1] - offsets_[batch]);
  }

 private:
  void add_window(const PairStore& pairs, const Options& options, std::vector<std::uint32_t>& order,
                  RandomStream& random);

  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> offsets_{0};
};

// Size of a region in tokens. random_windows() draws from one region of a larger source, and WindowPlan
// shuffles a larger stream region by region.
constexpr std::int64_t kRegion = std::int64_t{1} << 27;
// number of successive batches for which random_windows() uses the same region of each source
constexpr std::uint64_t kRegionBatches = 4096;
// Draw the starts of the windows of one batch of a language model, in a stream of `tokens` ids. Each start is
// followed by at least `context` more tokens, because the last label is the token after the window.
// `batch`: global index of the batch.
// `sources`: ranges of tokens; if empty, the stream is one source. The probability that a window starts in a
// source is proportional to its weight times its number of possible starts.
void random_windows(std::uint64_t seed, std::uint64_t batch, std::int64_t tokens, std::int64_t context,
                    std::span<std::int64_t> starts, std::span<const WeightedSource> sources = {});

// Consecutive windows of `context` tokens without overlap, in a random order that differs between epochs. A
// stream of more than kRegion tokens is shuffled region by region; a region consists of blocks from random
// parts of the stream.
class WindowPlan {
 public:
  // `sources` are ranges of tokens. A window that starts in a source with weight w occurs w times on average.
  void make(std::int64_t tokens, std::int64_t context, std::uint64_t seed, std::uint64_t epoch,
            std::span<const WeightedSource> sources = {});
  std::span<const std::int64_t> starts() const { return starts_; }

 private:
  std::vector<std::int64_t> starts_;
};

}  // namespace regard::data
