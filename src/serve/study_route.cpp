// POST /study: the studies of `regard study` that require no file.
#include <fmt/format.h>

#include "inspect/study_views.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostStudied = 256;  // maximum tokens of a text
constexpr std::int64_t kMostFlowing = 64;   // maximum tokens of a text for attention flow

inspect::StudyRequest request_of(const Call& call) {
  inspect::StudyRequest request;
  request.view = call.value<std::string>("view", request.view);
  request.text = call.value<std::string>("text", "");
  request.target = call.value<std::string>("target", "");
  request.other = call.value<std::string>("other", "");
  request.other_target = call.value<std::string>("other_target", "");
  request.answer = call.value<std::string>("answer", "");
  request.instead = call.value<std::string>("instead", "");
  request.off = call.value<std::string>("off", "");
  request.position = call.integer("position", request.position);
  request.most = call.integer("most", request.most);
  request.steps = call.integer("steps", request.steps);
  request.length = call.integer("length", request.length);
  request.sequences = call.integer("sequences", request.sequences);
  return request;
}

void check(const ModelHost& host, const inspect::StudyRequest& request) {
  const auto need = [&](const std::string& value, const char* name) {
    if (value.empty())
      throw HttpError(400, fmt::format("the view {} needs \"{}\"", request.view, name), "invalid_value",
                      name);
  };
  if (request.view != "induction") need(request.text, "text");
  if (request.view == "patch" || request.view == "path") need(request.other, "other");
  if (request.view == "flip") need(request.instead, "instead");
  const std::int64_t most = request.view == "flow" ? kMostFlowing : kMostStudied;
  for (const std::string* text : {&request.text, &request.target, &request.other, &request.other_target}) {
    const auto tokens = std::ssize(host.tokenizer().encode_ids(*text));
    if (tokens > most)
      throw HttpError(400, fmt::format("expected at most {} tokens, found {}", most, tokens),
                      "context_length_exceeded", "text");
  }
}

inspect::StudyTable table_of(Call& call, ModelHost& host, const inspect::StudyRequest& request) {
  // This throws at the deadline, which ends the study. A study that does not report progress is not ended.
  const auto progress = [&](double) { return call.waiting.require(), true; };
  const auto seed = static_cast<std::uint64_t>(call.integer("seed", 1));
  if (request.view != "tokens")
    return inspect::study_table(host.loaded(), host.pool(), request, seed, progress);
  // Gradients require f32 weights that are not packed.
  const auto loaded = infer::LoadedModel::open(host.path(), WeightMode::widened);
  return inspect::study_table(loaded, host.pool(), request, seed, progress);
}

void answer_study(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const inspect::StudyRequest request = request_of(call);
  check(*host, request);
  const TurnHolder turn(*host, call);
  Json json = table_of(call, *host, request).json();
  json["model"] = host->name();
  call.reply(json);
}

}  // namespace

void add_study_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json token = text(1000);
  routes.push_back(
      {.method = "POST",
       .path = "/study",
       .protocol = Protocol::regard,
       .summary = "Measure the effects of a model's parts on a text, with the views of `regard study`",
       .handle = answer_study,
       .request = object({{"view", one_of({"heads", "sets", "flip", "kinds", "induction", "lens", "direct",
                                           "patch", "path", "tokens", "rollout", "flow"})},
                          {"text", text()},
                          {"target", text()},
                          {"other", text()},
                          {"other_target", text()},
                          {"answer", token},
                          {"instead", token},
                          {"off", text(10000)},
                          {"position", integer(0, kMostStudied)},
                          {"most", integer(1, 16)},
                          {"steps", integer(1, 200)},
                          {"length", integer(1, kMostStudied)},
                          {"sequences", integer(1, 32)},
                          {"seed", integer(0, std::numeric_limits<std::int64_t>::max())},
                          {"model", text(1000)}},
                         {"view"}),
       .response = Json{{"type", "object"}},
       .heavy = true});
}

}  // namespace regard::serve
