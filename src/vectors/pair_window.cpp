#include "vectors/pair_window.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/pages.h"

namespace regard::vectors {
namespace {

constexpr std::int64_t kMeasureEvery = 32;  // number of windows between two measurements of the loss

}  // namespace

PairTables::PairTables(const Corpus& corpus, const PairOptions& options)
    : keep(keep_probabilities(corpus.counts, options.sample)),
      negatives(negative_table(corpus.counts)),
      tree(options.hierarchical ? std::span<const std::int64_t>(corpus.counts)
                                : std::span<const std::int64_t>()) {
  if (options.subwords.buckets == 0) return;
  std::vector<std::int64_t> buckets;
  row_begin.push_back(0);
  const auto words = static_cast<std::int64_t>(corpus.words.size());
  for (std::int64_t word = 0; word < words; ++word) {
    rows.push_back(word);
    options.subwords.buckets_of(corpus.words[static_cast<std::size_t>(word)], buckets);
    for (const std::int64_t bucket : buckets) rows.push_back(words + bucket);
    row_begin.push_back(rows.size());
  }
}

PairWindow::PairWindow(const PairModel& model, const PairTables& tables, const PairOptions& options)
    : model_(model), tables_(tables), options_(options), memory_(nullptr, std::free) {
  const auto scratch = static_cast<std::size_t>(kernels::pair_step_scratch(model.size) + 15) / 16 * 16;
  const auto stride = static_cast<std::size_t>(model.stride);
  memory_.reset(static_cast<float*>(allocate_pages((scratch + 2 * stride) * sizeof(float))));
  scratch_ = memory_.get();
  mean_ = scratch_ + scratch;
  before_ = mean_ + stride;
}

double PairWindow::take_loss() {
  const double mean = measured_ == 0 ? 0.0 : static_cast<double>(loss_) / static_cast<double>(measured_);
  loss_ = 0;
  measured_ = 0;
  return mean;
}

void PairWindow::train(std::span<const std::int32_t> ids, float rate, RandomStream& random) {
  rate_ = rate;
  kept_.clear();
  for (const std::int32_t id : ids) {
    if (id == kSentenceEnd) {
      sentence(random);
      kept_.clear();
      continue;
    }
    const float keep = tables_.keep[static_cast<std::size_t>(id)];
    if (keep >= 1.0f || random.next_uniform() < keep) kept_.push_back(id);
  }
  sentence(random);
}

void PairWindow::sentence(RandomStream& random) {
  const std::size_t length = kept_.size();
  if (length < 2) return;
  const auto window = static_cast<std::uint64_t>(options_.window);
  for (std::size_t centre = 0; centre < length; ++centre) {
    const auto reach = static_cast<std::size_t>(1 + ((std::uint64_t{random.next()} * window) >> 32));
    const std::size_t begin = centre - std::min(centre, reach), end = std::min(length, centre + reach + 1);
    if (options_.cbow) {
      cbow(centre, begin, end, random);
    } else if (options_.subwords.buckets > 0) {
      subword_skip_gram(centre, begin, end, random);
    } else {
      skip_gram(centre, begin, end, random);
    }
  }
}

// Select the output rows: with negative sampling, the target (label 1) and its negative samples (label 0);
// with hierarchical softmax, the nodes on the target's path in the Huffman tree.
void PairWindow::draw_outputs(std::int32_t target, RandomStream& random) {
  outputs_.clear();
  labels_.clear();
  if (options_.hierarchical) {
    const auto word = static_cast<std::size_t>(target);
    for (std::uint64_t at = tables_.tree.begin[word]; at < tables_.tree.begin[word + 1]; ++at) {
      outputs_.push_back(model_.output_row(tables_.tree.node[at]));
      labels_.push_back(tables_.tree.label[at]);
    }
    return;
  }
  outputs_.push_back(model_.output_row(target));
  labels_.push_back(1.0f);
  for (int draw = 0; draw < options_.negative; ++draw) {
    const std::int32_t other = tables_.negatives.draw(random);
    if (other == target) continue;
    outputs_.push_back(model_.output_row(other));
    labels_.push_back(0.0f);
  }
}

void PairWindow::step(float* const* inputs, std::int64_t count) {
  kernels::PairStep step;
  step.size = model_.size;
  step.rate = rate_;
  step.scratch = scratch_;
  const bool measured = windows_++ % kMeasureEvery == 0;
  if (measured) step.loss = &loss_;
  const auto all_outputs = static_cast<std::int64_t>(outputs_.size());
  for (std::int64_t i = 0; i < count; i += kernels::kMaxInputs) {
    step.input = inputs + i;
    step.inputs = std::min(kernels::kMaxInputs, count - i);
    for (std::int64_t o = 0; o < all_outputs; o += kernels::kMaxOutputs) {
      step.output = outputs_.data() + o;
      step.label = labels_.data() + o;
      step.outputs = std::min(kernels::kMaxOutputs, all_outputs - o);
      if (measured) measured_ += step.inputs * step.outputs;
      kernels::pair_step(step);
    }
  }
}

// Train skip-gram as in word2vec's code: the context words are the inputs, and the centre word is their
// common target.
void PairWindow::skip_gram(std::size_t centre, std::size_t begin, std::size_t end, RandomStream& random) {
  draw_outputs(kept_[centre], random);
  inputs_.clear();
  for (std::size_t at = begin; at < end; ++at)
    if (at != centre) inputs_.push_back(model_.input_row(kept_[at]));
  step(inputs_.data(), static_cast<std::int64_t>(inputs_.size()));
}

void PairWindow::compose() {
  const std::int64_t size = model_.size;
  std::fill_n(mean_, size, 0.0f);
  for (const std::int64_t row : rows_)
    for (std::int64_t at = 0; at < size; ++at) mean_[at] += model_.input_row(row)[at];
  const float share = 1.0f / static_cast<float>(rows_.size());
  for (std::int64_t at = 0; at < size; ++at) mean_[at] *= share;
  std::memcpy(before_, mean_, static_cast<std::size_t>(size) * sizeof(float));
}

void PairWindow::spread() {
  for (std::int64_t at = 0; at < model_.size; ++at) before_[at] = mean_[at] - before_[at];
  for (const std::int64_t row : rows_)
    for (std::int64_t at = 0; at < model_.size; ++at) model_.input_row(row)[at] += before_[at];
}

// Train skip-gram as in fastText: the centre word with its n-grams is the input, and each context word is a
// target. The whole update is added to each row of the input; the mean of the rows then changes by the same
// amount and need not be computed again.
void PairWindow::subword_skip_gram(std::size_t centre, std::size_t begin, std::size_t end,
                                   RandomStream& random) {
  const auto rows = tables_.rows_of(kept_[centre]);
  rows_.assign(rows.begin(), rows.end());
  compose();
  for (std::size_t at = begin; at < end; ++at) {
    if (at == centre) continue;
    draw_outputs(kept_[at], random);
    step(&mean_, 1);
  }
  spread();
}

// Train CBOW: the mean of the rows of all context words is the input, and the centre word is the target. The
// whole update is added to each of these rows.
void PairWindow::cbow(std::size_t centre, std::size_t begin, std::size_t end, RandomStream& random) {
  rows_.clear();
  for (std::size_t at = begin; at < end; ++at) {
    if (at == centre) continue;
    if (options_.subwords.buckets == 0) {
      rows_.push_back(kept_[at]);
    } else {
      const auto rows = tables_.rows_of(kept_[at]);
      rows_.insert(rows_.end(), rows.begin(), rows.end());
    }
  }
  draw_outputs(kept_[centre], random);
  compose();
  step(&mean_, 1);
  spread();
}

}  // namespace regard::vectors
