#include "inspect/generation_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "inspect/shown_tokens.h"

namespace regard::inspect {
namespace {

// Maximum number of candidates of a step: kMostCandidates, or kFewCandidates if there are more than
// kManyPositions positions.
constexpr std::int64_t kMostCandidates = 50, kFewCandidates = 8, kManyPositions = 64;

double log_sum_exp(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(most));
  return static_cast<double>(most) + std::log(sum);
}

}  // namespace

std::vector<GenerationStep> generation_steps(const Tensor& logits, std::span<const std::int32_t> written,
                                             const text::Tokenizer* tokenizer) {
  std::vector<GenerationStep> steps;
  if (!logits.defined() || logits.columns() == 0) return steps;
  const std::int64_t positions = std::min(logits.rows(), std::ssize(written));
  const std::int64_t most =
      std::min(logits.columns(), positions > kManyPositions ? kFewCandidates : kMostCandidates);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(logits.columns()));
  for (std::int64_t row = 0; row < positions; ++row) {
    const std::span<const float> own(logits.row(row), ids.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + most, ids.end(), [&](std::int32_t a, std::int32_t b) {
      const float left = own[static_cast<std::size_t>(a)], right = own[static_cast<std::size_t>(b)];
      return left > right || (left == right && a < b);
    });
    GenerationStep& step = steps.emplace_back();
    for (const std::int32_t id : std::span(ids).first(static_cast<std::size_t>(most)))
      step.candidates.push_back(
          {id, shown_token(tokenizer, id), own[static_cast<std::size_t>(id)], partial_bytes(tokenizer, id)});
    step.log_sum_exp = log_sum_exp(own);
    step.written_logit = own[static_cast<std::size_t>(written[static_cast<std::size_t>(row)])];
  }
  return steps;
}

}  // namespace regard::inspect
