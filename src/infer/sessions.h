// Sessions: requests that are added and cancelled while others are being decoded (continuous batching), over
// a cache of fixed size. Each session has its own options and random draws; its results are bit-identical
// regardless of what else is in the batch.
//
// Threads: join(), cancel() and live() may be called from any thread at any time, also from within a
// callback. step() runs the model and calls the listener; only one thread at a time may call step().
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "infer/scheduler.h"

namespace regard::infer {

struct SessionLimits {
  std::int64_t rows = 64;             // maximum number of rows decoded together, including those of beams
  std::int64_t cache_tokens = 16384;  // capacity of the cache in tokens, including sources
  std::int64_t tokens_at_once = 512;  // maximum number of source and prompt tokens in prefill per step
  std::int64_t sessions = 1024;       // maximum number of sessions, including waiting ones
  // Maximum number of ended sessions whose cache pages are kept, for prompts that begin with the same tokens;
  // see SchedulerLimits.
  std::int64_t kept_prefixes = 0;
  std::int64_t resident_bytes = 0;  // maximum size of a resident cache in bytes (SchedulerLimits)

  std::int64_t cache_pages() const { return pages_for(cache_tokens); }
  void check() const;  // throws usage if a limit is invalid
};

// Return the size in bytes of the key/value cache shared by all sessions. All of it is allocated at
// construction. Throws usage if the limits are invalid.
std::int64_t session_cache_bytes(const Network& model, const SessionLimits& limits);

// The functions of a listener are called by step(), on the thread of step(), after the model has run. The
// last call for a session is exactly one of finished(), cancelled() and failed(). An exception thrown by a
// callback propagates out of step(); the next step() continues with the following callback.
class SessionListener : public TokenListener {
 public:
  virtual void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  virtual void cancelled(std::uint64_t id) { (void)id; }
  // called if the session failed; the other sessions continue
  virtual void failed(std::uint64_t id, const Error& error) = 0;
};

class Sessions : private Listener {
 public:
  // Keeps references to the model, the pool and the listener, which must outlive this object. `options` apply
  // to requests without their own. Throws usage as the constructor of Scheduler does, and resource_exhausted
  // if there is not enough memory for the cache.
  Sessions(Network& model, ThreadPool& pool, const SearchOptions& options, SessionListener& listener,
           const SessionLimits& limits = {});

  // Add a session and return its id; request.id is ignored. step() admits requests in order of joining. A
  // request is admitted only when its rows and its worst-case number of pages are free. Throws the errors of
  // Scheduler::check(), and resource_exhausted if the limit `sessions` is reached.
  std::uint64_t join(Request request);

  // Cancel a session; return false if the session is unknown, has ended or is already cancelled. The next
  // step() frees its rows and pages before the model runs; the only further callback of the session is
  // cancelled().
  bool cancel(std::uint64_t id);

  // Run one pass of the model over all rows, then the callbacks. Returns false if there was nothing to do.
  bool step();

  std::int64_t live() const;  // number of sessions that have not ended; may be called from any thread
  // State after the last step. running(), waiting() and prefilling() may be called from any thread.
  std::int64_t running() const { return running_; }
  std::int64_t waiting() const { return waiting_; }
  std::int64_t prefilling() const { return prefilling_; }  // number of running sessions that are in prefill
  // Number of sessions in the pass of the last step, including those that ended in it; 0 if the step only
  // called callbacks. Must not be called during step().
  std::int64_t computed() const { return scheduler_.computed(); }
  const Cache& cache() const { return scheduler_.cache(); }
  std::int64_t activation_bytes() const { return scheduler_.activation_bytes(); }

 private:
  struct Event {
    enum class Kind : std::uint8_t { token, chosen, finished, cancelled, failed } kind;
    std::uint64_t id;
    std::int64_t sequence = 0;
    std::int32_t token = 0;
    std::size_t end = 0;  // index of the event's data in ends_ or choices_
  };
  struct End {
    std::vector<Hypothesis> hypotheses;
    std::optional<Error> error;
  };
  void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) override;
  void chosen(std::uint64_t id, std::int64_t sequence, const TokenChoice& choice) override;
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override;
  void failed(std::uint64_t id, const Error& error) override;
  void take_inbox();
  bool deliver();
  // returns false if the event must be dropped; removes a session that the event ends
  bool wanted(const Event& event);
  static SchedulerLimits inner(const SessionLimits& limits);

  SessionListener& listener_;
  SessionLimits limits_;
  Scheduler scheduler_;

  mutable std::mutex guard_;  // guards next_id_, joining_, cancelling_ and live_
  std::uint64_t next_id_ = 1;
  std::vector<Request> joining_;
  std::vector<std::uint64_t> cancelling_;
  // sessions by id; the value is true if the session was cancelled
  std::unordered_map<std::uint64_t, bool> live_;

  std::atomic<std::int64_t> running_{0}, waiting_{0}, prefilling_{0};

  // The following members are used by step() only.
  std::vector<Request> joined_;
  std::vector<std::uint64_t> cancelled_;
  std::vector<Event> events_;
  std::vector<End> ends_;
  std::vector<TokenChoice> choices_;
  std::size_t delivered_ = 0;
};

}  // namespace regard::infer
