#include "infer/choice.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "kernels/rows.h"

namespace regard::infer {
namespace {

Error every_token_excluded() {
  return Error(ErrorKind::numeric, "the options of generation exclude every token")
      .remedy("Remove some of the words and tokens that must not be generated");
}

}  // namespace

std::int64_t width_of(const SearchOptions& options) {
  return options.beam > 1 ? options.beam : options.sample ? options.n_best : 1;
}

ChoiceRule::ChoiceRule(const SearchOptions& of)
    : options(of),
      warp{of.temperature, of.top_k, of.top_p, of.min_p, of.typical_p, of.epsilon, of.eta, 1},
      ruled(!of.rules.change_nothing()),
      width(width_of(of)),
      each(Hypotheses::make(of, 1)->candidates()) {}

Chooser::Chooser(ThreadPool& pool, std::int64_t vocabulary)
    : pool_(pool),
      vocabulary_(static_cast<std::size_t>(vocabulary)),
      order_(static_cast<std::size_t>(pool.size())),
      history_(order_.size()),
      warped_(order_.size()) {}

// Reserve buffers for every worker, because any worker may process any row.
void Chooser::prepare(const ChoiceRule& rule, std::int64_t tokens) {
  // apply() may need a second copy of the tokens.
  if (rule.ruled)
    for (std::vector<std::int32_t>& history : history_) history.reserve(static_cast<std::size_t>(2 * tokens));
  if (rule.most_probable()) return;
  for (std::vector<std::int32_t>& order : order_) order.reserve(vocabulary_);
  for (std::vector<float>& scores : warped_) scores.reserve(vocabulary_);
}

Candidates Chooser::candidates(std::size_t first, std::size_t count) const {
  const std::size_t begin = begin_[first], all = begin_[first + count] - begin;
  return {rows_[first].rule->each, std::span(candidate_).subspan(begin, all),
          std::span(candidate_token_).subspan(begin, all)};
}

const Error* Chooser::failure(std::size_t first, std::size_t count) const {
  for (std::size_t row = first; row < first + count; ++row)
    if (failure_[row]) return &*failure_[row];
  return nullptr;
}

void Chooser::choose(float* logits, std::span<const ChoiceRow> rows) {
  rows_ = rows;
  const auto each = [&](std::size_t row) { return static_cast<std::size_t>(rows[row].rule->each); };
  begin_.assign(1, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) begin_.push_back(begin_.back() + each(row));
  candidate_.resize(begin_.back()), candidate_token_.resize(begin_.back());
  lse_.resize(rows.size()), failure_.assign(rows.size(), std::nullopt);
  kernels::log_sum_exp(pool_, logits, lse_.data(), std::ssize(rows), static_cast<std::int64_t>(vocabulary_));
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (!std::isfinite(lse_[row]))
      failure_[row] = Error(ErrorKind::numeric, "the model's logits are not finite")
                          .remedy("The weights are damaged or training diverged: use an earlier checkpoint");
  if (top_.size() < rows.size()) top_.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) find_top(logits + row * vocabulary_, row);
  const auto alike = [&](std::size_t a, std::size_t b) {
    return rows[a].rule->most_probable() == rows[b].rule->most_probable() && each(a) == each(b);
  };
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && alike(first, end)) ++end;
    choose_alike(logits, first, end - first);
    first = end;
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t i = begin_[row]; i < begin_[row + 1]; ++i) candidate_[i] -= lse_[row];
}

// Find the most probable tokens with a heap whose front is the least probable of them.
void Chooser::find_top(const float* logits, std::size_t row) {
  std::vector<TokenScore>& top = top_[row];
  top.clear();
  const std::int64_t count =
      std::min(rows_[row].rule->options.report_top, static_cast<std::int64_t>(vocabulary_));
  if (count <= 0 || failure_[row]) return;
  const auto better = [](const TokenScore& a, const TokenScore& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    return a.token < b.token;
  };
  for (std::size_t id = 0; id < vocabulary_; ++id) {
    const TokenScore next{static_cast<std::int32_t>(id), logits[id]};
    if (std::ssize(top) == count) {
      if (!better(next, top.front())) continue;
      std::pop_heap(top.begin(), top.end(), better);
      top.pop_back();
    }
    top.push_back(next);
    std::push_heap(top.begin(), top.end(), better);
  }
  std::sort_heap(top.begin(), top.end(), better);
  for (TokenScore& one : top) one.log_probability -= lse_[row];
}

void Chooser::choose_alike(float* logits, std::size_t first, std::size_t count) {
  if (rows_[first].rule->most_probable()) {
    rule_beams(logits, first, count);
    kernels::top_k(pool_, logits + first * vocabulary_, static_cast<std::int64_t>(count),
                   static_cast<std::int64_t>(vocabulary_), rows_[first].rule->each,
                   candidate_.data() + begin_[first], candidate_token_.data() + begin_[first]);
    return;
  }
  pool_.parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t i, int worker) {
    const std::size_t row = first + static_cast<std::size_t>(i);
    if (failure_[row]) return;
    try {
      choose_token(logits + row * vocabulary_, row, worker);
    } catch (const Error& error) {
      failure_[row] = error;
    }
  });
}

// Apply the rules of beam searches. The rules require log-probabilities, so the logits of these rows are
// replaced by log-probabilities, whose log-sum-exp is 0.
void Chooser::rule_beams(float* logits, std::size_t first, std::size_t count) {
  const auto ruled = [](const ChoiceRow& row) { return row.rule->ruled; };
  const std::span<const ChoiceRow> asked = rows_.subspan(first, count);
  if (std::none_of(asked.begin(), asked.end(), ruled)) return;
  pool_.parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t i, int worker) {
    const std::size_t row = first + static_cast<std::size_t>(i);
    if (!rows_[row].rule->ruled || failure_[row]) return;
    const std::span<float> scores = row_of(logits, row);
    for (float& score : scores) score -= lse_[row];
    apply(rows_[row].rule->options.rules, rows_[row].context, scores,
          history_[static_cast<std::size_t>(worker)]);
    lse_[row] = 0.0f;
    if (rows_[row].search->generated() == 0 &&
        std::ranges::all_of(scores, [](float x) { return std::isinf(x); }))
      failure_[row] = every_token_excluded();
  });
}

// Choose the candidates of a row: drawn tokens if sampling, otherwise the most probable token under the
// rules.
void Chooser::choose_token(const float* logits, std::size_t row, int worker) {
  const ChoiceRule& rule = *rows_[row].rule;
  std::vector<float>& scores = warped_[static_cast<std::size_t>(worker)];
  scores.assign(logits, logits + vocabulary_);
  if (rule.ruled)
    apply(rule.options.rules, rows_[row].context, scores, history_[static_cast<std::size_t>(worker)]);
  if (rule.options.rules.scores_after_rules) {
    kernels::log_sum_exp(pool_, scores.data(), &lse_[row], 1, static_cast<std::int64_t>(vocabulary_));
    if (std::ranges::all_of(scores, [](float x) { return std::isinf(x); })) throw every_token_excluded();
    logits = scores.data();
  }
  if (!rule.options.sample) {
    float best = 0.0f;
    std::int32_t& token = candidate_token_[begin_[row]];
    kernels::top_k(pool_, scores.data(), 1, static_cast<std::int64_t>(vocabulary_), 1, &best, &token);
    // If the rules forbid every token, top_k() returns −1; choose token 0.
    token = std::max(token, 0);
    candidate_[begin_[row]] = logits[token];
    return;
  }
  // copy of the scores after the rules, if log-probabilities are computed from them
  std::vector<float> ruled;
  if (rule.options.rules.scores_after_rules) ruled = scores, logits = ruled.data();
  if (!rule.warp.changes_nothing()) warp(rule.warp, scores, order_[static_cast<std::size_t>(worker)]);
  draw_tokens(logits, row, scores);
}

// Random draws are keyed by seed, sequence and step.
void Chooser::draw_tokens(const float* logits, std::size_t row, std::vector<float>& scores) {
  const ChoiceRule& rule = *rows_[row].rule;
  const Hypotheses& search = *rows_[row].search;
  const auto key = fold({rule.options.seed, 0, place_of("sampling")});
  const bool first = search.generated() == 0;
  for (std::int64_t i = 0; i < (first ? rule.width : 1); ++i) {
    const std::int64_t sequence = first ? i : search.sequence(rows_[row].row);
    const Counter words =
        philox({static_cast<std::uint32_t>(search.generated()), static_cast<std::uint32_t>(sequence), 0, 0},
               key[0], key[1]);
    const double uniform =
        (static_cast<double>(words[0]) + static_cast<double>(words[1]) * 0x1p-32) * 0x1p-32;
    const std::int32_t token = draw(scores, std::min(uniform, 1.0 - 0x1p-53));
    const std::size_t at = begin_[row] + static_cast<std::size_t>(i);
    candidate_token_[at] = token;
    candidate_[at] = logits[token];
  }
}

}  // namespace regard::infer
