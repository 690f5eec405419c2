// Hypotheses: the running and the finished hypotheses of one request. Each step extends the running rows with
// candidate tokens; the class does not call the model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "infer/search.h"

namespace regard::infer {

// The most probable next tokens of each running row (or, when sampling, the tokens drawn).
struct Candidates {
  std::int64_t each = 0;                   // number of entries per row
  std::span<const float> log_probability;  // [rows, each]; −∞ marks an empty entry
  std::span<const std::int32_t> token;     // [rows, each]; −1 marks an empty entry
};

// A row of the previous step, followed by a token.
struct BeamNode {
  std::int32_t parent = 0;  // index in BeamStep::kept of the previous step; 0 in the first step
  std::int32_t token = 0;
  float log_probability = 0.0f;  // sum over all tokens of the hypothesis
  float score = 0.0f;            // log_probability / tokens^length_penalty
  bool ended = false;            // true if an end token or a stop string ends the hypothesis
};

// The kept and the finished continuations of one step of a beam search, each list ordered best first. Of
// the finished continuations, those with the highest scores become results.
struct BeamStep {
  std::vector<BeamNode> kept, finished;
};

// Number of tokens per row for which memory is allocated at the start. The memory grows if more are
// generated.
inline constexpr std::int64_t kFirstCapacity = 4096;

class Hypotheses {
 public:
  // Create a beam search if options.beam > 1, otherwise n_best independent sequences (one if options.sample
  // is false). `max_new` must be at least 1. The options and the prompt must outlive the result.
  static std::unique_ptr<Hypotheses> make(const SearchOptions& options, std::int64_t max_new,
                                          std::span<const std::int32_t> prompt = {});
  virtual ~Hypotheses() = default;

  std::int64_t width() const { return width_; }  // maximum number of rows
  // Number of candidates per row that advance() expects. Sampling uses one candidate of each row; in the
  // first step, it uses one candidate of the single row for each sequence.
  std::int64_t candidates() const { return candidates_; }

  std::int64_t rows() const { return rows_; }  // number of running rows; there is 1 before the first step
  bool done() const { return rows_ == 0; }
  std::int64_t generated() const { return generated_; }  // tokens generated so far in each running row
  std::int32_t last_token(std::int64_t row) const {
    return history(row)[static_cast<std::size_t>(generated_ - 1)];
  }
  std::span<const std::int32_t> history(std::int64_t row) const {
    return {tokens_.data() + row * capacity_, static_cast<std::size_t>(generated_)};
  }
  // Return, for each running row, the index of the row that it continues, as numbered before the last
  // advance().
  std::span<const std::int32_t> parents() const { return {parents_.data(), static_cast<std::size_t>(rows_)}; }
  // Return the index of the independent sequence that the row contains. Not meaningful for a beam search.
  std::int64_t sequence(std::int64_t row) const { return sequence_[static_cast<std::size_t>(row)]; }

  // Extend the running rows by one token each, and finish or drop the rows that end.
  virtual void advance(const Candidates& candidates) = 0;

  // Return the last step of a beam search; null for other searches.
  virtual const BeamStep* last_step() const { return nullptr; }

  // Return the finished hypotheses: up to n_best, best first. Independent sequences are ordered by index.
  virtual std::vector<Hypothesis> results() const = 0;
  // Like results(), but include the running hypotheses as generated so far. Empty before the first token.
  virtual std::vector<Hypothesis> so_far() const = 0;

 protected:
  Hypotheses(const SearchOptions& options, std::int64_t max_new, std::int64_t width, std::int64_t candidates);

  struct Continuation {
    double log_probability;  // sum of log-probabilities over all tokens
    float last;              // log-probability of the last token
    std::int32_t row, token;
  };

  bool ends(std::int32_t token) const;
  // Return true if appending `token` to row `row` completes a stop string.
  bool stops(std::int64_t row, std::int32_t token);
  Hypothesis running(std::int64_t row) const;  // return the hypothesis of a running row so far
  // Fill `result` with row `last.row` followed by `last.token`.
  void complete(Hypothesis& result, const Continuation& last, bool ended, bool stopped) const;
  double normalised(double log_probability, std::int64_t tokens) const;
  // Fill row `to` of the next step with row `next.row` of this step, followed by `next.token`.
  void continue_row(std::int64_t to, const Continuation& next);
  void finish_step(std::int64_t rows);

  const SearchOptions& options_;
  std::int64_t max_new_, width_, candidates_;
  std::int64_t rows_ = 1, generated_ = 0;
  std::vector<double> log_probability_, next_log_probability_;    // [width]
  std::vector<std::int32_t> parents_, sequence_, next_sequence_;  // [width]

 private:
  void grow();

  std::int64_t capacity_;  // number of tokens per row for which memory is allocated; at most max_new
  std::vector<std::int32_t> tokens_, next_tokens_;       // [width, capacity]
  std::vector<float> each_log_probability_, next_each_;  // [width, capacity]
  std::span<const std::int32_t> prompt_;
  std::vector<std::int32_t> stop_scratch_;
};

}  // namespace regard::infer
