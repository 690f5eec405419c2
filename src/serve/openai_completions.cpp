// POST /v1/completions: the continuations of a decoder, or the results of an encoder–decoder.
#include <ctime>

#include "base/utf8.h"
#include "serve/http_error.h"
#include "serve/openai_parameters.h"
#include "serve/openai_routes.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostPrompts = 256;
constexpr std::int64_t kDefaultTokens = 16;  // default maximum of new tokens for decoders, as in OpenAI's API

bool is_ids(const Json& value) {
  return value.is_array() && !value.empty() && value[0].is_number();
}

// Return the prompts. The value is a text, a list of texts, a list of token ids, or a list of such lists.
std::vector<Json> prompts_of(const Json& value) {
  if (value.is_string() || is_ids(value)) return {value};
  return value.get<std::vector<Json>>();
}

ModelInput input_of(const ModelHost& host, const Json& prompt) {
  const infer::LoadedModel& loaded = host.loaded();
  if (prompt.is_string()) return loaded.read(loaded.prefix + prompt.get<std::string>());
  std::vector<std::int32_t> ids;
  for (const Json& id : prompt) ids.push_back(static_cast<std::int32_t>(id.get<double>()));
  return ids;
}

class Completion {
 public:
  explicit Completion(Call& call)
      : call_(call), host_(call.find_model(Ability::generate)), search_(search_options_of(call, *host_)) {
    host_->loaded().model->input_spec().require(InputKind::tokens);
    scores_ = call.has("logprobs");
    search_.report_top = call.integer("logprobs", 0);
    echo_ = call.value("echo", false);
    if (echo_ && scores_)
      throw HttpError(400, "this server does not support logprobs with echo", "unsupported_parameter",
                      "logprobs");
    results_ = call.integer("n", 1);
    const bool decoder = host_->loaded().model->kind() == ModelKind::decoder;
    std::int64_t scores = 0;
    for (const Json& prompt : prompts_of(call.body["prompt"])) {
      ModelInput input = input_of(*host_, prompt);
      infer::SearchOptions search = search_;
      const std::int64_t rows = search.sample ? results_ : search.beam;
      search.max_new = bounded_new_tokens(call, *host_, input,
                                          call.integer("max_tokens", decoder ? kDefaultTokens : 0), rows);
      if (scores_) require_few_scores(scores += most_scores(call, search, results_));
      echoed_.push_back(!echo_               ? ""
                        : prompt.is_string() ? prompt.get<std::string>()
                                             : host_->tokenizer().decode(input.ids));
      generations_.push_back(std::make_unique<TextGeneration>(
          call, GenerationPlan{host_, std::move(search), std::move(input), results_, scores_}));
    }
  }

  void answer() {
    Json choices = Json::array();
    for (std::size_t p = 0; p < generations_.size(); ++p)
      for (const GeneratedText& one : generations_[p]->run())
        choices.push_back({{"index", choices.size()},
                           {"text", echoed_[p] + one.text},
                           {"logprobs", log_probabilities(*generations_[p], one)},
                           {"finish_reason", finish_reason(one.hypothesis)}});
    Json json = head();
    json["choices"] = std::move(choices);
    json["usage"] = usage_of(call_.prompt_tokens, call_.completion_tokens);
    call_.reply(json);
  }

  void stream() {
    if (generations_.size() > 1)
      throw HttpError(400, "expected one prompt with \"stream\": true, found several",
                      "unsupported_parameter", "prompt");
    EventStream events(call_);
    try {
      // Begin the response only with the first piece, so that an earlier error can still set the response's
      // status.
      const auto send_echo = [&] {
        if (!echo_ || events.begun()) return;
        for (std::int64_t i = 0; i < results_; ++i) events.send(chunk(i, echoed_[0], nullptr, nullptr));
      };
      std::vector<Offset> offsets(static_cast<std::size_t>(results_), start(*generations_[0]));
      const std::vector<GeneratedText> results = generations_[0]->run([&](const StreamedPiece& piece) {
        send_echo();
        Json scores = nullptr;
        if (piece.choice != nullptr && !ends(piece.choice->token.token)) {
          scores = empty_scores();
          add_score(scores, offsets[static_cast<std::size_t>(piece.index)], *piece.choice);
        }
        if (piece.text.empty() && scores.is_null()) return !call_.exchange->gone();
        return events.send(chunk(piece.index, piece.text, scores, nullptr));
      });
      send_echo();
      for (std::size_t i = 0; i < results.size(); ++i)
        events.send(chunk(static_cast<std::int64_t>(i), "", nullptr, finish_reason(results[i].hypothesis)));
      if (call_.has("stream_options") && call_.body["stream_options"].value("include_usage", false)) {
        Json json = head();
        json["choices"] = Json::array();
        json["usage"] = usage_of(call_.prompt_tokens, call_.completion_tokens);
        events.send(json);
      }
    } catch (...) {
      if (!events.begun()) throw;  // the caller sends the error with its status
      events.send(error_body(Protocol::openai, caught_http_error()));
    }
    events.finish();
  }

 private:
  // State for the member "text_offset": the ids of all tokens so far, and the length of the generated text so
  // far, in characters.
  struct Offset {
    std::vector<std::int32_t> before;
    std::size_t characters = 0;
  };

  static Offset start(const TextGeneration& generation) {
    return {{generation.prompt().begin(), generation.prompt().end()}, 0};
  }

  Json head() const {
    return {{"id", id_}, {"object", "text_completion"}, {"created", created_}, {"model", host_->name()}};
  }

  Json chunk(std::int64_t index, const std::string& text, const Json& scores, const Json& finish) const {
    Json json = head();
    json["choices"] =
        Json::array({{{"index", index}, {"text", text}, {"logprobs", scores}, {"finish_reason", finish}}});
    return json;
  }

  bool ends(std::int32_t token) const {
    return std::find(search_.end_tokens.begin(), search_.end_tokens.end(), token) != search_.end_tokens.end();
  }

  static Json empty_scores() {
    return {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
  }

  void add_score(Json& scores, Offset& offset, const infer::TokenChoice& choice) const {
    const text::Tokenizer& tokenizer = *host_->loaded().target;
    const std::string text = token_text(tokenizer, offset.before, choice.token.token);
    scores["tokens"].push_back(text);
    scores["token_logprobs"].push_back(choice.token.log_probability);
    Json top = Json::object();
    for (const infer::TokenScore& one : choice.top)
      top[token_text(tokenizer, offset.before, one.token)] = one.log_probability;
    scores["top_logprobs"].push_back(std::move(top));
    scores["text_offset"].push_back(offset.characters);
    offset.characters += utf8::count(text);
    offset.before.push_back(choice.token.token);
  }

  Json log_probabilities(const TextGeneration& generation, const GeneratedText& text) const {
    if (!scores_) return nullptr;
    Json scores = empty_scores();
    Offset offset = start(generation);
    for (std::size_t t = 0; t < shown_tokens(text, search_) && t < text.choices.size(); ++t)
      add_score(scores, offset, text.choices[t]);
    return scores;
  }

  Call& call_;
  std::shared_ptr<ModelHost> host_;
  infer::SearchOptions search_;
  bool scores_ = false, echo_ = false;
  std::int64_t results_ = 1;
  std::string id_ = response_id("cmpl-");
  std::time_t created_ = std::time(nullptr);
  std::vector<std::string> echoed_;  // for each prompt: the text that precedes the results
  std::vector<std::unique_ptr<TextGeneration>> generations_;
};

}  // namespace

void add_openai_completions_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json ids = array(integer(0, std::numeric_limits<std::int32_t>::max()), 1, 1 << 20);
  const Json prompts = any_of({text(), array(text(), 1, kMostPrompts), ids, array(ids, 1, kMostPrompts)});
  routes.push_back(post_route(
      Protocol::openai, "/v1/completions",
      "Continuations of texts; for an encoder-decoder, the generated outputs", answer_or_stream<Completion>,
      {.request = generation_schema(
           {{"prompt", prompts}, {"logprobs", integer(0, 20)}, {"echo", boolean()}, {"suffix", text()}},
           {"prompt"}),
       .response = object({{"id", text()},
                           {"object", one_of({"text_completion"})},
                           {"created", Json{{"type", "integer"}}},
                           {"model", text()},
                           {"choices", array(Json{{"type", "object"}}, 1, 1 << 16)},
                           {"usage", Json{{"type", "object"}}}},
                          {"id", "object", "created", "model", "choices", "usage"}),
       .streams = true}));
}

}  // namespace regard::serve
