// Chooses candidate tokens from logits. Each row uses the options of its request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "infer/hypotheses.h"
#include "infer/search.h"
#include "infer/token_rules.h"
#include "infer/warp.h"
#include "regard/error.h"

namespace regard::infer {

// Return the number of rows of a request: the beam width, the number of samples, or 1 for greedy search.
std::int64_t width_of(const SearchOptions& options);

// The options of a request, with values that Chooser derives from them.
struct ChoiceRule {
  explicit ChoiceRule(const SearchOptions& of);  // `of` must outlive this object

  const SearchOptions& options;
  Warp warp;
  bool ruled;                // true if options.rules has an effect
  std::int64_t width, each;  // width: number of rows of the request; each: number of candidates per row
  // Return true if the candidates are the top `each` logits of a row.
  bool most_probable() const { return !options.sample && (!ruled || options.beam > 1); }
};

struct ChoiceRow {
  const ChoiceRule* rule = nullptr;
  const Hypotheses* search = nullptr;
  std::int64_t row = 0;  // index of the row in its search
  RuleContext context;
};

// Chooses the candidates of one step from the logits. Allocates nothing if the numbers of rows and candidates
// do not grow.
class Chooser {
 public:
  Chooser(ThreadPool& pool, std::int64_t vocabulary);

  // Reserve a buffer for requests that use `rule` and have up to `tokens` tokens, including the prompt.
  void prepare(const ChoiceRule& rule, std::int64_t tokens);

  // Choose the candidates of each row. logits [rows, vocabulary] is modified. The rows of one request must be
  // contiguous; `rows` must stay valid until the last call of candidates() and failure().
  void choose(float* logits, std::span<const ChoiceRow> rows);

  // Return the candidates of rows [first, first + count), which belong to one request. Valid until the next
  // choose().
  Candidates candidates(std::size_t first, std::size_t count) const;
  // Return the options.report_top most probable tokens of a row. Valid until the next choose().
  const std::vector<TokenScore>& top(std::size_t row) const { return top_[row]; }
  // Return the first error among rows [first, first + count), or null if there is none. Errors: the model's
  // output is not finite, or no token can be drawn. Valid until the next choose().
  const Error* failure(std::size_t first, std::size_t count) const;

 private:
  void check(std::span<const ChoiceRow> rows);
  void find_top(const float* logits, std::size_t row);
  void choose_alike(float* logits, std::size_t first, std::size_t count);
  void rule_beams(float* logits, std::size_t first, std::size_t count);
  void choose_token(const float* logits, std::size_t row, int worker);
  void draw_tokens(const float* logits, std::size_t row, std::vector<float>& scores);
  std::span<float> row_of(float* logits, std::size_t row) const {
    return {logits + row * vocabulary_, vocabulary_};
  }

  ThreadPool& pool_;
  std::size_t vocabulary_;
  std::span<const ChoiceRow> rows_;
  std::vector<float> lse_, candidate_;
  std::vector<std::int32_t> candidate_token_;
  std::vector<std::size_t> begin_;             // offset of each row's candidates: [rows + 1]
  std::vector<std::optional<Error>> failure_;  // error of each row; nullopt if there is none
  // most probable tokens of each row; may have more elements than there are rows
  std::vector<std::vector<TokenScore>> top_;
  std::vector<std::vector<std::int32_t>> order_, history_;  // buffers, one for each worker
  std::vector<std::vector<float>> warped_;
};

}  // namespace regard::infer
