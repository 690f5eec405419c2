// Upper bounds for a request: number of new tokens, cache pages and cache capacity.
#include <algorithm>

#include "infer/new_tokens.h"
#include "infer/scheduler.h"

namespace regard::infer {
namespace {

// For one token, attention to kKeysAsCostly × hidden_size keys takes about as long as the rest of the layer.
// The matrix products need about 24 × hidden_size² operations. Attention needs 4 × hidden_size operations per
// key and runs at about half the speed.
constexpr std::int64_t kKeysAsCostly = 3;
// upper limit of a step's token budget; avoids overflow
constexpr std::int64_t kMostUnits = std::int64_t{1} << 31;

}  // namespace

std::int64_t Scheduler::length_of_source(const Request& request) const {
  if (model_.kind() != ModelKind::encoder_decoder) return 0;
  return model_.input_spec().length_of(request.source);
}

std::int64_t new_tokens_of(const Network& model, const Request& request, const SearchOptions& options) {
  std::int64_t limit = options.max_new;
  const bool encoder = model.kind() == ModelKind::encoder_decoder;
  const auto prompt = std::max<std::int64_t>(1, std::ssize(request.prompt));
  if (limit <= 0 && !encoder && options.max_length > 0) return options.max_length - prompt;
  if (limit <= 0) limit = request.source.ids.empty() ? kDefaultNew : 2 * std::ssize(request.source.ids) + 16;
  // The last generated token is never an input, so it needs no position.
  if (encoder && model.max_positions() > 0) limit = std::min(limit, model.max_positions() + 1 - prompt);
  return limit;
}

void limit_new_tokens(const Network& model, const Request& request, std::int64_t most,
                      SearchOptions& options) {
  if (new_tokens_of(model, request, options) > most) options.max_new = most;
}

std::int64_t Scheduler::limit_of(const Request& request) const {
  return new_tokens_of(model_, request, options_of(request));
}

std::int64_t Scheduler::pages_of_row(const Request& request) const {
  const auto prompt = std::max<std::int64_t>(1, std::ssize(request.prompt));
  std::int64_t tokens = prompt + limit_of(request) - 1;
  if (model_.max_positions() > 0) tokens = std::min(tokens, model_.max_positions());
  const std::int64_t window = cache_.shape().window, all = pages_for(tokens);
  if (window <= 0) return all;
  // A row contains the tokens of the window and of one step, at contiguous positions. If the first position
  // is inside a page, the row occupies one page more than pages_for() returns. The second added page is a
  // margin.
  return std::min(all, pages_for(window + std::min(prompt, limits_.tokens_at_once)) + 2);
}

std::int64_t Scheduler::pages_of_source(const Request& request) const {
  return pages_for(length_of_source(request));
}

// Reserve cache capacity for `tokens` tokens per slot, but not more than the job can need.
void Scheduler::reserve_cache(const Job& job, std::int64_t tokens) {
  tokens = std::min(tokens, std::ssize(job.request.prompt) + job.limit);
  cache_.reserve(model_.max_positions() > 0 ? std::min(tokens, model_.max_positions()) : tokens);
}

// Return an upper bound of the number of pages that the job may still allocate. A row that shares its last
// page counts one page more, because it may have to copy that page. When rows fork, diverge or end, the
// number of needed pages grows at most by the number of released pages. An admitted request therefore always
// has enough pages.
std::int64_t Scheduler::pages_to_come(const Job& job) const {
  // Independent sequences that have ended need no more pages. In a beam search, all rows are counted, because
  // a fork may use an ended row again.
  const bool forked = job.search && job.search->generated() > 0 && job.rule.options.beam == 1;
  const std::int64_t rows = forked ? job.search->rows() : std::ssize(job.slots);
  std::int64_t pages = job.encoded ? 0 : job.source_pages;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t slot = job.slots[static_cast<std::size_t>(row)];
    pages += std::max<std::int64_t>(0, job.row_pages - cache_.held_pages(slot));
    pages += cache_.writes_to_shared_page(slot) ? 1 : 0;
  }
  return pages;
}

// The following functions determine the number of prompt tokens in a step.

// Set the number of prompt tokens that each request in prefill feeds in this step.
void Scheduler::share_budget() {
  feeding_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i]->search->generated() == 0)
      feeding_.emplace_back(std::ssize(jobs_[i]->request.prompt) - cache_.length(jobs_[i]->slots[0]) +
                                (jobs_[i]->encoded ? 0 : jobs_[i]->source_length),
                            i);
  std::int64_t budget = limits_.tokens_at_once;
  if (!limits_.short_prompts_first || feeding_.size() < 2) {
    for (const auto& [tokens, index] : feeding_) allot(*jobs_[index], budget);
    return;
  }
  // In every second step the oldest request is first, so that long prompts are completed too. This request
  // gets a quarter of the tokens, so that the first tokens of the other requests are not delayed.
  const std::size_t oldest = feeding_[0].second;
  const bool divides = model_.kind() == ModelKind::decoder;  // a source is never divided
  std::sort(feeding_.begin() + static_cast<std::ptrdiff_t>(steps_++ % 2), feeding_.end());
  for (const auto& [tokens, index] : feeding_) {
    const std::int64_t share =
        divides && index == oldest ? std::min(budget, std::max<std::int64_t>(1, budget / 4)) : budget;
    std::int64_t rest = share;
    allot(*jobs_[index], rest);
    budget -= share - rest;
  }
}

void Scheduler::allot(Job& job, std::int64_t& budget) {
  job.fed_now = 0;
  if (!job.encoded && model_.kind() == ModelKind::encoder_decoder) {
    if (job.source_length > budget && budget < limits_.tokens_at_once) return;
    budget = std::max<std::int64_t>(1, budget - job.source_length);
  }
  const std::int64_t before = cache_.length(job.slots[0]);
  const std::int64_t rest = std::ssize(job.request.prompt) - before;
  if (!limits_.short_prompts_first) {
    job.fed_now = std::min(rest, budget);
    budget -= job.fed_now;
    return;
  }
  // A token that attends to many other tokens takes longer to compute than a token at the start of a text.
  // Later slices of a prompt are therefore shorter, so that all steps take about the same time and a long
  // prompt does not delay a short one.
  const std::int64_t window = cache_.shape().window;
  const std::int64_t keys = window > 0 ? std::min(before, window) : before;
  const std::int64_t even = kKeysAsCostly * model_.hidden_size();
  const std::int64_t units = std::min(budget, kMostUnits);
  job.fed_now = std::min(rest, (units * even + even + keys - 1) / (even + keys));
  budget -= std::min(budget, job.fed_now * (even + keys) / even);
}

}  // namespace regard::infer
