// Routes of regard's own tasks: /answer, /fill, /tag and /attend.
#include "base/utf8.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/regard_tasks.h"
#include "serve/text_generation.h"

namespace regard::serve {
namespace {

// Maximum tokens of an attention request: a map of a head has the square of this number of weights.
constexpr std::int64_t kMostAttended = 1024;
constexpr std::size_t kMostValues = std::size_t{1} << 22;  // numbers of query, key and value vectors

void answer_answer(Call& call) {
  const auto host = call.find_model(Ability::answer);
  tasks::AnswerOptions options;
  options.count = static_cast<std::size_t>(call.integer("top_k", 1));
  options.longest = call.integer("max_answer_len", options.longest);
  options.may_be_none = call.value("handle_impossible_answer", false);
  Json answers = Json::array();
  for (const tasks::Answer& one : answers_of(call, *host, call.value<std::string>("question", ""),
                                             call.value<std::string>("context", ""), options))
    answers.push_back({{"answer", one.text}, {"score", one.score}, {"begin", one.begin}, {"end", one.end}});
  call.reply({{"model", host->name()}, {"answers", std::move(answers)}});
}

void answer_fill(Call& call) {
  const auto host = call.find_model(Ability::fill);
  const auto targets = call.value<std::vector<std::string>>("targets", {});
  Json masks = Json::array();
  for (const auto& mask : fillings_of(call, *host, call.value<std::string>("text", ""),
                                      static_cast<std::size_t>(call.integer("top_k", 5)), targets)) {
    Json& fillings = masks.emplace_back(Json::array());
    for (const tasks::Filling& one : mask)
      fillings.push_back(
          {{"score", one.score}, {"token", one.token}, {"token_str", one.text}, {"sequence", one.sequence}});
  }
  call.reply({{"model", host->name()}, {"masks", std::move(masks)}});
}

void answer_tag(Call& call) {
  const auto host = call.find_model(Ability::tag);
  const std::vector<std::string> texts = texts_of(call.body["text"]);
  Json json = Json::array();
  for (const auto& tags : tags_of(call, *host, texts, call.value<std::string>("aggregation", "none"))) {
    Json& list = json.emplace_back(Json::array());
    for (const tasks::Tag& one : tags)
      list.push_back({{"label", one.label},
                      {"score", one.score},
                      {"word", one.word},
                      {"begin", one.begin},
                      {"end", one.end}});
  }
  call.reply({{"model", host->name()}, {"tags", call.body["text"].is_string() ? json[0] : json}});
}

// --- attention ---

inspect::Selection selection_of(const Call& call) {
  inspect::Selection selection;
  for (const Json& layer : call.value("layers", Json::array()))
    selection.layers.insert(static_cast<std::int64_t>(layer.get<double>()));
  for (const Json& head : call.value("heads", Json::array()))
    selection.heads.insert(static_cast<std::int64_t>(head.get<double>()));
  if (const auto kind = inspect::kind_of(call.value<std::string>("kind", ""))) selection.kinds.insert(*kind);
  selection.values = call.value("values", false);
  return selection;
}

inspect::Kind usual_kind(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return inspect::Kind::cross;
  return kind == ModelKind::encoder ? inspect::Kind::encoder : inspect::Kind::decoder;
}

void require_short(const ModelHost& host, const std::string& text) {
  const auto tokens = std::ssize(host.tokenizer().encode_ids(text));
  if (tokens > kMostAttended)
    throw HttpError(
        400, "expected at most " + std::to_string(kMostAttended) + " tokens, found " + std::to_string(tokens),
        "context_length_exceeded", "text");
}

void answer_attend(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const infer::LoadedModel& loaded = host->loaded();
  const ModelKind kind = loaded.model->kind();
  inspect::AttendRequest request;
  request.model_name = host->name();
  request.text = call.value<std::string>("text", "");
  request.pair = call.value<std::string>("pair", "");
  request.average = call.value("average", false);
  request.selection = selection_of(call);
  for (const std::string* text : {&request.text, &request.pair}) require_short(*host, *text);
  const auto named = inspect::kind_of(call.value<std::string>("kind", ""));
  request.ablated =
      inspect::parse_heads(call.value<std::string>("ablate", ""), named.value_or(usual_kind(kind)));
  const auto target = call.value<std::string>("target", "");
  const std::int64_t generate = call.integer("generate", 0);
  if (!target.empty() && kind != ModelKind::encoder_decoder)
    throw HttpError(400, "a target needs an encoder-decoder model", "invalid_value", "target");
  if (generate > 0 && kind == ModelKind::encoder)
    throw HttpError(400, "generate needs a model with a decoder", "invalid_value", "generate");
  if (!target.empty()) {
    require_short(*host, target);
    request.written = inspect::written_ids(loaded, target);
  } else if (kind == ModelKind::encoder_decoder || generate > 0) {
    inspect::generate_target(loaded, host->pool(), request, generate > 0 ? generate : kMostAttended);
  }
  inspect::View view = inspect::attend(loaded, host->pool(), request);
  inspect::limit_values(view, kMostValues);
  call.prompt_tokens += view.tokens.source.size() + view.tokens.target.size();
  const auto precision = call.value("full", false) ? inspect::Precision::full : inspect::Precision::bits8;
  call.reply_text(inspect::to_json(view, precision), "application/json");
}

Route own_route(const char* path, const char* summary, void (*handle)(Call&), Json request, Json response) {
  return {.method = "POST",
          .path = path,
          .protocol = Protocol::regard,
          .summary = summary,
          .handle = handle,
          .request = std::move(request),
          .response = std::move(response)};
}

}  // namespace

void add_regard_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json model = text(1000), list = array(Json::object(), 0, 1 << 20);
  routes.push_back(own_route("/answer", "Find the answer to a question in a text", answer_answer,
                             object({{"question", text()},
                                     {"context", text()},
                                     {"top_k", integer(1, 100)},
                                     {"max_answer_len", integer(1, 1000)},
                                     {"handle_impossible_answer", boolean()},
                                     {"model", model}},
                                    {"question", "context"}),
                             object({{"model", text()}, {"answers", list}}, {"model", "answers"})));
  routes.push_back(own_route("/fill", "Predict masked words", answer_fill,
                             object({{"text", text()},
                                     {"top_k", integer(1, 100)},
                                     {"targets", array(text(1000), 0, 1000)},
                                     {"model", model}},
                                    {"text"}),
                             object({{"model", text()}, {"masks", list}}, {"model", "masks"})));
  routes.push_back(own_route("/tag", "Classify the tokens of texts", answer_tag,
                             object({{"text", any_of({text(), array(text(), 1, kMostTexts)})},
                                     {"aggregation", one_of({"none", "simple", "first", "average", "max"})},
                                     {"model", model}},
                                    {"text"}),
                             object({{"model", text()}, {"tags", list}}, {"model", "tags"})));
  routes.push_back(own_route("/attend", "Attention weights of one text, in the capture format", answer_attend,
                             object({{"text", text()},
                                     {"pair", text()},
                                     {"target", text()},
                                     {"kind", one_of({"encoder", "decoder", "cross"})},
                                     {"layers", array(integer(0, 100000), 0, 1000)},
                                     {"heads", array(integer(0, 100000), 0, 1000)},
                                     {"ablate", text(10000)},
                                     {"average", boolean()},
                                     {"values", boolean()},
                                     {"full", boolean()},
                                     {"generate", integer(0, kMostAttended)},
                                     {"model", model}},
                                    {"text"}),
                             Json{{"type", "object"}}));
}

}  // namespace regard::serve
