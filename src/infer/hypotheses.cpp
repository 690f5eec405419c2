#include "infer/hypotheses.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace regard::infer {

Hypotheses::Hypotheses(const SearchOptions& options, std::int64_t max_new, std::int64_t width,
                       std::int64_t candidates)
    : options_(options),
      max_new_(max_new),
      width_(width),
      candidates_(candidates),
      capacity_(std::min(max_new, kFirstCapacity)) {
  const auto rows = static_cast<std::size_t>(width);
  log_probability_.resize(rows), next_log_probability_.resize(rows);
  parents_.resize(rows), sequence_.resize(rows), next_sequence_.resize(rows);
  tokens_.resize(rows * static_cast<std::size_t>(capacity_));
  next_tokens_.resize(tokens_.size());
  each_log_probability_.resize(tokens_.size()), next_each_.resize(tokens_.size());
  if (options.stop_strings) stop_scratch_.reserve(static_cast<std::size_t>(capacity_));
}

bool Hypotheses::ends(std::int32_t token) const {
  return std::find(options_.end_tokens.begin(), options_.end_tokens.end(), token) !=
         options_.end_tokens.end();
}

double Hypotheses::normalised(double log_probability, std::int64_t tokens) const {
  return log_probability / std::pow(static_cast<double>(tokens), options_.length_penalty);
}

bool Hypotheses::stops(std::int64_t row, std::int32_t token) {
  if (!options_.stop_strings) return false;
  const std::span<const std::int32_t> before = history(row);
  stop_scratch_.assign(before.begin(), before.end());
  stop_scratch_.push_back(token);
  return options_.stop_strings->ended_by(prompt_, stop_scratch_);
}

void Hypotheses::complete(Hypothesis& result, const Continuation& last, bool ended, bool stopped) const {
  const std::span<const std::int32_t> before = history(last.row);
  result.tokens.assign(before.begin(), before.end());
  result.tokens.push_back(last.token);
  const float* each = each_log_probability_.data() + last.row * capacity_;
  result.token_log_probabilities.assign(each, each + generated_);
  result.token_log_probabilities.push_back(last.last);
  result.log_probability = static_cast<float>(last.log_probability);
  result.score = static_cast<float>(normalised(last.log_probability, generated_ + 1));
  result.ended = ended || stopped;
  result.stopped = stopped;
}

Hypothesis Hypotheses::running(std::int64_t row) const {
  Hypothesis result;
  const std::span<const std::int32_t> tokens = history(row);
  result.tokens.assign(tokens.begin(), tokens.end());
  const float* each = each_log_probability_.data() + row * capacity_;
  result.token_log_probabilities.assign(each, each + generated_);
  const double log_probability = log_probability_[static_cast<std::size_t>(row)];
  result.log_probability = static_cast<float>(log_probability);
  result.score = static_cast<float>(normalised(log_probability, generated_));
  return result;
}

void Hypotheses::continue_row(std::int64_t to, const Continuation& next) {
  const auto begin = next.row * capacity_;
  std::copy_n(tokens_.data() + begin, generated_, next_tokens_.data() + to * capacity_);
  std::copy_n(each_log_probability_.data() + begin, generated_, next_each_.data() + to * capacity_);
  next_tokens_[static_cast<std::size_t>(to * capacity_ + generated_)] = next.token;
  next_each_[static_cast<std::size_t>(to * capacity_ + generated_)] = next.last;
  next_log_probability_[static_cast<std::size_t>(to)] = next.log_probability;
  parents_[static_cast<std::size_t>(to)] = next.row;
}

void Hypotheses::finish_step(std::int64_t rows) {
  std::swap(tokens_, next_tokens_);
  std::swap(each_log_probability_, next_each_);
  std::swap(log_probability_, next_log_probability_);
  std::swap(sequence_, next_sequence_);
  rows_ = rows;
  ++generated_;
  if (rows_ > 0 && generated_ == capacity_ && capacity_ < max_new_) grow();
}

void Hypotheses::grow() {
  const std::int64_t capacity = std::min(2 * capacity_, max_new_);
  const auto spread = [&](auto& values, auto& next) {
    next.assign(static_cast<std::size_t>(width_ * capacity), {});
    for (std::int64_t row = 0; row < rows_; ++row)
      std::copy_n(values.data() + row * capacity_, generated_, next.data() + row * capacity);
    values.swap(next);
    next.resize(values.size());
  };
  spread(tokens_, next_tokens_);
  spread(each_log_probability_, next_each_);
  capacity_ = capacity;
}

namespace {

// Reserve memory so that a step allocates nothing during the first kFirstCapacity tokens.
void reserve(Hypothesis& result, std::int64_t tokens) {
  tokens = std::min(tokens, kFirstCapacity);
  result.tokens.reserve(static_cast<std::size_t>(tokens));
  result.token_log_probabilities.reserve(static_cast<std::size_t>(tokens));
}

// Hypotheses of greedy search and of sampling, which are independent sequences.
class IndependentSequences : public Hypotheses {
 public:
  IndependentSequences(const SearchOptions& options, std::int64_t max_new, std::int64_t count)
      : Hypotheses(options, max_new, count, count), results_(static_cast<std::size_t>(count)) {
    for (Hypothesis& result : results_) reserve(result, max_new);
  }

  void advance(const Candidates& candidates) override {
    const bool first = generated() == 0;
    std::int64_t kept = 0;
    for (std::int64_t row = 0; row < (first ? width_ : rows_); ++row) {
      const auto from = static_cast<std::int32_t>(first ? 0 : row);
      const auto sequence = static_cast<std::int32_t>(first ? row : this->sequence(row));
      const auto at = static_cast<std::size_t>(from * candidates.each + (first ? row : 0));
      const float last = candidates.log_probability[at];
      const Continuation next{log_probability_[static_cast<std::size_t>(from)] + static_cast<double>(last),
                              last, from, candidates.token[at]};
      const bool ended = ends(next.token), stopped = !ended && stops(from, next.token);
      if (ended || stopped || generated() + 1 == max_new_) {
        complete(results_[static_cast<std::size_t>(sequence)], next, ended, stopped);
        continue;
      }
      next_sequence_[static_cast<std::size_t>(kept)] = sequence;
      continue_row(kept++, next);
    }
    finish_step(kept);
  }

  std::vector<Hypothesis> results() const override { return results_; }

  std::vector<Hypothesis> so_far() const override {
    if (generated() == 0) return {};
    std::vector<Hypothesis> all = results_;
    for (std::int64_t row = 0; row < rows_; ++row)
      all[static_cast<std::size_t>(sequence(row))] = running(row);
    return all;
  }

 private:
  std::vector<Hypothesis> results_;
};

// Beam search as in Hugging Face's generate(), so that scores can be compared. Each step sorts the best
// max(2, 1 + number of end tokens) × beam continuations. The first `beam` continuations that do not end
// become the next rows. A continuation that ends becomes a finished hypothesis if it is among the first
// `beam` of all. The length of a finished hypothesis includes the end token.
class BeamSearch : public Hypotheses {
 public:
  BeamSearch(const SearchOptions& options, std::int64_t max_new)
      : Hypotheses(options, max_new, options.beam,
                   std::max<std::int64_t>(2, 1 + static_cast<std::int64_t>(options.end_tokens.size())) *
                       options.beam) {
    merged_.reserve(static_cast<std::size_t>(width_ * candidates_));
    step_.kept.reserve(static_cast<std::size_t>(width_));
    step_.finished.reserve(static_cast<std::size_t>(width_));
    finished_.reserve(static_cast<std::size_t>(width_ + 1));
    for (std::int64_t i = 0; i <= width_; ++i) reserve(spare_.emplace_back(), max_new);
    spare_.reserve(spare_.size());
  }

  void advance(const Candidates& candidates) override {
    merge(candidates);
    step_.kept.clear(), step_.finished.clear();
    if (merged_.empty()) return end_search();
    std::int64_t kept = 0;
    bool all_end = true;
    for (std::size_t place = 0; place < merged_.size(); ++place) {
      const Continuation& next = merged_[place];
      const bool ended = ends(next.token), stopped = !ended && stops(next.row, next.token);
      const bool last = ended || stopped || generated() + 1 == max_new_;
      if (last && place < static_cast<std::size_t>(width_)) {
        report(next, ended || stopped, step_.finished);
        finish(next, ended, stopped);
      }
      if (last) continue;
      all_end = false;
      if (kept == width_) continue;
      report(next, false, step_.kept);
      continue_row(kept++, next);
    }
    finish_step(kept);
    if (all_end || (full() && (options_.early_stopping == EarlyStopping::yes || !can_improve()))) rows_ = 0;
  }

  const BeamStep* last_step() const override { return &step_; }

  std::vector<Hypothesis> results() const override {
    std::vector<Hypothesis> best;
    for (std::size_t i = 0; i < finished_.size() && i < static_cast<std::size_t>(options_.n_best); ++i)
      best.push_back(finished_[i]);
    return best;
  }

  std::vector<Hypothesis> so_far() const override {
    if (generated() == 0) return {};
    std::vector<Hypothesis> all = finished_;
    for (std::int64_t row = 0; row < rows_; ++row) all.push_back(running(row));
    std::stable_sort(all.begin(), all.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    if (std::ssize(all) > options_.n_best) all.resize(static_cast<std::size_t>(options_.n_best));
    return all;
  }

 private:
  // Collect the best continuations of all rows, best first. Among equal ones, the lower row is first, then
  // the lower token id.
  void merge(const Candidates& candidates) {
    merged_.clear();
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t c = 0; c < candidates.each; ++c) {
        const auto at = static_cast<std::size_t>(row * candidates.each + c);
        if (candidates.token[at] < 0 || std::isinf(candidates.log_probability[at])) continue;
        merged_.push_back({log_probability_[static_cast<std::size_t>(row)] +
                               static_cast<double>(candidates.log_probability[at]),
                           candidates.log_probability[at], static_cast<std::int32_t>(row),
                           candidates.token[at]});
      }
    const std::size_t wanted = std::min(merged_.size(), static_cast<std::size_t>(candidates_));
    const auto better = [](const Continuation& a, const Continuation& b) {
      if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
      return a.row != b.row ? a.row < b.row : a.token < b.token;
    };
    std::partial_sort(merged_.begin(), merged_.begin() + static_cast<std::ptrdiff_t>(wanted), merged_.end(),
                      better);
    merged_.resize(wanted);
  }

  // Append `next` to `nodes`. Call before finish_step().
  void report(const Continuation& next, bool ended, std::vector<BeamNode>& nodes) const {
    nodes.push_back({next.row, next.token, static_cast<float>(next.log_probability),
                     static_cast<float>(normalised(next.log_probability, generated() + 1)), ended});
  }

  void finish(const Continuation& next, bool ended, bool stopped) {
    const double score = normalised(next.log_probability, generated() + 1);
    if (full() && !(static_cast<float>(score) > finished_.back().score)) return;
    if (full()) {
      spare_.push_back(std::move(finished_.back()));
      finished_.pop_back();
    }
    Hypothesis result = std::move(spare_.back());
    spare_.pop_back();
    complete(result, next, ended, stopped);
    const auto place = std::find_if(finished_.begin(), finished_.end(),
                                    [&](const Hypothesis& other) { return other.score < result.score; });
    finished_.insert(place, std::move(result));
  }

  // End the search because no row has a continuation: the rules forbid every token. The running hypotheses
  // become results.
  void end_search() {
    for (std::int64_t row = 0; row < rows_; ++row) finished_.push_back(running(row));
    std::ranges::stable_sort(finished_, std::ranges::greater(), &Hypothesis::score);
    if (std::ssize(finished_) > width_) finished_.resize(static_cast<std::size_t>(width_));
    rows_ = 0;
  }

  bool full() const { return finished_.size() == static_cast<std::size_t>(width_); }

  // Return true if the best running hypothesis may still get a higher score than the worst finished one. Call
  // after finish_step().
  bool can_improve() const {
    if (rows_ == 0) return false;
    const bool longest = options_.early_stopping == EarlyStopping::never && options_.length_penalty > 0.0;
    const double best = normalised(log_probability_[0], longest ? max_new_ : generated());
    return best > static_cast<double>(finished_.back().score);
  }

  std::vector<Continuation> merged_;
  std::vector<Hypothesis> finished_;  // finished hypotheses, best first, at most `beam`
  BeamStep step_;                     // result of last_step()
  std::vector<Hypothesis> spare_;     // unused hypotheses, kept for their reserved memory
};

}  // namespace

std::unique_ptr<Hypotheses> Hypotheses::make(const SearchOptions& options, std::int64_t max_new,
                                             std::span<const std::int32_t> prompt) {
  std::unique_ptr<Hypotheses> made;
  if (options.beam > 1)
    made = std::make_unique<BeamSearch>(options, max_new);
  else
    made = std::make_unique<IndependentSequences>(options, max_new, options.sample ? options.n_best : 1);
  made->prompt_ = prompt;
  return made;
}

}  // namespace regard::infer
