// POST /v1/chat/completions: generate responses to a conversation.
#include <ctime>

#include "serve/http_error.h"
#include "serve/openai_parameters.h"
#include "serve/openai_routes.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostMessages = 4096;

// Return the text of a message. Its content is a text, or a list of parts of type "text".
std::string content_of(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  for (const Json& part : *content) {
    if (part.value("type", "") != "text" || !part.contains("text") || !part["text"].is_string())
      throw HttpError(400, "this server supports only content parts of type text", "unsupported_parameter",
                      "messages");
    text += part["text"].get<std::string>();
  }
  return text;
}

Json conversation_of(const Call& call) {
  Json messages = Json::array();
  for (const Json& message : call.body["messages"])
    messages.push_back({{"role", message["role"]}, {"content", content_of(message)}});
  return messages;
}

// Return the bytes of a text as numbers. Clients use them to join tokens that are parts of a character.
Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char byte : text) bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return bytes;
}

Json scored_token(const std::string& text, float log_probability) {
  return {{"token", text}, {"logprob", log_probability}, {"bytes", bytes_of(text)}};
}

// Return the entry of "logprobs.content" for a token. `before` contains the preceding tokens.
Json log_probability_entry(const text::Tokenizer& tokenizer, std::span<const std::int32_t> before,
                           const infer::TokenChoice& choice) {
  Json entry = scored_token(token_text(tokenizer, before, choice.token.token), choice.token.log_probability);
  entry["top_logprobs"] = Json::array();
  for (const infer::TokenScore& one : choice.top)
    entry["top_logprobs"].push_back(
        scored_token(token_text(tokenizer, before, one.token), one.log_probability));
  return entry;
}

class ChatCompletion {
 public:
  explicit ChatCompletion(Call& call)
      : call_(call), host_(call.find_model(Ability::chat)), search_(search_options_of(call, *host_)) {
    scores_ = call.value("logprobs", false);
    const std::int64_t top = call.integer("top_logprobs", 0);
    if (top > 0 && !scores_)
      throw HttpError(400, "\"top_logprobs\" needs \"logprobs\": true", "invalid_value", "top_logprobs");
    search_.report_top = top;
    ModelInput input = host_->loaded().read_chat(host_->render_chat(conversation_of(call)));
    const std::int64_t results = call.integer("n", 1);
    search_.max_new = bounded_new_tokens(call, *host_, input,
                                         call.integer("max_completion_tokens", call.integer("max_tokens", 0)),
                                         search_.sample ? results : 1);
    if (scores_) require_few_scores(most_scores(call, search_, results));
    generation_ = std::make_unique<TextGeneration>(
        call, GenerationPlan{host_, search_, std::move(input), results, scores_});
    before_.resize(static_cast<std::size_t>(results),
                   {generation_->prompt().begin(), generation_->prompt().end()});
  }

  void answer() {
    const std::vector<GeneratedText> results = generation_->run();
    Json choices = Json::array();
    for (std::size_t i = 0; i < results.size(); ++i)
      choices.push_back(
          {{"index", i},
           {"message", {{"role", "assistant"}, {"content", results[i].text}, {"refusal", nullptr}}},
           {"logprobs", log_probabilities(i, results[i])},
           {"finish_reason", finish_reason(results[i].hypothesis)}});
    Json json = head("chat.completion");
    json["choices"] = std::move(choices);
    json["usage"] = usage_of(call_.prompt_tokens, call_.completion_tokens);
    call_.reply(json);
  }

  void stream() {
    EventStream events(call_);
    try {
      // Begin the response only with the first piece, so that an earlier error can still set the response's
      // status.
      const auto send_roles = [&] {
        if (events.begun()) return;
        for (std::size_t i = 0; i < before_.size(); ++i)
          events.send(chunk(static_cast<std::int64_t>(i), {{"role", "assistant"}, {"content", ""}}, nullptr,
                            nullptr));
      };
      const std::vector<GeneratedText> results = generation_->run([&](const StreamedPiece& piece) {
        send_roles();
        Json scores = nullptr;
        if (piece.choice != nullptr && !ends(piece.choice->token.token))
          scores = {{"content", Json::array({entry(piece.index, *piece.choice)})}, {"refusal", nullptr}};
        if (piece.text.empty() && scores.is_null()) return !call_.exchange->gone();
        return events.send(chunk(piece.index, {{"content", piece.text}}, scores, nullptr));
      });
      send_roles();
      for (std::size_t i = 0; i < results.size(); ++i)
        events.send(chunk(static_cast<std::int64_t>(i), Json::object(), nullptr,
                          finish_reason(results[i].hypothesis)));
      send_usage(events);
    } catch (...) {
      if (!events.begun()) throw;  // the caller sends the error with its status
      events.send(error_body(Protocol::openai, caught_http_error()));
    }
    events.finish();
  }

 private:
  Json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", host_->name()}};
  }

  Json chunk(std::int64_t index, Json delta, const Json& scores, const Json& finish) const {
    Json json = head("chat.completion.chunk");
    json["choices"] = Json::array(
        {{{"index", index}, {"delta", std::move(delta)}, {"logprobs", scores}, {"finish_reason", finish}}});
    return json;
  }

  void send_usage(EventStream& events) const {
    if (!call_.has("stream_options") || !call_.body["stream_options"].value("include_usage", false)) return;
    Json json = head("chat.completion.chunk");
    json["choices"] = Json::array();
    json["usage"] = usage_of(call_.prompt_tokens, call_.completion_tokens);
    events.send(json);
  }

  bool ends(std::int32_t token) const {
    return std::find(search_.end_tokens.begin(), search_.end_tokens.end(), token) != search_.end_tokens.end();
  }

  Json entry(std::int64_t index, const infer::TokenChoice& choice) {
    std::vector<std::int32_t>& before = before_[static_cast<std::size_t>(index)];
    Json json = log_probability_entry(*host_->loaded().target, before, choice);
    before.push_back(choice.token.token);
    return json;
  }

  Json log_probabilities(std::size_t index, const GeneratedText& text) {
    if (!scores_) return nullptr;
    Json content = Json::array();
    for (std::size_t t = 0; t < shown_tokens(text, search_) && t < text.choices.size(); ++t)
      content.push_back(entry(static_cast<std::int64_t>(index), text.choices[t]));
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  Call& call_;
  std::shared_ptr<ModelHost> host_;
  infer::SearchOptions search_;
  bool scores_ = false;
  std::string id_ = response_id("chatcmpl-");
  std::time_t created_ = std::time(nullptr);
  std::unique_ptr<TextGeneration> generation_;
  // token ids for each result: the prompt and the tokens so far
  std::vector<std::vector<std::int32_t>> before_;
};

Json message_schema() {
  using namespace schema;
  Json part{
      {"type", "object"}, {"properties", {{"type", text(100)}, {"text", text()}}}, {"required", {"type"}}};
  return object(
      {{"role", text(100)}, {"content", any_of({text(), array(part, 0, 1024)})}, {"name", text(1000)}},
      {"role"});
}

}  // namespace

void add_openai_chat_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json tool{{"type", "object"}};
  routes.push_back(post_route(
      Protocol::openai, "/v1/chat/completions", "Answer in a conversation", answer_or_stream<ChatCompletion>,
      {.request = generation_schema({{"messages", array(message_schema(), 1, kMostMessages)},
                                     {"max_completion_tokens", integer(1, 1 << 20)},
                                     {"logprobs", boolean()},
                                     {"top_logprobs", integer(0, 20)},
                                     {"tools", array(tool, 0, 128)},
                                     {"functions", array(tool, 0, 128)}},
                                    {"messages"}),
       .response = object({{"id", text()},
                           {"object", one_of({"chat.completion"})},
                           {"created", Json{{"type", "integer"}}},
                           {"model", text()},
                           {"choices", array(Json{{"type", "object"}}, 1, 1024)},
                           {"usage", Json{{"type", "object"}}}},
                          {"id", "object", "created", "model", "choices", "usage"}),
       .streams = true}));
}

}  // namespace regard::serve
