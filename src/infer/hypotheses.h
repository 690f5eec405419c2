// The running hypotheses of one request: which tokens come next, which hypothesis each follows from, and what
// is finished. It knows nothing of models: it sees the candidates of each row, best first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "infer/search.h"

namespace regard::infer {

// Of each running row, the most probable next tokens (or, when sampling, those drawn).
struct Candidates {
  std::int64_t each = 0;                   // entries a row
  std::span<const float> log_probability;  // [rows, each]; −∞ where there is none
  std::span<const std::int32_t> token;     // [rows, each]; −1 where there is none
};

// Tokens of each row that have memory from the start; more is taken as they are generated.
inline constexpr std::int64_t kFirstRoom = 4096;

class Hypotheses {
 public:
  // max_new ≥ 1. A beam search where beam > 1; otherwise independent sequences: one, or n_best when sampling.
  static std::unique_ptr<Hypotheses> make(const SearchOptions& options, std::int64_t max_new);
  virtual ~Hypotheses() = default;

  std::int64_t width() const { return width_; }  // rows at most
  // Candidates that advance() wants of each row. When sampling: the draws for the row's own sequence, except
  // at the first step, where the one row stands for all sequences and has a draw for each.
  std::int64_t candidates() const { return candidates_; }

  std::int64_t rows() const { return rows_; }  // running now; before the first step 1
  bool done() const { return rows_ == 0; }
  std::int64_t generated() const { return generated_; }  // tokens that each running row has
  std::int32_t last_token(std::int64_t row) const {
    return history(row)[static_cast<std::size_t>(generated_ - 1)];
  }
  std::span<const std::int32_t> history(std::int64_t row) const {
    return {tokens_.data() + row * room_, static_cast<std::size_t>(generated_)};
  }
  // Which row before the last advance() each running row continues.
  std::span<const std::int32_t> parents() const { return {parents_.data(), static_cast<std::size_t>(rows_)}; }
  // Which of the independent sequences a row is.
  std::int64_t sequence(std::int64_t row) const { return sequence_[static_cast<std::size_t>(row)]; }

  virtual void advance(const Candidates& candidates) = 0;

  // Best first, up to n_best; of independent sequences in their order.
  virtual std::vector<Hypothesis> results() const = 0;
  // The same before it is done: hypotheses that still run are given as far as they are. None before the first
  // token.
  virtual std::vector<Hypothesis> so_far() const = 0;

 protected:
  Hypotheses(const SearchOptions& options, std::int64_t max_new, std::int64_t width, std::int64_t candidates);

  struct Continuation {
    double log_probability;  // of all tokens
    float last;              // of the last one
    std::int32_t row, token;
  };

  bool ends(std::int32_t token) const;
  // Whether a stop string is complete when `token` follows row `row`.
  bool stops(std::int64_t row, std::int32_t token);
  Hypothesis running(std::int64_t row) const;  // a running row as it is
  // What row `from` and a last token become.
  void complete(Hypothesis& result, const Continuation& last, bool ended, bool stopped) const;
  double normalised(double log_probability, std::int64_t tokens) const;
  // Row `to` of the next step: row `next.row` of this one and a token.
  void continue_row(std::int64_t to, const Continuation& next);
  void finish_step(std::int64_t rows);

  const SearchOptions& options_;
  std::int64_t max_new_, width_, candidates_;
  std::int64_t rows_ = 1, generated_ = 0;
  std::vector<double> log_probability_, next_log_probability_;    // [width]
  std::vector<std::int32_t> parents_, sequence_, next_sequence_;  // [width]

 private:
  void grow();

  std::int64_t room_;                                    // tokens of a row that have memory, at most max_new
  std::vector<std::int32_t> tokens_, next_tokens_;       // [width, room]
  std::vector<float> each_log_probability_, next_each_;  // [width, room]
  std::vector<std::int32_t> stop_scratch_;
};

}  // namespace regard::infer
