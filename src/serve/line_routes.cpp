// POST /vectors and POST /classify: compute what `regard embed` and `regard classify` compute for each line.
// With --server, these commands send requests to the routes.
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"
#include "serve/request_scores.h"

namespace regard::serve {
namespace {

void count_inputs(Call& call, const ModelHost::Inputs& inputs) {
  for (const tasks::Input& input : inputs) call.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
}

void answer_vectors(Call& call) {
  const auto host = call.find_model(Ability::embed);
  Probe* const probe = probe_of(call, *host);  // checks the interventions, even if there is no input
  ModelHost::Inputs inputs;
  for (const std::string& text : texts_of(call.body["inputs"]))
    inputs.push_back(host->read_embedded(text, call.value("truncate", false)));
  count_inputs(call, inputs);
  Json results = Json::array();
  for (const tasks::Input& input : inputs)
    results.push_back({{"tokens", input.tokens()}, {"truncated", input.cut}});
  if (!inputs.empty()) {
    const auto vectors = host->embed(std::move(inputs), false, call.waiting, probe);
    for (std::size_t i = 0; i < vectors.size(); ++i) results[i]["embedding"] = vectors[i];
  }
  call.reply({{"model", host->name()},
              {"dimensions", host->vector_size()},
              {"max_tokens", host->most_embedded_tokens()},
              {"dot_product", host->compares_by_product()},
              {"results", std::move(results)}});
}

void answer_classify(Call& call) {
  const auto host = call.find_model(Ability::classify);
  const bool truncate = call.value("truncate", false);
  ModelHost::Inputs inputs;
  for (const Json& one : call.body["inputs"])
    if (one.is_string())
      inputs.push_back(host->read_classified(one.get<std::string>(), std::nullopt, truncate));
    else
      inputs.push_back(
          host->read_classified(one.at(0).get<std::string>(), one.at(1).get<std::string>(), truncate));
  for (const tasks::Input& input : inputs)
    if (input.ids.empty())
      throw input_error("cannot classify a line without tokens").expected("a text of at least one token");
  count_inputs(call, inputs);
  Json results = Json::array();
  for (const tasks::Input& input : inputs) results.push_back({{"truncated", input.cut}});
  const auto scores = host->classify(std::move(inputs), scores_of(call).value_or(host->usual_scores()),
                                     call.waiting, probe_of(call, *host));
  for (std::size_t i = 0; i < scores.size(); ++i) results[i]["scores"] = scores[i];
  call.reply({{"model", host->name()}, {"labels", host->labels()}, {"results", std::move(results)}});
}

}  // namespace

void add_line_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json results = array(Json::object(), 0, kMostTexts);
  routes.push_back(json_route(Protocol::regard, "/vectors",
                              "Vectors of texts as the folder defines them, with their tokens",
                              answer_vectors,
                              object({{"inputs", array(text(), 0, kMostTexts)},
                                      {"truncate", boolean()},
                                      {"interventions", interventions_schema()},
                                      {"model", text(1000)}},
                                     {"inputs"}),
                              object({{"model", text()}, {"results", results}}, {"model", "results"})));
  const Json pair = array(text(), 2, 2);
  routes.push_back(json_route(
      Protocol::regard, "/classify", "Scores of all labels of texts or pairs of texts", answer_classify,
      object({{"inputs", array(any_of({text(), pair}), 1, kMostTexts)},
              {"scores", scores_schema()},
              {"truncate", boolean()},
              {"interventions", interventions_schema()},
              {"model", text(1000)}},
             {"inputs"}),
      object({{"model", text()}, {"labels", array(text(), 1, 1 << 20)}, {"results", results}},
             {"model", "labels", "results"})));
}

}  // namespace regard::serve
