// Sessions: continuous batching of many texts with one model. Requests arrive at any time, each with its own
// options and random draws. The result of a request is bit-identical to its result when it runs alone.
//
//   regard::Sessions sessions(model, {.cache_tokens = 8192});
//   const auto show = [](std::string_view piece) { std::cout << piece; };
//   sessions.join("Once upon a time", {.max_new = 100}, {.text = show});
//   while (sessions.step()) {
//   }
//
// Sessions are admitted in the order of join(). A session waits until its worst-case number of cache pages
// can be reserved, so that an admitted session always has enough pages. Texts with a common prefix share the
// cached keys and values of the prefix.
//
// Threads: every function may be called from any thread at any time, except that a callback of step() must
// not call step(). Steps are serialised, also with other work on the same model. step() calls the callbacks
// on its own thread. An exception of a callback propagates out of step(); the next step() continues with the
// following callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "regard/export.h"
#include "regard/model.h"

namespace regard {

struct SessionLimits {
  // Maximum number of sequences decoded together, at most 65536; the other sessions wait. Each hypothesis of
  // a beam and each sample counts as one sequence.
  std::int64_t rows = 64;
  // Capacity of the key/value cache in tokens, for prompts, sources and generated tokens; at most 2⁴⁰.
  std::int64_t cache_tokens = 16384;
  std::int64_t tokens_at_once = 512;  // maximum prompt and source tokens to prefill per step
  std::int64_t sessions = 1024;       // maximum number of sessions, including waiting ones
};

// Memory in bytes that Sessions with these limits would use. session_memory() only computes it and allocates
// nothing.
struct SessionMemory {
  // the weights in their stored type (f32, f16, bf16 or int8), which all sessions share
  std::int64_t weights = 0;
  std::int64_t cache = 0;  // the keys and values of all sessions
};
REGARD_API SessionMemory session_memory(const Model& model, const SessionLimits& limits = {});

enum class SessionEnd : std::uint8_t { finished, cancelled, failed };

struct SessionResult {
  SessionEnd end = SessionEnd::finished;
  std::string text = {};         // the complete text; empty if `end` is cancelled or failed
  double log_probability = 0.0;  // log-probability of the text under the model
  bool complete = false;   // true if ended by an end token or a stop string, false if cut off by max_new
  std::string error = {};  // reason for a failure, such as outputs of the model that are not finite
};

struct SessionCallbacks {
  // Called with the text generated since the last call. Text that later tokens may still change is withheld:
  // an incomplete character, or the possible beginning of a stop string. The arguments of all calls,
  // concatenated, are SessionResult::text. With beam search, called once, at the end.
  std::function<void(std::string_view piece)> text = {};
  std::function<void(const SessionResult& result)> done = {};  // called once, after all calls of `text`
};

// Not copyable or movable.
class REGARD_API Sessions {
 public:
  using Id = std::uint64_t;

  // Shares ownership of the model's weights. Throws usage if limits are invalid or the model does not
  // generate text; resource_exhausted if there is not enough memory for the cache.
  explicit Sessions(const Model& model, const SessionLimits& limits = {});
  // End the remaining sessions: call done() of each with `cancelled`, in the order of join(). Exceptions of
  // done() are ignored; join() throws usage from then on.
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // Add a session that translates `text` (encoder–decoders) or continues it (decoders). Throws usage if
  // options are invalid. Throws invalid_input if the text is not UTF-8, has no tokens or is longer than the
  // model's maximum number of positions. Throws resource_exhausted if the session alone would exceed the
  // cache, or if SessionLimits::sessions is reached.
  Id join(std::string_view text, const DecodingOptions& options = {}, SessionCallbacks callbacks = {});

  // Add a session that generates an answer to a conversation, formatted as Model::chat() does. Throws as
  // join() does. Also throws usage if the model is not a decoder or the template does not exist, bad_file
  // (with file and line) if the template is invalid, and invalid_input if the template rejects the
  // conversation.
  Id chat(std::span<const Message> conversation, const DecodingOptions& options = {},
          SessionCallbacks callbacks = {}, std::string_view chat_template = {});

  // Cancel a session. The next step() does not compute it, and calls its done() but not its text(). If there
  // is no further step, the destructor calls done(). Returns false if the session had already ended or been
  // cancelled.
  bool cancel(Id id);

  // Prefill newly admitted sessions and decode one token of each running session. Returns false if there was
  // nothing to do. Throws usage if called from within a callback of step().
  bool step();

  std::int64_t live() const;     // number of sessions that have joined and have not ended
  std::int64_t running() const;  // number of running sessions, as of the last step
  std::int64_t waiting() const;  // number of sessions that wait for admission, as of the last step

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regard
