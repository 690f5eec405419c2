// POST /: run the model's task. Requests and results have the format of Hugging Face's inference API
// ({"inputs": …, "parameters": …}) and of transformers' pipelines, with offsets in characters.
#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "serve/embedding_routes.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/regard_tasks.h"
#include "serve/request_edits.h"
#include "serve/text_generation.h"
#include "serve/translation.h"

namespace regard::serve {
namespace {

// Convert a byte offset in the text to an offset in characters.
std::size_t character_at(const std::string& text, std::size_t byte) {
  return utf8::count(std::string_view(text).substr(0, byte));
}

const std::string& text_input(const Call& call) {
  const Json& inputs = call.body["inputs"];
  if (!inputs.is_string())
    throw HttpError(400, "expected a text in \"inputs\" for this model", "invalid_value", "inputs");
  return inputs.get_ref<const std::string&>();
}

void answer_question(Call& call, ModelHost& host) {
  const Json& inputs = call.body["inputs"];
  if (!inputs.is_object() || !inputs.contains("question") || !inputs.contains("context") ||
      !inputs["question"].is_string() || !inputs["context"].is_string())
    throw HttpError(400, "expected \"inputs\" with the members \"question\" and \"context\"", "invalid_value",
                    "inputs");
  const auto context = inputs["context"].get<std::string>();
  tasks::AnswerOptions options;
  options.count = static_cast<std::size_t>(call.integer("top_k", 1));
  Json json = Json::array();
  for (const tasks::Answer& one :
       answers_of(call, host, inputs["question"].get<std::string>(), context, options))
    json.push_back({{"score", one.score},
                    {"start", character_at(context, one.begin)},
                    {"end", character_at(context, one.end)},
                    {"answer", one.text}});
  call.reply(options.count == 1 && json.size() == 1 ? json[0] : json);
}

void answer_masks(Call& call, ModelHost& host) {
  Json json = Json::array();
  for (const auto& mask :
       fillings_of(call, host, text_input(call), static_cast<std::size_t>(call.integer("top_k", 5)), {})) {
    Json& list = json.emplace_back(Json::array());
    for (const tasks::Filling& one : mask)
      list.push_back(
          {{"score", one.score}, {"token", one.token}, {"token_str", one.text}, {"sequence", one.sequence}});
  }
  call.reply(json.size() == 1 ? json[0] : json);
}

void answer_entities(Call& call, ModelHost& host) {
  const std::string& text = text_input(call);
  const auto aggregation = call.value<std::string>("aggregation_strategy", "simple");
  Json json = Json::array();
  const auto all = tags_of(call, host, {text}, aggregation);
  for (const tasks::Tag& one : all[0])
    json.push_back({{aggregation == "none" ? "entity" : "entity_group", one.label},
                    {"score", one.score},
                    {"word", one.word},
                    {"start", character_at(text, one.begin)},
                    {"end", character_at(text, one.end)}});
  call.reply(json);
}

void answer_translation(Call& call, const std::shared_ptr<ModelHost>& host) {
  const std::vector<std::string> texts = texts_of(call.body["inputs"]);
  const auto target = call.value<std::string>("tgt_lang", "");
  const std::vector<std::string>& targets = host->languages().targets;
  if (!target.empty() && language_token(*host, target).empty() &&
      std::find(targets.begin(), targets.end(), target) == targets.end())
    throw HttpError(400, "unknown target language \"" + target + "\"", "invalid_value", "tgt_lang");
  const TranslationRequest request{host, target, 0};
  Json json = Json::array();
  for (const Translations& one : translate_texts(call, request, texts))
    json.push_back({{"translation_text", one[0]}});
  call.reply(json);
}

void answer_generation(Call& call, const std::shared_ptr<ModelHost>& host) {
  const std::string& text = text_input(call);
  GenerationPlan plan{.host = host, .search = host->loaded().options, .input = host->loaded().read(text)};
  plan.search.n_best = 1;
  plan.search.max_new = bounded_new_tokens(call, *host, plan.input, call.integer("max_new_tokens", 20), 1);
  TextGeneration generation(call, std::move(plan));
  const bool full = call.value("return_full_text", false);
  call.reply(Json::array({{{"generated_text", (full ? text : "") + generation.run().at(0).text}}}));
}

// Copy the members of "parameters" to the body itself.
void merge_parameters(Call& call) {
  if (!call.has("parameters")) return;
  const Json parameters = call.body["parameters"];
  const Json& known = call.route.request.at("properties").at("parameters").at("properties");
  for (const auto& [name, value] : parameters.items())
    if (!value.is_null() && known.contains(name)) call.body[name] = value;
}

void answer_inference(Call& call) {
  merge_parameters(call);
  const std::shared_ptr<ModelHost> host = call.find_model(Ability::attend);
  call.body["model"] = host->name();
  // bound after the assignment to body["model"], which may move the inputs
  const Json& inputs = call.body["inputs"];
  const bool strings = inputs.is_string() || (inputs.is_array() && inputs[0].is_string());
  const bool pairs = inputs.is_array() && inputs[0].is_array();
  if (host->can(Ability::answer)) return answer_question(call, *host);
  if (host->can(Ability::tag)) return answer_entities(call, *host);
  if (host->can(Ability::fill) && inputs.is_string() &&
      inputs.get_ref<const std::string&>().find(tasks::Filler(host->loaded(), host->pool()).mask()) !=
          std::string::npos)
    return answer_masks(call, *host);
  if (inputs.is_object()) {
    if (!host->can(Ability::embed))
      throw HttpError(400, "this model does not accept an object in \"inputs\"", {}, "inputs");
    return answer_similarity(call);
  }
  if (host->can(Ability::classify)) {
    // Return a list of lists of labels, one list per text. InferenceClient.text_classification() expects this
    // format even for a single text.
    if (inputs.is_string()) call.body["inputs"] = Json::array({Json(inputs)});
    return answer_best_labels(
        call, static_cast<std::size_t>(call.integer("top_k", std::numeric_limits<std::int64_t>::max())));
  }
  if (!strings || pairs)
    throw HttpError(400, "expected a text or a list of texts for this model", {}, "inputs");
  if (host->can(Ability::embed)) return answer_embed(call);
  if (host->can(Ability::translate)) return answer_translation(call, host);
  if (host->can(Ability::generate)) return answer_generation(call, host);
  throw HttpError(
      400, "POST / supports only models that embed, classify, translate or generate texts, or fill masks");
}

}  // namespace

void add_inference_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json inputs = any_of({text(), array(text(), 1, kMostTexts), array(array(text(), 1, 2), 1, kMostTexts),
                              Json{{"type", "object"}}});
  const Json parameters =
      object({{"top_k", integer(1, 100)},
              {"max_new_tokens", integer(1, 1 << 20)},
              {"return_full_text", boolean()},
              {"normalize", boolean()},
              {"truncate", boolean()},
              {"dimensions", integer(1, 1 << 20)},
              {"raw_scores", boolean()},
              {"interventions", interventions_schema()},
              {"aggregation_strategy", one_of({"none", "simple", "first", "average", "max"})},
              {"src_lang", text(32)},
              {"tgt_lang", text(32)}});
  Json request = object({{"inputs", inputs}, {"parameters", parameters}, {"model", text(1000)}}, {"inputs"});
  for (const auto& [name, schema] : parameters["properties"].items()) request["properties"][name] = schema;
  routes.push_back(post_route(Protocol::embeddings, "/",
                              "The model's task, in the format of Hugging Face's inference API",
                              answer_inference, {.request = std::move(request), .response = Json::object()}));
}

}  // namespace regard::serve
