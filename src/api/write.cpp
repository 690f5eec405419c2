// Implementation of Model::translate, generate, write and chat.
#include <utility>

#include "api/model_state.h"
#include "api/pool.h"
#include "base/plain_text.h"
#include "infer/collector.h"
#include "infer/text_stream.h"
#include "inspect/resolve.h"
#include "regard/model.h"
#include "text/chat_template.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

// Passes the text of the first result to the callback: piece by piece if `streams` is set, otherwise at the
// end.
class TextStreamer : public infer::Collector {
 public:
  TextStreamer(infer::TextStream stream, const WriteCallbacks& callbacks, bool streams)
      : Collector(1), stream_(std::move(stream)), callbacks_(callbacks), streams_(streams) {}
  void token(std::uint64_t, std::int64_t sequence, std::int32_t token) override {
    if (streams_ && sequence == 0) emit(stream_.push(token));
  }
  void finished(std::uint64_t id, std::vector<infer::Hypothesis> hypotheses) override {
    if (!hypotheses.empty()) emit(stream_.finish(hypotheses[0]));
    Collector::finished(id, std::move(hypotheses));
  }

 private:
  void emit(const std::string& piece) const {
    if (callbacks_.text && !piece.empty()) callbacks_.text(piece);
  }
  infer::TextStream stream_;
  const WriteCallbacks& callbacks_;
  bool streams_;
};

Written written(const infer::LoadedModel& loaded, const infer::SearchOptions& search,
                const infer::Hypothesis& hypothesis, const std::vector<std::int32_t>& prompt) {
  Written result;
  result.text = loaded.written(hypothesis, search, prompt);
  result.score = static_cast<double>(hypothesis.score);
  result.log_probability = static_cast<double>(hypothesis.log_probability);
  result.complete = hypothesis.ended;
  for (const std::int32_t id : hypothesis.tokens) result.tokens.push_back(loaded.target->token_of(id));
  result.log_probabilities.assign(hypothesis.token_log_probabilities.begin(),
                                  hypothesis.token_log_probabilities.end());
  return result;
}

std::vector<Written> write_behind(const infer::LoadedModel& loaded, ModelInput input,
                                  const DecodingOptions& options, const WriteCallbacks& callbacks) {
  if (input.empty()) throw input_error("the prompt has no tokens").expected("a prompt of at least one token");
  infer::SearchOptions search = api::search_options(loaded, options);
  const auto pool = api::pool();
  const auto probe = inspect::probe_of(loaded, *pool, {}, options.interventions);
  search.probe = probe.get();
  constexpr std::uint64_t request_id = 0;
  infer::Request request = infer::request_of(*loaded.model, std::move(input), request_id);
  const std::vector<std::int32_t> prompt = request.prompt;
  TextStreamer streamer(infer::TextStream(loaded, search, prompt), callbacks, search.beam == 1);
  infer::Scheduler scheduler(*loaded.model, *pool, search, streamer);
  scheduler.submit(std::move(request));
  bool given_up = false;
  const auto go_on = [&] { return !(given_up = callbacks.cancelled && callbacks.cancelled()); };
  while (go_on() && scheduler.step()) {
  }
  if (given_up && streamer.done == 0) streamer.finished(request_id, scheduler.so_far(request_id));
  std::vector<Written> results;
  for (const infer::Hypothesis& one : streamer.results[0])
    results.push_back(written(loaded, search, one, prompt));
  return results;
}

// Throw usage for negative counts. Negative counts disable a rule in internal options and are not allowed in
// public options.
void check_counts(const DecodingOptions& options) {
  const auto check = [](const char* name, std::int64_t value) {
    if (value < 0)
      throw usage_error(std::string(name) + " is negative")
          .found(std::to_string(value))
          .expected("0 or more");
  };
  check("beam", options.beam), check("max_new", options.max_new), check("top_k", options.top_k);
  check("min_new", options.min_new), check("n_best", options.n_best);
  check("no_repeat_ngram", options.no_repeat_ngram);
}

template <class T>
void take(T given, T unset, T& value) {
  if (given != unset) value = given;
}

}  // namespace

infer::SearchOptions api::search_options(const infer::LoadedModel& loaded, const DecodingOptions& options) {
  check_counts(options);
  infer::SearchOptions search = loaded.options;
  if (options.sample) search.sample = true, search.beam = 1;
  if (options.beam != 0) {
    search.beam = options.beam, search.sample = options.sample;
    if (!options.sample) search.n_best = std::min(search.n_best, search.beam);
  }
  using Count = std::int64_t;
  take<Count>(options.n_best, 0, search.n_best);
  if (!search.sample && options.beam == 0) search.beam = std::max(search.beam, search.n_best);
  take<Count>(options.max_new, 0, search.max_new);
  take<Count>(options.min_new, 0, search.rules.min_new);
  take<Count>(options.no_repeat_ngram, 0, search.rules.no_repeat_ngram);
  if (options.length_penalty != DecodingOptions().length_penalty)
    search.length_penalty = options.length_penalty;
  if (options.repetition_penalty != 0.0) search.rules.repetition_penalty = options.repetition_penalty;
  if (options.sample) {
    search.temperature = options.temperature;
    search.top_k = options.top_k;
    search.top_p = options.top_p;
    search.min_p = options.min_p;
    search.typical_p = options.typical_p;
  }
  search.seed = options.seed;
  if (!options.stop.empty())
    search.stop_strings = std::make_shared<infer::StopStrings>(loaded.target, options.stop);
  loaded.ban(options.bad_words, search.rules);
  search.check();
  return search;
}

ModelInput api::read_conversation(const ModelAccess::State& model, std::span<const Message> conversation,
                                  bool truncate, std::string_view chat_template) {
  model.need(ModelKind::decoder, "answer in a conversation");
  Json messages = Json::array();
  for (const Message& message : conversation) {
    check_text(message.role);
    check_text(message.content);
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  const text::TokenizerConfig config = text::read_tokenizer_config(model.loaded.folder.tokenizer);
  const std::string rendered =
      text::render_chat(config, text::find_chat_template(config, chat_template), messages);
  return model.loaded.read_chat(rendered, truncate);
}

std::vector<std::string> Model::translate(std::span<const std::string> texts, const DecodingOptions& options,
                                          const Progress& progress) const {
  state().need(ModelKind::encoder_decoder, "translate");
  const infer::LoadedModel& loaded = state().loaded;
  infer::SearchOptions search = api::search_options(loaded, options);
  const auto pool = api::pool();
  const auto probe = inspect::probe_of(loaded, *pool, {}, options.interventions);
  search.probe = probe.get();
  infer::Collector collector(texts.size());
  infer::Scheduler scheduler(*loaded.model, *pool, search, collector);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    api::check_text(texts[i]);
    if (is_blank(loaded.as_trained(texts[i]))) continue;
    scheduler.submit(infer::request_of(*loaded.model, loaded.read(texts[i], options.truncate), i));
    ++asked;
  }
  const auto share = [&] {
    return asked == 0 ? 1.0 : static_cast<double>(collector.done) / static_cast<double>(asked);
  };
  const auto go_on = [&] { return !progress || progress(share()); };
  while (go_on() && scheduler.step()) {
  }
  std::vector<std::string> results(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!collector.results[i].empty()) results[i] = loaded.written(collector.results[i][0], search);
  return results;
}

std::string Model::translate(std::string_view text, const DecodingOptions& options) const {
  const std::string texts[] = {std::string(text)};
  return translate(texts, options)[0];
}

std::string Model::generate(std::string_view prompt, const DecodingOptions& options) const {
  state().need(ModelKind::decoder, "continue text");
  std::vector<Written> found = write(prompt, options);
  return found.empty() ? std::string() : std::move(found[0].text);
}

std::vector<Written> Model::write(std::string_view text, const DecodingOptions& options,
                                  const WriteCallbacks& callbacks) const {
  const infer::LoadedModel& loaded = state().loaded;
  if (loaded.model->kind() == ModelKind::encoder) state().need(ModelKind::decoder, "generate text");
  api::check_text(text);
  return write_behind(loaded, loaded.read(text, options.truncate), options, callbacks);
}

std::vector<Written> Model::chat(std::span<const Message> conversation, const DecodingOptions& options,
                                 const WriteCallbacks& callbacks, std::string_view chat_template) const {
  return write_behind(state().loaded,
                      api::read_conversation(state(), conversation, options.truncate, chat_template), options,
                      callbacks);
}

}  // namespace regard
