#include "vectors/train_glove.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "base/clock.h"
#include "base/random.h"
#include "kernels/pair_step.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kTaskRecords = std::size_t{1} << 14;

// Word vectors, context vectors, and the sums of their squared gradients. The last element of each row is the
// bias.
struct Model {
  std::size_t stride = 0;
  std::vector<float> word, context, word_squares, context_squares;

  Model(std::size_t words, std::size_t size, std::uint64_t seed) : stride(size + 1) {
    RandomStream random({seed, 0, place_of("vectors.glove")});
    for (std::vector<float>* rows : {&word, &context}) {
      rows->resize(words * stride);
      for (float& value : *rows) value = (random.next_uniform() - 0.5f) / static_cast<float>(size);
    }
    word_squares.assign(words * stride, 1.0f);
    context_squares.assign(words * stride, 1.0f);
  }
};

void check(const GloveOptions& options) {
  if (options.size < 1 || options.size > 8192)
    throw usage_error("expected a vector size of 1 to 8192, found " + std::to_string(options.size));
  if (options.epochs < 1)
    throw usage_error("expected at least one epoch, found " + std::to_string(options.epochs));
  if (!(options.x_max > 0.0))
    throw usage_error("expected an x_max above 0, found " + std::to_string(options.x_max));
}

double train_records(Model& model, std::span<const Cooccurrence> records, const GloveOptions& options) {
  double loss = 0.0;
  kernels::GloveStep step;
  step.size = options.size;
  step.rate = static_cast<float>(options.rate);
  for (const Cooccurrence& one : records) {
    const std::size_t word = static_cast<std::size_t>(one.word) * model.stride;
    const std::size_t context = static_cast<std::size_t>(one.context) * model.stride;
    step.word = model.word.data() + word;
    step.context = model.context.data() + context;
    step.word_squares = model.word_squares.data() + word;
    step.context_squares = model.context_squares.data() + context;
    const auto count = static_cast<double>(one.count);
    step.log_count = static_cast<float>(std::log(count));
    step.weight =
        static_cast<float>(count < options.x_max ? std::pow(count / options.x_max, options.alpha) : 1.0);
    loss += static_cast<double>(kernels::glove_step(step));
  }
  return loss;
}

}  // namespace

GloveResult train_glove(const Corpus& corpus, const GloveOptions& options, ThreadPool& pool) {
  check(options);
  CooccurrenceOptions counting = options.counting;
  counting.stopped = options.stopped;
  const auto counts = count_cooccurrences(corpus, counting);
  const auto records = counts->records();
  if (options.stopped && options.stopped()) return {};
  if (records.empty())
    throw usage_error("no sentence has two words of the vocabulary")
        .remedy("Lower --min-count, or use text with several words per line");
  const auto size = static_cast<std::size_t>(options.size);
  Model model(corpus.words.size(), size, options.seed);
  GloveResult result;
  result.pairs = records.size();
  const std::size_t tasks = (records.size() + kTaskRecords - 1) / kTaskRecords;
  std::vector<double> losses(tasks);
  std::mutex telling;
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> done{0};
  const Stopwatch watch;
  for (std::int64_t epoch = 0; epoch < options.epochs && !stop; ++epoch) {
    const auto one = [&](std::int64_t task, int) {
      if (stop.load(std::memory_order_relaxed)) return;
      const std::size_t begin = static_cast<std::size_t>(task) * kTaskRecords;
      const auto part = records.subspan(begin, std::min(kTaskRecords, records.size() - begin));
      const double loss = losses[static_cast<std::size_t>(task)] = train_records(model, part, options);
      const std::size_t finished = ++done;
      const std::unique_lock lock(telling, std::try_to_lock);
      if (!lock) return;
      if (options.stopped && options.stopped()) stop = true;
      if (!options.progress) return;
      const double fraction = static_cast<double>(finished) /
                              static_cast<double>(tasks * static_cast<std::size_t>(options.epochs));
      const double words = fraction * static_cast<double>(corpus.tokens_read * options.epochs);
      options.progress({fraction, options.rate, loss / static_cast<double>(part.size()), words,
                        words / std::max(watch.seconds(), 1e-9)});
    };
    if (kOneThread) {
      for (std::size_t task = 0; task < tasks; ++task) one(static_cast<std::int64_t>(task), 0);
    } else {
      pool.parallel_for(static_cast<std::int64_t>(tasks), one);
    }
    double sum = 0.0;
    for (const double loss : losses) sum += loss;
    result.loss.push_back(sum / static_cast<double>(records.size()));
    if (!std::isfinite(sum))
      throw Error(ErrorKind::numeric, "training diverged: the loss is not finite")
          .remedy("Lower the learning rate");
  }
  const double passes = static_cast<double>(done) / static_cast<double>(tasks);
  result.words_per_second =
      passes * static_cast<double>(corpus.tokens_read) / std::max(watch.seconds(), 1e-9);
  result.values.reserve(corpus.words.size() * size);
  for (std::size_t word = 0; word < corpus.words.size(); ++word)
    for (std::size_t at = 0; at < size; ++at)
      result.values.push_back(model.word[word * model.stride + at] + model.context[word * model.stride + at]);
  return result;
}

}  // namespace regard::vectors
