#include "regard/session.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "api/model_state.h"
#include "api/pool.h"
#include "infer/sessions.h"
#include "infer/text_stream.h"
#include "nn/held_weight.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

infer::SessionLimits inner(const SessionLimits& limits) {
  return {limits.rows, limits.cache_tokens, limits.tokens_at_once, limits.sessions};
}

// Callbacks and decoding state of one session.
struct SessionStreamer {
  SessionCallbacks callbacks;
  std::shared_ptr<const infer::SearchOptions> search;
  std::vector<std::int32_t> prompt;  // token ids of the prompt of a decoder
  infer::TextStream stream;
  // true if tokens are delivered one by one: there is a text callback and no beam search
  bool streams = false;

  void emit(const std::string& piece) const {
    if (callbacks.text && !piece.empty()) callbacks.text(piece);
  }
};

}  // namespace

struct REGARD_HIDDEN Sessions::State : infer::SessionListener {
  State(std::shared_ptr<Model::State> of, const SessionLimits& limits)
      : model(std::move(of)),
        pool(api::pool()),
        sessions(*model->loaded.model, *pool, model->loaded.options, *this, inner(limits)) {}

  SessionStreamer* streamer(Id id) {
    const std::lock_guard lock(guard);
    const auto found = streamers.find(id);
    return found == streamers.end() ? nullptr : &found->second;
  }

  void token(Id id, std::int64_t sequence, std::int32_t token) override {
    // If a session generates several independent samples, only the first is streamed.
    if (sequence == 0)
      if (SessionStreamer* of = streamer(id); of != nullptr && of->streams) of->emit(of->stream.push(token));
  }

  void finished(Id id, std::vector<infer::Hypothesis> hypotheses) override {
    SessionStreamer* of = streamer(id);
    if (of == nullptr) return;
    const infer::Hypothesis& best = hypotheses.at(0);
    SessionResult result;
    result.text = model->loaded.written(best, *of->search, of->prompt);
    result.log_probability = static_cast<double>(best.log_probability);
    result.complete = best.ended;
    // Call done() even if text() throws.
    std::exception_ptr thrown;
    try {
      if (of->callbacks.text) of->emit(of->stream.finish(best));
    } catch (...) {
      thrown = std::current_exception();
    }
    end(id, result);
    if (thrown) std::rethrow_exception(thrown);
  }
  void cancelled(Id id) override { end(id, {.end = SessionEnd::cancelled}); }
  void failed(Id id, const Error& error) override {
    end(id, {.end = SessionEnd::failed, .error = error.what()});
  }

  void end(Id id, const SessionResult& result) {
    // The callbacks are destroyed without the lock, because objects that they own may call the library.
    decltype(streamers)::node_type streamer;
    {
      const std::lock_guard lock(guard);
      streamer = streamers.extract(id);
    }
    if (streamer.empty()) return;
    if (const SessionCallbacks& callbacks = streamer.mapped().callbacks; callbacks.done)
      callbacks.done(result);
  }

  Id join(ModelInput input, const DecodingOptions& options, SessionCallbacks callbacks) {
    const infer::LoadedModel& loaded = model->loaded;
    infer::Request request = infer::request_of(*loaded.model, std::move(input));
    if (!options.interventions.empty())
      throw usage_error("sessions do not support interventions, because requests share forward passes")
          .found("'" + options.interventions[0] + "'")
          .remedy("Use Model::write() or Model::translate()");
    auto search = std::make_shared<infer::SearchOptions>(api::search_options(loaded, options));
    request.options = search;
    const std::vector<std::int32_t> prompt = request.prompt;
    const bool streams = callbacks.text && search->beam == 1;
    SessionStreamer streamer{std::move(callbacks), search, prompt, infer::TextStream(loaded, *search, prompt),
                             streams};
    // Hold the lock until the session is in `streamers`: a step on another thread may deliver its first
    // tokens immediately.
    const std::lock_guard lock(guard);
    if (closed) throw usage_error("no session can be added while the Sessions object is being destroyed");
    const Id id = sessions.join(std::move(request));
    streamers.emplace(id, std::move(streamer));
    return id;
  }

  void close() noexcept {
    while (true) {
      Id first = 0;
      {
        const std::lock_guard lock(guard);
        closed = true;
        if (streamers.empty()) return;
        first = std::ranges::min_element(streamers, {}, [](const auto& one) { return one.first; })->first;
      }
      try {
        end(first, {.end = SessionEnd::cancelled});
      } catch (...) {  // ignore the exception, because a destructor must not throw
      }
    }
  }

  std::shared_ptr<Model::State> model;
  std::shared_ptr<ThreadPool> pool;
  std::mutex steps;  // mutex that serialises calls of step()
  // id of the thread that runs step(); a default id if there is none
  std::atomic<std::thread::id> stepping = {};
  infer::Sessions sessions;
  std::mutex guard;
  std::unordered_map<Id, SessionStreamer> streamers;  // callbacks of the sessions that have not ended
  bool closed = false;
};

SessionMemory session_memory(const Model& model, const SessionLimits& limits) {
  Network& network = *model.state().loaded.model;
  return {nn::stored_bytes(network.parameters()), infer::session_cache_bytes(network, inner(limits))};
}

Sessions::Sessions(const Model& model, const SessionLimits& limits)
    : state_(std::make_unique<State>(api::ModelAccess::state(model), limits)) {}

Sessions::~Sessions() {
  state_->close();
}

Sessions::Id Sessions::join(std::string_view text, const DecodingOptions& options,
                            SessionCallbacks callbacks) {
  const infer::LoadedModel& loaded = state_->model->loaded;
  api::check_text(text);
  return state_->join(loaded.read(text), options, std::move(callbacks));
}

Sessions::Id Sessions::chat(std::span<const Message> conversation, const DecodingOptions& options,
                            SessionCallbacks callbacks, std::string_view chat_template) {
  return state_->join(api::read_conversation(*state_->model, conversation, options.truncate, chat_template),
                      options, std::move(callbacks));
}

bool Sessions::cancel(Id id) {
  return state_->sessions.cancel(id);
}

bool Sessions::step() {
  if (state_->stepping == std::this_thread::get_id())
    throw usage_error("step() was called from within a callback of step()")
        .remedy("Return from the callback first");
  const std::lock_guard lock(state_->steps);
  state_->stepping = std::this_thread::get_id();
  struct Ended {
    State& state;
    ~Ended() { state.stepping = std::thread::id(); }
  } const ended{*state_};
  return state_->sessions.step();
}

std::int64_t Sessions::live() const {
  return state_->sessions.live();
}

std::int64_t Sessions::running() const {
  return state_->sessions.running();
}

std::int64_t Sessions::waiting() const {
  return state_->sessions.waiting();
}

}  // namespace regard
