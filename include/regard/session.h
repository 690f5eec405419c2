// Sessions: many texts written at once by one model. They join and leave between steps, each with its own
// options and random draws; every one gives the bits that it gives alone.
//
//   regard::Sessions sessions(model, {.cache_tokens = 8192});
//   sessions.join("Once upon a time", {.max_new = 100}, {.text = [](std::string_view piece) { show(piece);
//   }}); while (sessions.step()) {
//   }
//
// A session reserves what it may come to need before it begins, so none fails half-way for want of memory;
// until that is free it waits, first come, first served. Texts that begin alike share what they have in
// common.
//
// Threads: every function may be called from any thread at any time, also from within a callback; only step()
// may not be called from within a callback of step(). Steps take turns, and so do they and other work on the
// same model. Callbacks come from within step(), on its thread; what they throw leaves it, and the next
// step() goes on behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "regard/model.h"

namespace regard {

struct SessionLimits {
  // Texts written together, beams counted; others wait. At most 65536.
  std::int64_t rows = 64;
  // Tokens that the cache has room for: prompts, sources, what is written. At most 2⁴⁰.
  std::int64_t cache_tokens = 16384;
  std::int64_t tokens_at_once = 512;  // of prompts and sources that one step takes in
  std::int64_t sessions = 1024;       // at once, those that wait counted; more are refused
};

// What it costs, in bytes, before anything is made.
struct SessionMemory {
  std::int64_t weights = 0;  // the model's as it holds them (f32, f16, bf16 or int8), once for all sessions
  std::int64_t cache = 0;    // keys and values of all sessions together
};
SessionMemory session_memory(const Model& model, const SessionLimits& limits = {});

enum class SessionEnd : std::uint8_t { finished, cancelled, failed };

struct SessionResult {
  SessionEnd end = SessionEnd::finished;
  std::string text = {};         // all that was written, where finished
  double log_probability = 0.0;  // of that, under the model
  bool complete = false;         // the model ended it; else max_new did
  std::string error = {};        // why it failed: the model's numbers are not finite
};

struct SessionCallbacks {
  // What has been written since the last call, never half a character. Joined, the pieces are the result's
  // text. A beam changes its mind, so it gives one piece, at the end.
  std::function<void(std::string_view piece)> text = {};
  std::function<void(const SessionResult& result)> done = {};  // once, and the last
};

// Neither copied nor moved.
class Sessions {
 public:
  using Id = std::uint64_t;

  // Keeps the model's weights. Throws usage: limits that do not fit, a model that writes nothing;
  // std::bad_alloc where there is no memory for the cache.
  explicit Sessions(const Model& model, const SessionLimits& limits = {});
  // Ends the sessions that are left: done() of each is called with `cancelled`, in the order of join(). What
  // it throws is dropped, and sessions can no longer join.
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // What encoder–decoders translate, or what decoders continue. Throws usage: a text without tokens or longer
  // than the model has positions, options that do not fit, a session that would not fit into the cache even
  // alone, too many sessions; bad_file: text that is not UTF-8.
  Id join(std::string_view text, const DecodingOptions& options = {}, SessionCallbacks callbacks = {});

  // The next step computes nothing for it, and of its callbacks only done() is still to come, within that
  // step or at the destruction of Sessions. False: it had ended, or was cancelled before.
  bool cancel(Id id);

  // Each running session writes one token; those that were let in have their prompts taken in. False if there
  // was nothing to do. Throws usage from within a callback of step().
  bool step();

  std::int64_t live() const;     // joined and not ended
  std::int64_t running() const;  // as of the last step
  std::int64_t waiting() const;  // for room, as of the last step

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regard
