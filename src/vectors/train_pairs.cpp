#include "vectors/train_pairs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>

#include "base/clock.h"
#include "base/counted.h"
#include "base/pages.h"
#include "base/shuffle.h"
#include "kernels/pair_step.h"
#include "regard/error.h"
#include "vectors/pair_window.h"

namespace regard::vectors {
namespace {

constexpr std::int64_t kChunkTokens = 10000;

std::unique_ptr<float, void (*)(void*)> zero_rows(std::int64_t rows, std::int64_t stride) {
  const std::size_t bytes = static_cast<std::size_t>(rows * stride) * sizeof(float);
  std::unique_ptr<float, void (*)(void*)> block(
      static_cast<float*>(allocate_pages(std::max<std::size_t>(bytes, 64))), std::free);
  std::memset(block.get(), 0, bytes);
  return block;
}

PairModel initial_model(const Corpus& corpus, const PairOptions& options) {
  PairModel model;
  model.size = options.size;
  model.stride = (options.size + 15) / 16 * 16;
  model.words = static_cast<std::int64_t>(corpus.words.size());
  model.outputs = options.hierarchical ? std::max<std::int64_t>(model.words - 1, 1) : model.words;
  model.subwords = options.subwords;
  const std::int64_t rows = model.words + options.subwords.buckets;
  model.input = zero_rows(rows, model.stride);
  model.output = zero_rows(model.outputs, model.stride);
  // Initial vectors are uniform in ±1 / size, as in gensim and fastText. word2vec's code uses ±0.5 / size.
  RandomStream random({options.seed, 0, place_of("vectors.initial")});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t at = 0; at < model.size; ++at)
      model.input_row(row)[at] = (2.0f * random.next_uniform() - 1.0f) / static_cast<float>(model.size);
  return model;
}

void check(const Corpus& corpus, const PairOptions& options) {
  if (options.size < 1 || options.size > 8192)
    throw usage_error("expected a vector size of 1 to 8192, found " + std::to_string(options.size));
  if (options.window < 1 || options.window > 1000)
    throw usage_error("expected a window of 1 to 1000 words, found " + std::to_string(options.window));
  if (!options.hierarchical && (options.negative < 1 || options.negative >= kernels::kMaxOutputs))
    throw usage_error("the number of negative samples is out of range")
        .found(std::to_string(options.negative))
        .expected("1 to " + std::to_string(kernels::kMaxOutputs - 1));
  if (options.epochs < 1)
    throw usage_error("expected at least one epoch, found " + std::to_string(options.epochs));
  const Subwords& subwords = options.subwords;
  if (subwords.buckets > 0 && (subwords.shortest < 1 || subwords.longest < subwords.shortest))
    throw usage_error("the lengths of n-grams are out of range")
        .found("minimum " + std::to_string(subwords.shortest) + ", maximum " +
               std::to_string(subwords.longest))
        .expected("minimum at least 1, maximum at least the minimum");
  if (corpus.words.size() < 2)
    throw usage_error("the vocabulary is too small")
        .found(counted(corpus.words.size(), "word"))
        .expected("at least 2")
        .remedy("Lower --min-count, raise --max-words, or use more text");
}

// Return the start of each chunk, and then the number of ids. Chunks start at sentence starts, so that no
// window is divided.
std::vector<std::size_t> chunks_of(std::span<const std::int32_t> ids) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == kSentenceEnd && static_cast<std::int64_t>(i + 1 - begins.back()) >= kChunkTokens &&
        i + 1 < ids.size())
      begins.push_back(i + 1);
  begins.push_back(ids.size());
  return begins;
}

}  // namespace

PairModel train_pairs(const Corpus& corpus, const PairOptions& options, ThreadPool& pool) {
  check(corpus, options);
  PairModel model = initial_model(corpus, options);
  const auto ids = corpus.ids->records();
  const std::vector<std::size_t> chunks = chunks_of(ids);
  const auto count = static_cast<std::int64_t>(chunks.size()) - 1;
  const PairTables tables(corpus, options);
  std::vector<std::unique_ptr<PairWindow>> workers;
  for (int worker = 0; worker < pool.size(); ++worker)
    workers.push_back(std::make_unique<PairWindow>(model, tables, options));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> done{0};
  std::mutex telling;
  const Stopwatch watch;
  for (std::int64_t epoch = 0; epoch < options.epochs && !stop; ++epoch) {
    // Shuffle the chunks: in a sorted corpus, every epoch would otherwise end with the same kind of text.
    RandomStream dealing({options.seed, static_cast<std::uint64_t>(epoch), place_of("vectors.order")});
    shuffle(order, dealing);
    const auto one = [&](std::int64_t place, int worker) {
      if (stop.load(std::memory_order_relaxed)) return;
      const std::int64_t chunk = order[static_cast<std::size_t>(place)];
      const std::size_t begin = chunks[static_cast<std::size_t>(chunk)],
                        end = chunks[static_cast<std::size_t>(chunk) + 1];
      // The learning rate depends on the position in the epoch and not on the progress of other threads.
      const double fraction =
          (static_cast<double>(epoch) + static_cast<double>(place) / static_cast<double>(count)) /
          static_cast<double>(options.epochs);
      const double rate = options.rate - (options.rate - std::min(options.rate, options.min_rate)) * fraction;
      PairWindow& window = *workers[static_cast<std::size_t>(worker)];
      RandomStream random({options.seed,
                           static_cast<std::uint64_t>(epoch) << 40 | static_cast<std::uint64_t>(chunk),
                           place_of("vectors.train")});
      window.train(ids.subspan(begin, end - begin), static_cast<float>(rate), random);
      const std::int64_t finished = ++done;
      const std::unique_lock lock(telling, std::try_to_lock);
      if (!lock) return;
      if (options.stopped && options.stopped()) stop = true;
      if (!options.progress) return;
      const double part = static_cast<double>(finished) / static_cast<double>(count * options.epochs);
      const double words =
          part * static_cast<double>(corpus.tokens_read) * static_cast<double>(options.epochs);
      options.progress({part, rate, window.take_loss(), words, words / std::max(watch.seconds(), 1e-9)});
    };
    if (kOneThread) {
      for (std::int64_t place = 0; place < count; ++place) one(place, 0);
    } else {
      pool.parallel_for(count, one);
    }
  }
  const double part = static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(count, 1));
  model.words_per_second = part * static_cast<double>(corpus.tokens_read) / std::max(watch.seconds(), 1e-9);
  for (std::int64_t row = 0; row < model.words; ++row)
    for (std::int64_t at = 0; at < model.size; ++at)
      if (!std::isfinite(model.input_row(row)[at]))
        throw Error(ErrorKind::numeric, "training diverged: a vector contains a number that is not finite")
            .remedy("Lower the learning rate");
  return model;
}

std::vector<float> vectors_of(const PairModel& model, const Corpus& corpus) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(model.words * model.size));
  std::vector<std::int64_t> buckets;
  for (std::int64_t word = 0; word < model.words; ++word) {
    std::vector<float> sum(model.input_row(word), model.input_row(word) + model.size);
    model.subwords.buckets_of(corpus.words[static_cast<std::size_t>(word)], buckets);
    for (const std::int64_t bucket : buckets)
      for (std::int64_t at = 0; at < model.size; ++at)
        sum[static_cast<std::size_t>(at)] += model.input_row(model.words + bucket)[at];
    for (const float value : sum) values.push_back(value / static_cast<float>(buckets.size() + 1));
  }
  return values;
}

}  // namespace regard::vectors
