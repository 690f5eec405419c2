// Cache pages that a prompt shares with running and ended requests.
#include <algorithm>

#include "infer/scheduler.h"

namespace regard::infer {

// Return the number of slots for kept prefixes. With a sliding window, pages outside it are released, so
// prefixes cannot be kept.
std::int64_t Scheduler::kept_slots(const Network& model, const SchedulerLimits& limits) {
  const bool keeps =
      limits.cache_pages > 0 && model.kind() == ModelKind::decoder && model.cache_shape().window == 0;
  return keeps ? limits.kept_prefixes : 0;
}

// Return the number of prompt tokens of `job` that are in the pages of `other`; −1 if no pages can be
// shared. The last token of the prompt is always computed, because its logits are needed.
std::int64_t Scheduler::common_past(const Job& job, const Job& other) const {
  if (other.slides || !(other.request.source == job.request.source)) return -1;
  if (model_.kind() == ModelKind::encoder_decoder && !cache_.has_cross(other.slots[0])) return -1;
  const std::vector<std::int32_t>&mine = job.request.prompt, &theirs = other.request.prompt;
  const bool alone = other.rule.width == 1 && other.search->generated() > 0;
  const std::span<const std::int32_t> written =
      alone ? other.search->history(0) : std::span<const std::int32_t>();
  const std::int64_t most = std::min(
      {cache_.length(other.slots[0]), std::ssize(mine) - 1, std::ssize(theirs) + std::ssize(written)});
  std::int64_t same = 0;
  while (same < most) {
    const auto at = static_cast<std::size_t>(same);
    if (mine[at] != (at < theirs.size() ? theirs[at] : written[at - theirs.size()])) break;
    ++same;
  }
  return same;
}

void Scheduler::share_past(Job& job) {
  if (job.slides || cache_.shape().window > 0) return;
  std::int32_t from = -1;
  std::int64_t most = model_.kind() == ModelKind::encoder_decoder ? -1 : kPageTokens - 1;
  for (const auto& other : jobs_)
    if (const std::int64_t same = common_past(job, *other); same > most) from = other->slots[0], most = same;
  const std::vector<std::int32_t>& prompt = job.request.prompt;
  for (Prefix& kept : prefixes_) {
    const auto end = kept.tokens.begin() + std::min(std::ssize(kept.tokens), std::ssize(prompt) - 1);
    const std::int64_t same =
        std::mismatch(kept.tokens.begin(), end, prompt.begin()).first - kept.tokens.begin();
    if (same > most) from = kept.slot, most = same, kept.used = ++uses_;
  }
  if (from < 0) return;
  cache_.share_prefix(from, job.slots[0], most);
  job.encoded = true;
}

// Keep the cache pages of an ended request in a separate slot.
void Scheduler::keep_prefix(const Job& job) {
  if (prefixes_.empty() || job.slides || job.rule.width != 1) return;
  const std::int64_t length = cache_.length(job.slots[0]);
  if (length < kPageTokens) return;
  std::vector<std::int32_t> tokens = job.request.prompt;
  const std::vector<std::int32_t> written = job.search->results().at(0).tokens;
  tokens.insert(tokens.end(), written.begin(), written.end());
  if (std::ssize(tokens) < length) return;
  tokens.resize(static_cast<std::size_t>(length));
  Prefix* to = nullptr;
  for (Prefix& kept : prefixes_) {
    const std::size_t common = std::min(kept.tokens.size(), tokens.size());
    const bool same = std::equal(kept.tokens.begin(),
                                 kept.tokens.begin() + static_cast<std::ptrdiff_t>(common), tokens.begin());
    if (same && kept.tokens.size() >= tokens.size()) return;  // this prefix is already kept
    // If the new prefix extends kept prefixes, replace the longest of them.
    if (same && (to == nullptr || kept.tokens.size() > to->tokens.size())) to = &kept;
  }
  if (to == nullptr) to = &*std::ranges::min_element(prefixes_, {}, &Prefix::used);
  cache_.clear(to->slot);
  cache_.share_prefix(job.slots[0], to->slot, length);
  to->tokens = std::move(tokens), to->used = ++uses_;
}

bool Scheduler::drop_prefix() {
  Prefix* oldest = nullptr;
  for (Prefix& kept : prefixes_)
    if (!kept.tokens.empty() && (oldest == nullptr || kept.used < oldest->used)) oldest = &kept;
  if (oldest == nullptr) return false;
  cache_.clear(oldest->slot);
  oldest->tokens.clear();
  return true;
}

}  // namespace regard::infer
