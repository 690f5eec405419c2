// The routes /answer, /fill and /tag, for tasks that the other supported APIs lack.
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/regard_tasks.h"
#include "serve/request_edits.h"
#include "serve/text_generation.h"

namespace regard::serve {
namespace {

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

}  // namespace

void add_regard_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json model = text(1000), list = array(Json::object(), 0, 1 << 20);
  routes.push_back(json_route(Protocol::regard, "/answer", "Find the answer to a question in a text",
                              answer_answer,
                              object({{"question", text()},
                                      {"context", text()},
                                      {"top_k", integer(1, 100)},
                                      {"max_answer_len", integer(1, 1000)},
                                      {"handle_impossible_answer", boolean()},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"question", "context"}),
                              object({{"model", text()}, {"answers", list}}, {"model", "answers"})));
  routes.push_back(json_route(Protocol::regard, "/fill", "Predict masked words", answer_fill,
                              object({{"text", text()},
                                      {"top_k", integer(1, 100)},
                                      {"targets", array(text(1000), 0, 1000)},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"text"}),
                              object({{"model", text()}, {"masks", list}}, {"model", "masks"})));
  routes.push_back(json_route(Protocol::regard, "/tag", "Classify the tokens of texts", answer_tag,
                              object({{"text", any_of({text(), array(text(), 1, kMostTexts)})},
                                      {"aggregation", one_of({"none", "simple", "first", "average", "max"})},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"text"}),
                              object({{"model", text()}, {"tags", list}}, {"model", "tags"})));
}

}  // namespace regard::serve
