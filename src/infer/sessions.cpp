#include "infer/sessions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/counted.h"

namespace regard::infer {

namespace {

constexpr std::int64_t kMostRows = 65536, kMostCacheTokens = std::int64_t{1} << 40;

}  // namespace

void SessionLimits::check() const {
  const auto require = [](std::int64_t value, std::int64_t least, const char* what) {
    if (value < least)
      throw usage_error(what).found(std::to_string(value)).expected("at least " + std::to_string(least));
  };
  const auto require_at_most = [](std::int64_t value, std::int64_t most, const char* what) {
    if (value > most)
      throw usage_error(what).found(std::to_string(value)).expected("at most " + std::to_string(most));
  };
  require_at_most(rows, kMostRows, "the number of rows is too large");
  require_at_most(cache_tokens, kMostCacheTokens, "the cache size is too large");
  require(rows, 1, "the number of rows is too small");
  require(cache_tokens, kPageTokens, "the cache size is too small");
  require(tokens_at_once, 1, "the number of tokens per step is too small");
  require(sessions, 1, "the number of sessions is too small");
}

std::int64_t session_cache_bytes(const Network& model, const SessionLimits& limits) {
  limits.check();
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(limits.cache_pages(), model.cache_shape().page_bytes(), &bytes))
    throw usage_error("the size of the cache in bytes exceeds 64 bits")
        .found(counted(limits.cache_tokens, "token"))
        .remedy("Set a smaller cache_tokens");
  return bytes;
}

SchedulerLimits Sessions::inner(const SessionLimits& limits) {
  limits.check();
  return {.rows = limits.rows,
          .tokens_at_once = limits.tokens_at_once,
          .cache_pages = limits.cache_pages(),
          .resident_bytes = limits.resident_bytes,
          .share_prefixes = true,
          .kept_prefixes = limits.kept_prefixes,
          .short_prompts_first = true};
}

Sessions::Sessions(Network& model, ThreadPool& pool, const SearchOptions& options, SessionListener& listener,
                   const SessionLimits& limits)
    : listener_(listener), limits_(limits), scheduler_(model, pool, options, *this, inner(limits)) {
  // A step reports at most two events per row: chosen(), and token() or the end of the session.
  events_.reserve(static_cast<std::size_t>(2 * limits.rows));
  ends_.reserve(static_cast<std::size_t>(limits.rows));
}

std::uint64_t Sessions::join(Request request) {
  scheduler_.check(request);
  const std::lock_guard lock(guard_);
  if (std::ssize(live_) >= limits_.sessions)
    throw resource_error("the maximum of " + std::to_string(limits_.sessions) + " sessions is reached")
        .remedy("Wait until a session ends, or increase the maximum number of sessions");
  const std::uint64_t id = request.id = next_id_++;
  joining_.push_back(std::move(request));
  live_.emplace(id, false);
  return id;
}

bool Sessions::cancel(std::uint64_t id) {
  const std::lock_guard lock(guard_);
  const auto found = live_.find(id);
  if (found == live_.end() || found->second) return false;
  found->second = true;
  cancelling_.push_back(id);
  return true;
}

std::int64_t Sessions::live() const {
  const std::lock_guard lock(guard_);
  return std::ssize(live_);
}

void Sessions::token(std::uint64_t id, std::int64_t sequence, std::int32_t token) {
  events_.push_back({Event::Kind::token, id, sequence, token, 0});
}

void Sessions::chosen(std::uint64_t id, std::int64_t sequence, const TokenChoice& choice) {
  events_.push_back({Event::Kind::chosen, id, sequence, choice.token.token, choices_.size()});
  choices_.push_back(choice);
}

void Sessions::finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) {
  events_.push_back({Event::Kind::finished, id, 0, 0, ends_.size()});
  ends_.push_back({std::move(hypotheses), std::nullopt});
}

void Sessions::failed(std::uint64_t id, const Error& error) {
  events_.push_back({Event::Kind::failed, id, 0, 0, ends_.size()});
  ends_.push_back({{}, error});
}

void Sessions::take_inbox() {
  {
    const std::lock_guard lock(guard_);
    std::swap(joined_, joining_);
    std::swap(cancelled_, cancelling_);
  }
  for (Request& request : joined_) scheduler_.submit(std::move(request));
  joined_.clear();
  for (const std::uint64_t id : cancelled_) {
    scheduler_.cancel(id);
    events_.push_back({Event::Kind::cancelled, id, 0, 0, 0});
  }
  cancelled_.clear();
}

bool Sessions::wanted(const Event& event) {
  const std::lock_guard lock(guard_);
  const auto found = live_.find(event.id);
  if (found == live_.end()) return false;
  if (event.kind == Event::Kind::token || event.kind == Event::Kind::chosen) return !found->second;
  // A session that was cancelled reports cancelled(), even if the last step finished it.
  if (found->second && event.kind != Event::Kind::cancelled) return false;
  live_.erase(found);
  return true;
}

bool Sessions::deliver() {
  const bool any = delivered_ < events_.size();
  while (delivered_ < events_.size()) {
    const Event event = events_[delivered_++];
    if (!wanted(event)) continue;
    switch (event.kind) {
      case Event::Kind::token:
        listener_.token(event.id, event.sequence, event.token);
        break;
      case Event::Kind::chosen:
        listener_.chosen(event.id, event.sequence, choices_[event.end]);
        break;
      case Event::Kind::finished:
        listener_.finished(event.id, std::move(ends_[event.end].hypotheses));
        break;
      case Event::Kind::cancelled:
        listener_.cancelled(event.id);
        break;
      case Event::Kind::failed:
        listener_.failed(event.id, *ends_[event.end].error);
        break;
    }
  }
  events_.clear(), ends_.clear(), choices_.clear();
  delivered_ = 0;
  return any;
}

bool Sessions::step() {
  const bool left_over = deliver();  // true if some events were not delivered because a callback threw
  take_inbox();
  const bool worked = scheduler_.step();
  running_ = scheduler_.running(), waiting_ = scheduler_.waiting(), prefilling_ = scheduler_.prefilling();
  return deliver() || worked || left_over;
}

}  // namespace regard::infer
