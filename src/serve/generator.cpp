#include "serve/generator.h"

#include <unordered_set>
#include <utility>

#include "infer/choice.h"
#include "infer/new_tokens.h"
#include "regard/error.h"
#include "serve/http_error.h"

namespace regard::serve {
namespace {

infer::SessionLimits with_rows(infer::SessionLimits limits, std::int64_t rows) {
  limits.rows = rows;
  return limits;
}

// Return the maximum number of cache pages that a request uses if it shares no pages with others.
std::int64_t pages_of(const Network& model, const infer::Request& request,
                      const infer::SearchOptions& options) {
  const std::int64_t tokens = std::ssize(request.prompt) + infer::new_tokens_of(model, request, options);
  return infer::width_of(options) * pages_for(tokens) + pages_for(std::ssize(request.source.ids));
}

}  // namespace

// --- Generation ---

bool Generation::wait(std::vector<Token>& tokens, Clock::time_point deadline) {
  std::unique_lock lock(guard_);
  const auto ready = [&] { return !tokens_.empty() || state_ != State::pending; };
  if (!changed_.wait_until(lock, deadline, ready))
    throw HttpError(504, "the request was not finished before its deadline", "timeout");
  for (Token& token : tokens_) tokens.push_back(std::move(token));
  tokens_.clear();
  return state_ != State::pending;
}

std::vector<infer::Hypothesis> Generation::results() {
  const std::lock_guard lock(guard_);
  if (error_) throw Error(*error_);
  if (state_ != State::finished) throw HttpError(503, "the request was cancelled", "cancelled");
  return std::move(hypotheses_);
}

void Generation::end(State state, std::vector<infer::Hypothesis> hypotheses, std::optional<Error> error) {
  const std::lock_guard lock(guard_);
  if (state_ != State::pending) return;
  state_ = state;
  hypotheses_ = std::move(hypotheses);
  error_ = std::move(error);
  changed_.notify_all();
}

// --- Generator ---

Generator::Generator(Network& model, ThreadPool& pool, const infer::SearchOptions& options,
                     const infer::SessionLimits& limits, ModelMetrics& metrics)
    : model_(model),
      options_(options),
      limits_(with_rows(limits, Share::places_for(limits.rows))),
      metrics_(metrics),
      sessions_(model, pool, options, *this, limits_),
      rows_(limits.rows),
      thread_([this] { run(); }) {}

Generator::~Generator() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  while (!waiting_.empty()) waiting_.pop()->end(Generation::State::cancelled, {}, std::nullopt);
  for (const auto& [id, generation] : live_) generation->end(Generation::State::cancelled, {}, std::nullopt);
}

std::shared_ptr<Generation> Generator::submit(infer::Request request, const std::string& client) {
  auto generation = std::make_shared<Generation>();
  generation->client_ = client;
  const infer::SearchOptions& options = request.options ? *request.options : options_;
  generation->rows_ = infer::width_of(options);
  generation->pages_ = pages_of(model_, request, options);
  generation->request_ = std::move(request);
  const std::lock_guard lock(guard_);
  waiting_.push(client, generation);
  changed_.notify_all();
  return generation;
}

void Generator::cancel(const std::shared_ptr<Generation>& generation) {
  {
    const std::lock_guard lock(generation->guard_);
    if (generation->state_ != Generation::State::pending) return;
  }
  const std::lock_guard lock(guard_);
  cancelling_.push_back(generation);
  changed_.notify_all();
}

std::int64_t Generator::waiting() const {
  const std::lock_guard lock(guard_);
  return static_cast<std::int64_t>(waiting_.size()) + sessions_.waiting();
}

void Generator::count(const Generation& joined) {
  rows_.take(joined.client_, joined.rows_);
  pages_ += joined.pages_;
}

void Generator::uncount(const Generation& left) {
  rows_.give_back(left.client_, left.rows_);
  pages_ -= left.pages_;
}

// Return the generations to admit before the next step. The caller must hold the lock.
std::vector<std::shared_ptr<Generation>> Generator::next_to_join() {
  std::vector<std::shared_ptr<Generation>> joining;
  if (sessions_.waiting() > 0) return joining;  // a session is already waiting for pages of the cache
  const auto may = [this](const std::string& client, const auto& next) {
    return rows_.allows(client, next->rows_);
  };
  const std::shared_ptr<Generation>* next = nullptr;
  // If the next generation must wait for free rows, do not admit generations of other clients before it.
  while ((next = waiting_.front_of(may)) != nullptr && rows_.has_free((*next)->rows_)) {
    // pages_ is an upper bound, because generations may share pages. A generation that exceeds the cache by
    // this bound is therefore still admitted, but no other generation is admitted in the same step.
    const bool fits = pages_ + (*next)->pages_ <= limits_.cache_pages();
    if (!fits && !joining.empty()) break;
    std::string client;
    waiting_.pop_of(may, joining.emplace_back(), client);
    count(*joining.back());
    if (!fits) break;
  }
  return joining;
}

// Remove cancelled generations and admit waiting ones. If there is nothing to do, wait.
bool Generator::take_work() {
  std::vector<std::shared_ptr<Generation>> cancelled, joining;
  {
    std::unique_lock lock(guard_);
    changed_.wait(lock,
                  [&] { return stopping_ || !cancelling_.empty() || !waiting_.empty() || !live_.empty(); });
    if (stopping_) return false;
    cancelled.swap(cancelling_);
    if (!cancelled.empty() && !waiting_.empty()) {
      const std::unordered_set<std::shared_ptr<Generation>> all(cancelled.begin(), cancelled.end());
      waiting_.remove_if([&](const std::shared_ptr<Generation>& one) { return all.contains(one); });
    }
    joining = next_to_join();
  }
  for (const auto& one : cancelled)
    if (one->id_ == 0 || !sessions_.cancel(one->id_))
      one->end(Generation::State::cancelled, {}, std::nullopt);
  for (const auto& one : joining) join(one);
  return true;
}

void Generator::join(const std::shared_ptr<Generation>& generation) {
  try {
    const auto prompt = std::ssize(generation->request_.prompt) + std::ssize(generation->request_.source.ids);
    generation->id_ = sessions_.join(std::move(generation->request_));
    live_.emplace(generation->id_, generation);
    metrics_.prompt_tokens += static_cast<std::uint64_t>(prompt);
  } catch (...) {
    uncount(*generation);
    generation->end(Generation::State::failed, {}, caught_error());
  }
}

void Generator::run() {
  while (take_work()) {
    try {
      if (!sessions_.step() || sessions_.computed() == 0) continue;
      ++metrics_.batches;
      metrics_.batched += static_cast<std::uint64_t>(sessions_.computed());
    } catch (...) {
      // A step throws only if memory is exhausted, so the error is not caused by a single request.
      const Error error = caught_error();
      for (const auto& [id, generation] : live_) {
        sessions_.cancel(id);
        generation->end(Generation::State::failed, {}, error);
      }
    }
  }
}

void Generator::chosen(std::uint64_t id, std::int64_t sequence, const infer::TokenChoice& choice) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  Generation& generation = *found->second;
  if (generation.first_token_ == Generation::Clock::time_point{})
    generation.first_token_ = Generation::Clock::now();
  const std::lock_guard lock(generation.guard_);
  generation.tokens_.push_back({sequence, choice});
  generation.changed_.notify_all();
}

std::shared_ptr<Generation> Generator::leave(std::uint64_t id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return nullptr;
  std::shared_ptr<Generation> generation = std::move(found->second);
  live_.erase(found);
  uncount(*generation);
  return generation;
}

void Generator::finished(std::uint64_t id, std::vector<infer::Hypothesis> hypotheses) {
  const auto generation = leave(id);
  if (!generation) return;
  measure(*generation, hypotheses);
  generation->end(Generation::State::finished, std::move(hypotheses), std::nullopt);
}

void Generator::cancelled(std::uint64_t id) {
  if (const auto generation = leave(id)) generation->end(Generation::State::cancelled, {}, std::nullopt);
}

void Generator::failed(std::uint64_t id, const Error& error) {
  if (const auto generation = leave(id)) generation->end(Generation::State::failed, {}, error);
}

void Generator::measure(const Generation& generation, const std::vector<infer::Hypothesis>& hypotheses) {
  using Seconds = std::chrono::duration<double>;
  std::uint64_t tokens = 0, longest = 0;
  for (const infer::Hypothesis& one : hypotheses) {
    tokens += one.tokens.size();
    longest = std::max<std::uint64_t>(longest, one.tokens.size());
  }
  metrics_.completion_tokens += tokens;
  const auto now = Generation::Clock::now();
  const bool streamed = generation.first_token_ != Generation::Clock::time_point{};
  if (!streamed) return;
  metrics_.first_token.add(Seconds(generation.first_token_ - generation.begun_).count());
  if (longest > 1)
    metrics_.each_token.add(Seconds(now - generation.first_token_).count() /
                            static_cast<double>(longest - 1));
}

}  // namespace regard::serve
