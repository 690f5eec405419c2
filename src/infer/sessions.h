// Sessions: sequences that join, leave and are cancelled while others are being decoded (continuous
// batching), over a cache whose memory is known before. Each has its own options and its own random draws,
// and gives the bits that it gives alone.
//
// Threads: join() and cancel() may be called from any thread at any time, also from within a callback.
// step() is for one thread at a time; it is the only one that works, and the one that calls the listener.
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
  std::int64_t rows = 64;             // sequences decoded together, beams counted; others wait
  std::int64_t cache_tokens = 16384;  // that the cache has pages for, sources counted
  std::int64_t tokens_at_once = 512;  // of sources and prompts that one step takes in
  std::int64_t sessions = 1024;       // at once, those that wait counted; more are refused

  std::int64_t cache_pages() const { return pages_for(cache_tokens); }
  void check() const;  // throws usage
};

// Bytes of the keys and values of all sessions together, never more: they are all there from the start.
std::int64_t session_cache_bytes(const Network& model, const SessionLimits& limits);

// Called from within step(), after its work. A session ends with exactly one of finished(), cancelled() and
// failed(); nothing follows. What a callback throws leaves step(); the next step() goes on behind it.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // As Listener::token(): the last token of a sequence comes with finished() only.
  virtual void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) {
    (void)id, (void)sequence, (void)token;
  }
  virtual void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  virtual void cancelled(std::uint64_t id) { (void)id; }
  virtual void failed(std::uint64_t id, const Error& error) = 0;  // this one alone: the others go on
};

class Sessions : private Listener {
 public:
  // All but the limits are kept by reference and must outlive the sessions. `options` are of those that bring
  // none. Throws usage, and bad_alloc where the cache has no room in memory.
  Sessions(Network& model, ThreadPool& pool, const SearchOptions& options, SessionListener& listener,
           const SessionLimits& limits = {});

  // Takes part from the next step on, as soon as there are rows and pages for all that it may come to be;
  // until then it waits, first come, first served. The request's id is given by us. Throws usage: as
  // Scheduler::check() does, so also where it could never fit; and where there are too many sessions.
  std::uint64_t join(Request request);

  // The next step no longer computes anything for it: its rows and pages are free before that step begins.
  // From here on only cancelled() comes of it. False: it was over, or cancelled, already.
  bool cancel(std::uint64_t id);

  // One pass of the model over all rows, then the callbacks; false if there was nothing to do.
  bool step();

  std::int64_t live() const;  // joined and not ended; any thread
  // As of the last step; the first three from any thread.
  std::int64_t running() const { return running_; }
  std::int64_t waiting() const { return waiting_; }
  std::int64_t taking_in() const { return taking_in_; }  // of the running: not all read yet
  const Cache& cache() const { return scheduler_.cache(); }
  std::int64_t activation_bytes() const { return scheduler_.activation_bytes(); }

 private:
  struct Event {
    enum class Kind : std::uint8_t { token, finished, cancelled, failed } kind;
    std::uint64_t id;
    std::int64_t sequence = 0;
    std::int32_t token = 0;
    std::size_t end = 0;  // into ends_
  };
  struct End {
    std::vector<Hypothesis> hypotheses;
    std::optional<Error> error;
  };
  void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) override;
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override;
  void failed(std::uint64_t id, const Error& error) override;
  void take_inbox();
  bool deliver();
  bool wanted(const Event& event);  // ends the session where the event does
  static SchedulerLimits inner(const SessionLimits& limits);

  SessionListener& listener_;
  SessionLimits limits_;
  Scheduler scheduler_;

  mutable std::mutex guard_;  // of what follows, up to the next comment
  std::uint64_t next_id_ = 1;
  std::vector<Request> joining_;
  std::vector<std::uint64_t> cancelling_;
  std::unordered_map<std::uint64_t, bool> live_;  // whether cancelled

  std::atomic<std::int64_t> running_{0}, waiting_{0}, taking_in_{0};

  // step()'s own.
  std::vector<Request> joined_;
  std::vector<std::uint64_t> cancelled_;
  std::vector<Event> events_;
  std::vector<End> ends_;
  std::size_t delivered_ = 0;
};

}  // namespace regard::infer
