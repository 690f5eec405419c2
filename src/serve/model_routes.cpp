// GET /models and /models/{model}: the properties and abilities of each model.
#include "serve/json_schema.h"
#include "serve/route.h"

namespace regard::serve {
namespace {

const char* kind_name(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return "encoder-decoder";
  return kind == ModelKind::encoder ? "encoder" : "decoder";
}

// Return the number of heads of each layer, as {"cross": [8, 8], …}.
Json heads_of(const inspect::ModelPoints& points) {
  Json heads = Json::object();
  for (const auto& [place, count] : points.heads) heads[inspect::name_of(place.first)].push_back(count);
  return heads;
}

Json description_of(ModelHost& host) {
  const infer::LoadedModel& loaded = host.loaded();
  const Json& config = loaded.model->config();
  Json abilities = Json::array();
  for (const Ability one : kAbilities)
    if (host.can(one)) abilities.push_back(key_of(one));
  Json json{{"name", host.name()},
            {"kind", kind_name(loaded.model->kind())},
            {"family", config.is_object() && config.contains("model_type") ? config["model_type"] : Json("")},
            {"abilities", std::move(abilities)},
            {"positions", host.positions()},
            {"languages", {{"sources", host.languages().sources}, {"targets", host.languages().targets}}},
            {"heads", host.can(Ability::attend) ? heads_of(host.points()) : Json::object()}};
  if (host.can(Ability::classify)) json["labels"] = host.labels();
  if (host.can(Ability::embed)) json["dimensions"] = host.vector_size();
  return json;
}

void describe_models(Call& call) {
  Json models = Json::array();
  for (const auto& host : call.services.models.all()) models.push_back(description_of(*host));
  call.reply({{"models", std::move(models)}});
}

void describe_model(Call& call) {
  const auto host = call.services.models.named(call.value<std::string>("model", ""));
  Json json = description_of(*host);
  json["points"] = Json::object();
  if (host->can(Ability::attend))
    for (const auto& [point, features] : host->points().features) json["points"][point] = features;
  call.reply(json);
}

}  // namespace

void add_model_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json texts = array(text(), 0, 1 << 20);
  const Json model = object({{"name", text()},
                             {"kind", one_of({"encoder", "decoder", "encoder-decoder"})},
                             {"family", text()},
                             {"abilities", texts},
                             {"positions", described(integer(0, 1 << 30), "0: no limit")},
                             {"languages", object({{"sources", texts}, {"targets", texts}})},
                             {"heads", Json{{"type", "object"}}}},
                            {"name", "kind", "family", "abilities", "positions", "languages", "heads"});
  routes.push_back(get_route(Protocol::regard, "/models", "Properties and abilities of each model",
                             describe_models,
                             {.response = object({{"models", array(model, 0, 1 << 20)}}, {"models"})}));
  routes.push_back(get_route(Protocol::regard, "/models/{model}",
                             "One model, with its probe points and their numbers of features", describe_model,
                             {.response = model}));
}

}  // namespace regard::serve
