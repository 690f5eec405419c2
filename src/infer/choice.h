// From logits to the tokens that searches go on from: each row under the options of its own request.
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

std::int64_t width_of(const SearchOptions& options);  // rows of a request: beams, or samples

// What a request's options mean for the choice of its tokens.
struct ChoiceRule {
  explicit ChoiceRule(const SearchOptions& of);  // kept by reference

  const SearchOptions& options;
  Warp warp;
  bool ruled;                // the options' rules change something
  std::int64_t width, each;  // rows of the request; candidates of a row
  bool most_probable() const { return !options.sample && (!ruled || options.beam > 1); }  // of logits
};

struct ChoiceRow {
  const ChoiceRule* rule = nullptr;
  const Hypotheses* search = nullptr;
  std::int64_t row = 0;  // of the search
  RuleContext context;
};

// A steady step allocates nothing.
class Chooser {
 public:
  Chooser(ThreadPool& pool, std::int64_t vocabulary);

  // Scratch for requests under this rule whose texts come to be so long.
  void prepare(const ChoiceRule& rule, std::int64_t tokens);

  // logits [rows, vocabulary], changed in place. The rows of one request stand together.
  void choose(float* logits, std::span<const ChoiceRow> rows);

  // Of `count` rows of one request from `first` on; valid until the next choose().
  Candidates candidates(std::size_t first, std::size_t count) const;
  // Why none of these rows may be gone on from: the model's numbers are not finite. Null: all is well.
  const Error* failure(std::size_t first, std::size_t count) const;

 private:
  void check(std::span<const ChoiceRow> rows);
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
  std::vector<std::size_t> begin_;                          // of each row's candidates; one more than rows
  std::vector<std::optional<Error>> failure_;               // of each row
  std::vector<std::vector<std::int32_t>> order_, history_;  // scratch of each worker
  std::vector<std::vector<float>> warped_;
};

}  // namespace regard::infer
