// POST /v1/embeddings and GET /v1/models.
#include <cstring>

#include "serve/embedding_routes.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/openai_parameters.h"
#include "serve/openai_routes.h"
#include "serve/request_edits.h"
#include "text/base64.h"

namespace regard::serve {
namespace {

ModelHost::Inputs inputs_of(const ModelHost& host, const Json& value) {
  ModelHost::Inputs inputs;
  const auto add = [&](const Json& one) {
    if (one.is_string()) return inputs.push_back(host.read_embedded(one.get<std::string>(), true));
    std::vector<std::int32_t> ids;
    for (const Json& id : one) {
      ids.push_back(static_cast<std::int32_t>(id.get<double>()));
      if (ids.back() >= host.loaded().model->source_vocabulary())
        throw HttpError(400, "expected token ids of the model, found " + std::to_string(ids.back()),
                        "invalid_value", "input");
    }
    if (host.positions() > 0 && std::ssize(ids) > host.positions())
      throw HttpError(400,
                      "expected at most " + std::to_string(host.positions()) + " tokens, found " +
                          std::to_string(ids.size()),
                      "context_length_exceeded", "input");
    inputs.push_back(tasks::Input(ModelInput(std::move(ids))));
  };
  const bool one = value.is_string() || (!value.empty() && value[0].is_number());
  if (one)
    add(value);
  else
    for (const Json& item : value) add(item);
  return inputs;
}

Json vector_json(const ModelHost::Vector& vector, bool base64) {
  if (!base64) return vector;
  return text::encode_base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

void answer_embeddings(Call& call) {
  const auto host = call.find_model(Ability::embed);
  const std::int64_t dimensions = dimensions_of(call, *host);
  ModelHost::Inputs inputs = inputs_of(*host, call.body["input"]);
  for (const tasks::Input& input : inputs) call.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
  const bool base64 = call.value<std::string>("encoding_format", "float") == "base64";
  Json data = Json::array();
  for (ModelHost::Vector& vector :
       host->embed(std::move(inputs), true, call.waiting, probe_of(call, *host))) {
    if (std::ssize(vector) > dimensions) {
      vector.resize(static_cast<std::size_t>(dimensions));
      tasks::scale_to_length_one(vector);
    }
    data.push_back(
        {{"object", "embedding"}, {"index", data.size()}, {"embedding", vector_json(vector, base64)}});
  }
  call.reply({{"object", "list"},
              {"data", std::move(data)},
              {"model", host->name()},
              {"usage", {{"prompt_tokens", call.prompt_tokens}, {"total_tokens", call.prompt_tokens}}}});
}

Json model_json(const ModelHost& host) {
  return {{"id", host.name()}, {"object", "model"}, {"created", host.created()}, {"owned_by", "regard"}};
}

void answer_models(Call& call) {
  Json data = Json::array();
  for (const auto& host : call.services.models.all()) data.push_back(model_json(*host));
  call.reply({{"object", "list"}, {"data", std::move(data)}});
}

void answer_model(Call& call) {
  call.reply(model_json(*call.services.models.named(call.value<std::string>("model", ""))));
}

}  // namespace

void add_openai_embeddings_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json ids = array(integer(0, std::numeric_limits<std::int32_t>::max()), 1, 1 << 16);
  routes.push_back(post_route(
      Protocol::openai, "/v1/embeddings",
      "Vectors of texts, normalised to length 1; long texts are truncated", answer_embeddings,
      {.request =
           object({{"input", any_of({text(), array(text(), 1, kMostTexts), ids, array(ids, 1, kMostTexts)})},
                   {"model", text(1000)},
                   {"encoding_format", one_of({"float", "base64"})},
                   {"dimensions", integer(1, 1 << 20)},
                   {"interventions", interventions_schema()},
                   {"user", text(1000)}},
                  {"input"}),
       .response = object({{"object", one_of({"list"})},
                           {"data", array(Json{{"type", "object"}}, 1, kMostTexts)},
                           {"model", text()},
                           {"usage", Json{{"type", "object"}}}},
                          {"object", "data", "model", "usage"})}));
}

void add_openai_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json model = object({{"id", text()}, {"object", one_of({"model"})}}, {"id", "object"});
  routes.push_back(get_route(
      Protocol::openai, "/v1/models", "The models", answer_models,
      {.response =
           object({{"object", one_of({"list"})}, {"data", array(model, 0, 1 << 20)}}, {"object", "data"})}));
  routes.push_back(
      get_route(Protocol::openai, "/v1/models/{model}", "One model", answer_model, {.response = model}));
  add_openai_chat_route(routes);
  add_openai_completions_route(routes);
  add_openai_embeddings_route(routes);
  add_openai_speech_routes(routes);
}

}  // namespace regard::serve
