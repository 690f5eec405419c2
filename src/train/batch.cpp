#include "train/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"

namespace regard::train {

void Batch::clear() {
  source_ids.clear();
  source_inputs.clear();
  inputs.clear();
  source.clear();
  ids.clear();
  labels.clear();
  types.clear();
  values.clear();
  label_weights.clear();
  target.clear();
}

std::int64_t Batch::target_tokens() const {
  return std::ssize(labels) - std::count(labels.begin(), labels.end(), kIgnoredLabel) + std::ssize(values);
}

double Batch::weight() const {
  if (label_weights.empty()) return static_cast<double>(target_tokens());
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != kIgnoredLabel) sum += static_cast<double>(label_weights[i]);
  return sum;
}

void Batch::add_text(std::span<const std::int32_t> tokens, std::span<const std::int32_t> token_types,
                     std::uint64_t index) {
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  types.insert(types.end(), token_types.begin(), token_types.end());
  target.add(static_cast<std::int64_t>(tokens.size()), index);
}

void Batch::add_input(const Tensor& input, std::int64_t length, std::uint64_t index) {
  inputs.push_back(input);
  target.add(length, index);
}

void Batch::add_source_input(const Tensor& input, std::int64_t length, std::uint64_t index) {
  source_inputs.push_back(input);
  source.add(length, index);
}

BatchSizes BatchSizes::of(const Batch& batch) {
  return {.sequences = batch.sequences(),
          .target_tokens = batch.target_tokens(),
          .tokens = batch.tokens(),
          .source_tokens = static_cast<std::int64_t>(batch.source_ids.size()),
          .weight = batch.weight()};
}

void BatchSizes::add(const BatchSizes& other) {
  sequences += other.sequences;
  target_tokens += other.target_tokens;
  tokens += other.tokens;
  source_tokens += other.source_tokens;
  weight += other.weight;
}

void Batch::add_pair(std::span<const std::int32_t> source_tokens, std::span<const std::int32_t> target_tokens,
                     std::int32_t start, std::uint64_t index) {
  source_ids.insert(source_ids.end(), source_tokens.begin(), source_tokens.end());
  source.add(static_cast<std::int64_t>(source_tokens.size()), index);
  add_target(target_tokens, start, index);
}

void Batch::add_target(std::span<const std::int32_t> target_tokens, std::int32_t start, std::uint64_t index) {
  ids.push_back(start);
  ids.insert(ids.end(), target_tokens.begin(), target_tokens.end() - 1);
  labels.insert(labels.end(), target_tokens.begin(), target_tokens.end());
  target.add(static_cast<std::int64_t>(target_tokens.size()), index);
}

void Batch::add_window(std::span<const std::int32_t> tokens, std::uint64_t index) {
  ids.insert(ids.end(), tokens.begin(), tokens.end() - 1);
  labels.insert(labels.end(), tokens.begin() + 1, tokens.end());
  target.add(static_cast<std::int64_t>(tokens.size()) - 1, index);
}

void require_examples(std::span<const data::WeightedSource> sources) {
  if (sources.empty() || data::examples_per_epoch(sources) >= 1) return;
  throw usage_error("with 'data.weights', an epoch has less than one example")
      .found(fmt::format("{:.3g} examples on average", data::examples_per_epoch(sources)))
      .remedy("Increase the numbers in 'data.weights'");
}

namespace {

class PairBatches : public BatchSource {
 public:
  PairBatches(const data::PairStore& pairs, const data::EpochPlan::Options& options, std::int32_t start)
      : pairs_(pairs), options_(options), start_(start) {
    if (pairs.size() == 0)
      throw usage_error("the training data has no pairs").expected("at least one pair of texts");
    require_examples(options_.sources);
    plan_.make(pairs_, options_, epoch_);
  }

  void next(Batch& batch, std::uint64_t first_index) override {
    while (at_ == plan_.batches()) {  // with small data.weights, an epoch may have no pairs
      plan_.make(pairs_, options_, ++epoch_);
      at_ = 0;
    }
    batch.clear();
    for (const std::uint32_t pair : plan_[at_])
      batch.add_pair(pairs_.source[pair], pairs_.target[pair], start_, first_index++);
    ++at_;
  }

  double epochs() const override { return epochs_at(epoch_, at_, plan_.batches()); }

  Json state() const override { return {{"epoch", epoch_}, {"batch", at_}}; }

  void restore(const Json& state, const std::string& file) override {
    epoch_ = require<std::uint64_t>(state, "epoch", file);
    plan_.make(pairs_, options_, epoch_);
    at_ = require_in<std::size_t>(state, "batch", file, 0, plan_.batches());
  }

 private:
  const data::PairStore& pairs_;
  data::EpochPlan::Options options_;
  std::int32_t start_;
  data::EpochPlan plan_;
  std::uint64_t epoch_ = 0;
  std::size_t at_ = 0;  // index of the next batch of this epoch in the plan
};

class WindowBatches : public BatchSource {
 public:
  WindowBatches(std::span<const std::int32_t> stream, const WindowOptions& options)
      : stream_(stream), options_(options), starts_(static_cast<std::size_t>(options.batch_size)) {
    const auto tokens = static_cast<std::int64_t>(stream.size());
    if (tokens <= options.context)
      throw usage_error("the training text is shorter than one window of 'training.context'")
          .found(counted(tokens, "token"))
          .expected(fmt::format("more than {}", options.context))
          .remedy("Use a longer training text, or reduce 'training.context'");
    require_windows();
    make_plan();
  }

  void next(Batch& batch, std::uint64_t first_index) override {
    if (options_.random) {
      data::random_windows(options_.seed, batch_, size(), options_.context, starts_, options_.sources);
    } else {
      for (std::int64_t& start : starts_) start = next_in_order();
    }
    ++batch_;
    batch.clear();
    for (const std::int64_t start : starts_)
      batch.add_window(
          stream_.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(options_.context) + 1),
          first_index++);
  }

  double epochs() const override {
    return static_cast<double>(batch_) * static_cast<double>(options_.batch_size * options_.context) /
           (options_.sources.empty() ? static_cast<double>(stream_.size())
                                     : data::examples_per_epoch(options_.sources));
  }

  Json state() const override { return {{"batch", batch_}, {"epoch", epoch_}, {"window", at_}}; }

  void restore(const Json& state, const std::string& file) override {
    batch_ = require<std::uint64_t>(state, "batch", file);
    epoch_ = require<std::uint64_t>(state, "epoch", file);
    make_plan();
    at_ = require_in<std::size_t>(state, "window", file, 0, plan_.starts().size());
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(stream_.size()); }
  // Throws usage if an epoch has less than one window on average. Consecutive windows start at multiples of
  // options.context, so a short source may have no window.
  void require_windows() const {
    const auto context = static_cast<std::size_t>(options_.context);
    std::vector<data::WeightedSource> windows = options_.sources;
    for (data::WeightedSource& source : windows) {
      // A window needs options.context + 1 tokens, so it cannot start at one of the last options.context
      // tokens of the stream.
      source.end = std::min(source.end, stream_.size() - context);
      if (options_.random)
        source.weight /= static_cast<double>(options_.context);
      else
        source.end = (source.end + context - 1) / context;
    }
    require_examples(windows);
  }
  void make_plan() {
    if (!options_.random) plan_.make(size(), options_.context, options_.seed, epoch_, options_.sources);
  }
  std::int64_t next_in_order() {
    while (at_ == plan_.starts().size()) {  // with small data.weights, an epoch may have no windows
      ++epoch_;
      make_plan();
      at_ = 0;
    }
    return plan_.starts()[at_++];
  }

  std::span<const std::int32_t> stream_;
  WindowOptions options_;
  std::vector<std::int64_t> starts_;
  data::WindowPlan plan_;
  std::uint64_t batch_ = 0, epoch_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> pair_batches(const data::PairStore& pairs,
                                          const data::EpochPlan::Options& options, std::int32_t start) {
  return std::make_unique<PairBatches>(pairs, options, start);
}

std::unique_ptr<BatchSource> window_batches(std::span<const std::int32_t> stream,
                                            const WindowOptions& options) {
  return std::make_unique<WindowBatches>(stream, options);
}

}  // namespace regard::train
