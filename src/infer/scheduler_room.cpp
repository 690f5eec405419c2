// What a request may come to need: tokens, pages, room in the cache.
#include <algorithm>

#include "infer/scheduler.h"

namespace regard::infer {

std::int64_t Scheduler::limit_of(const Request& request) const {
  const SearchOptions& options = options_of(request);
  std::int64_t limit = options.max_new;
  const bool encoder = model_.kind() == ModelKind::encoder_decoder;
  const auto prompt = std::max<std::int64_t>(1, std::ssize(request.prompt));
  if (limit <= 0 && !encoder && options.max_length > 0) return options.max_length - prompt;
  if (limit <= 0) limit = encoder ? 2 * std::ssize(request.source) + 16 : kDefaultNew;
  // The last token generated is never fed back, so it needs no position.
  if (encoder && model_.max_positions() > 0) limit = std::min(limit, model_.max_positions() + 1 - prompt);
  return limit;
}

std::int64_t Scheduler::pages_of_row(const Request& request) const {
  const auto prompt = std::max<std::int64_t>(1, std::ssize(request.prompt));
  std::int64_t tokens = prompt + limit_of(request) - 1;
  if (model_.max_positions() > 0) tokens = std::min(tokens, model_.max_positions());
  const std::int64_t window = cache_.shape().window, all = pages_for(tokens);
  if (window <= 0) return all;
  // The window and what comes in at once, wherever in their pages they begin and end.
  return std::min(all, pages_for(window + std::min(prompt, limits_.tokens_at_once)) + 2);
}

std::int64_t Scheduler::pages_of_source(const Request& request) const {
  return model_.kind() == ModelKind::encoder_decoder ? pages_for(std::ssize(request.source)) : 0;
}

// Room for so many tokens in each slot, as far as the job can come to need them.
void Scheduler::reserve_cache(const Job& job, std::int64_t tokens) {
  tokens = std::min(tokens, std::ssize(job.request.prompt) + job.limit);
  cache_.reserve(model_.max_positions() > 0 ? std::min(tokens, model_.max_positions()) : tokens);
}

// Pages that the job may still take. Added over all jobs it never grows faster than pages come free, however
// they fork, part and leave: a page given up by one that shares it was never counted as one to come.
std::int64_t Scheduler::pages_to_come(const Job& job) const {
  // Of independent sequences those that ended need nothing more; beams may fork again.
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

}  // namespace regard::infer
