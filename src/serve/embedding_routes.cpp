// The routes of text-embeddings-inference, and the handlers that they share with POST /
// (inference_route.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/parameter.h"
#include "serve/embedding_routes.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

// Limits of a response, because its JSON occupies many times the memory of the request.
constexpr std::int64_t kMostStates = std::int64_t{1} << 22;  // maximum elements in a response of /embed_all
constexpr std::size_t kMostTokens = std::size_t{1} << 17;    // maximum tokens in a response of /tokenize

using schema::any_of;
using schema::array;
using schema::boolean;
using schema::integer;
using schema::object;
using schema::text;

ModelHost::Inputs embedded_inputs(Call& call, const ModelHost& host, const std::vector<std::string>& texts) {
  ModelHost::Inputs inputs;
  for (const std::string& one : texts)
    inputs.push_back(host.read_embedded(one, call.value("truncate", false)));
  for (const tasks::Input& input : inputs) call.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
  return inputs;
}

void answer_embed_all(Call& call) {
  const auto host = call.find_model(Ability::embed);
  const ModelHost::Inputs inputs = embedded_inputs(call, *host, texts_of(call.body["inputs"]));
  std::int64_t values = 0;
  for (const tasks::Input& input : inputs) values += input.tokens() * host->loaded().model->hidden_size();
  if (values > kMostStates)
    throw HttpError(400,
                    fmt::format("expected at most {} values in a response, found {}", kMostStates, values),
                    "request_too_large", "inputs");
  Json json = Json::array();
  for (const Tensor& states : host->states(inputs, call.waiting, probe_of(call, *host))) {
    Json rows = Json::array();
    for (std::int64_t t = 0; t < states.rows(); ++t)
      rows.push_back(std::vector<float>(states.row(t), states.row(t) + states.columns()));
    json.push_back(std::move(rows));
  }
  call.reply(json);
}

void answer_rerank(Call& call) {
  const auto host = call.find_model(Ability::rerank);
  const auto query = call.value<std::string>("query", "");
  const std::vector<std::string> texts = texts_of(call.body["texts"]);
  ModelHost::Inputs inputs;
  for (const std::string& one : texts) {
    inputs.push_back(host->read_classified(query, one, call.value("truncate", false)));
    call.prompt_tokens += static_cast<std::uint64_t>(inputs.back().tokens());
  }
  const auto scores = call.value("raw_scores", false) ? tasks::Scores::plain : tasks::Scores::sigmoid;
  std::vector<std::pair<float, std::size_t>> ranks;
  for (const ModelHost::Vector& row :
       host->classify(std::move(inputs), scores, call.waiting, probe_of(call, *host)))
    ranks.emplace_back(row[0], ranks.size());
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Json json = Json::array();
  for (const auto& [score, index] : ranks) {
    Json& one = json.emplace_back(Json{{"index", index}, {"score", score}});
    if (call.value("return_text", false)) one["text"] = texts[index];
  }
  call.reply(json);
}

void answer_tokenize(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const text::Tokenizer& tokenizer = host->tokenizer();
  Json json = Json::array();
  std::size_t total = 0;
  for (const std::string& one : texts_of(call.body["inputs"])) {
    call.waiting.require();
    const text::Encoding encoding = tokenizer.encode(
        one,
        {.add_special = call.value("add_special_tokens", true), .match_special = false, .as_file = false});
    if ((total += encoding.ids.size()) > kMostTokens)
      throw HttpError(
          400, fmt::format("expected at most {} tokens in a request, found {} or more", kMostTokens, total),
          "request_too_large", "inputs");
    Json& tokens = json.emplace_back(Json::array());
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      const bool special = encoding.special_mask[i] != 0;
      tokens.push_back({{"id", encoding.ids[i]},
                        {"text", tokenizer.token_of(encoding.ids[i])},
                        {"special", special},
                        {"start", special ? Json(nullptr) : Json(encoding.offsets[i].begin)},
                        {"stop", special ? Json(nullptr) : Json(encoding.offsets[i].end)}});
    }
  }
  call.reply(json);
}

void answer_decode(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const text::Tokenizer& tokenizer = *(host->loaded().target ? host->loaded().target : host->loaded().source);
  const Json& ids = call.body["ids"];
  const bool nested = !ids.empty() && ids[0].is_array();
  Json json = Json::array();
  const auto add = [&](const Json& list) {
    std::vector<std::int32_t> numbers;
    for (const Json& id : list) {
      const double number = id.get<double>();
      if (number >= static_cast<double>(tokenizer.vocabulary_size()))
        throw HttpError(400, "expected token ids below " + std::to_string(tokenizer.vocabulary_size()));
      numbers.push_back(static_cast<std::int32_t>(number));
    }
    json.push_back(tokenizer.decode(numbers, call.value("skip_special_tokens", true)));
  };
  if (nested)
    for (const Json& list : ids) add(list);
  else
    add(ids);
  call.reply(json);
}

// Return the model's pooling modes, separated by commas, with their names in text-embeddings-inference.
std::string pooling_name(const ModelHost& host) {
  std::string name;
  for (const tasks::PoolingMode mode : host.pooling())
    name += (name.empty() ? "" : ",") +
            std::string(mode == tasks::PoolingMode::last ? "last_token" : tasks::name_of(mode));
  return name;
}

Json labels_json(const ModelHost& host) {
  Json names = Json::object(), ids = Json::object();
  for (std::size_t i = 0; i < host.labels().size(); ++i) {
    names[std::to_string(i)] = host.labels()[i];
    ids[host.labels()[i]] = i;
  }
  return {{"id2label", std::move(names)}, {"label2id", std::move(ids)}};
}

// Return the dtype of the parameter with the most elements, such as "float16".
const char* dtype_name(const ModelHost& host) {
  const Parameter* largest = nullptr;
  std::int64_t most = -1;
  for (const Parameter* one : host.loaded().model->parameters())
    if (const std::int64_t elements = one->value().shape().elements(); elements > most)
      most = elements, largest = one;
  if (largest == nullptr) return "float32";
  switch (largest->is_held() ? largest->held.dtype : DType::f32) {
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::i8:
      return "int8";
    default:
      return "float32";
  }
}

// Describe the first model that computes vectors or, if there is none, the first model.
void answer_info(Call& call) {
  const auto hosts = call.services.models.all();
  const ModelHost* shown = hosts.front().get();
  for (const auto& host : hosts)
    if (host->can(Ability::embed)) {
      shown = host.get();
      break;
    }
  Json type = Json::object();
  if (shown->can(Ability::embed))
    type = {{"embedding", {{"pooling", pooling_name(*shown)}}}};
  else if (shown->can(Ability::classify))
    type = {{shown->can(Ability::rerank) ? "reranker" : "classifier", labels_json(*shown)}};
  std::int64_t longest = shown->positions();
  if (shown->can(Ability::embed) && shown->most_embedded_tokens() > 0)
    longest = shown->most_embedded_tokens();
  Json models = Json::array();
  for (const auto& host : hosts) models.push_back(host->name());
  call.reply({{"model_id", shown->name()},
              {"model_sha", nullptr},
              {"model_dtype", dtype_name(*shown)},
              {"model_type", type},
              {"max_concurrent_requests", call.services.options.in_progress},
              {"max_input_length", longest},
              {"max_batch_tokens", kBatchTokens},
              {"max_client_batch_size", kMostTexts},
              {"tokenization_workers", call.services.options.in_progress},
              {"version", "1"},
              {"models", models}});
}

void add_token_routes(std::vector<Route>& routes) {
  const Json texts = any_of({text(), array(text(), 1, kMostTexts)}), model = text(1000);
  routes.push_back(json_route(
      Protocol::embeddings, "/tokenize", "Tokens of texts; offsets count characters", answer_tokenize,
      object({{"inputs", texts}, {"add_special_tokens", boolean()}, {"model", model}}, {"inputs"}),
      array(array(Json{{"type", "object"}}, 0, 1 << 24), 1, kMostTexts)));
  const Json ids = array(integer(0, std::numeric_limits<std::int32_t>::max()), 0, 1 << 20);
  routes.push_back(json_route(Protocol::embeddings, "/decode", "Texts of tokens", answer_decode,
                              object({{"ids", any_of({ids, array(ids, 1, kMostTexts)})},
                                      {"skip_special_tokens", boolean()},
                                      {"model", model}},
                                     {"ids"}),
                              array(text(), 0, kMostTexts)));
  routes.push_back(get_route(Protocol::embeddings, "/info",
                             "Model information in the format of text-embeddings-inference", answer_info,
                             {.response = Json{{"type", "object"}}}));
}

}  // namespace

// --- handlers shared with POST / ---

std::int64_t dimensions_of(const Call& call, const ModelHost& host) {
  const std::int64_t dimensions = call.integer("dimensions", host.vector_size());
  if (dimensions > host.vector_size())
    throw HttpError(400,
                    "expected at most " + std::to_string(host.vector_size()) + " dimensions, found " +
                        std::to_string(dimensions),
                    "invalid_value", "dimensions");
  return dimensions;
}

void answer_embed(Call& call) {
  const auto host = call.find_model(Ability::embed);
  const std::int64_t dimensions = dimensions_of(call, *host);
  const bool scale = call.value("normalize", true);
  Json json = Json::array();
  for (ModelHost::Vector& vector : host->embed(embedded_inputs(call, *host, texts_of(call.body["inputs"])),
                                               scale, call.waiting, probe_of(call, *host))) {
    if (std::ssize(vector) > dimensions) {
      vector.resize(static_cast<std::size_t>(dimensions));
      if (scale) tasks::scale_to_length_one(vector);
    }
    json.push_back(vector);
  }
  call.reply(json);
}

void answer_predict(Call& call) {
  answer_best_labels(call, std::numeric_limits<std::size_t>::max());
}

void answer_best_labels(Call& call, std::size_t most) {
  const auto host = call.find_model(Ability::classify);
  const Json& given = call.body["inputs"];
  // `inputs` is a text, a list of texts, or a list of lists with one or two texts each.
  ModelHost::Inputs inputs;
  const bool truncate = call.value("truncate", false);
  const auto add = [&](const Json& one) {
    if (one.is_string())
      return inputs.push_back(host->read_classified(one.get<std::string>(), std::nullopt, truncate));
    std::optional<std::string> second;
    if (one.size() > 1) second = one[1].get<std::string>();
    inputs.push_back(host->read_classified(one[0].get<std::string>(), second, truncate));
  };
  if (given.is_string())
    add(given);
  else
    for (const Json& one : given) add(one);
  for (const tasks::Input& input : inputs) call.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
  const auto scores = call.value("raw_scores", false) ? tasks::Scores::plain : host->usual_scores();
  Json json = Json::array();
  for (const ModelHost::Vector& row :
       host->classify(std::move(inputs), scores, call.waiting, probe_of(call, *host))) {
    std::vector<std::size_t> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    order.resize(std::min(order.size(), most));
    Json& labels = json.emplace_back(Json::array());
    for (const std::size_t i : order) labels.push_back({{"score", row[i]}, {"label", host->labels()[i]}});
  }
  call.reply(given.is_string() ? json[0] : json);
}

void answer_similarity(Call& call) {
  const auto host = call.find_model(Ability::embed);
  const Json& given = call.body["inputs"];
  if (!given.is_object() || !given.contains("source_sentence") || !given["source_sentence"].is_string() ||
      !given.contains("sentences"))
    throw HttpError(400, "expected \"inputs\" with the members \"source_sentence\" and \"sentences\"");
  // The schema of POST / accepts any object, so it does not check the sentences.
  if (const auto bad = violation_of(any_of({text(), array(text(), 1, kMostTexts)}), given["sentences"]))
    throw HttpError(400, "inputs.sentences" + bad->place + ": " + bad->message, "invalid_value", "inputs");
  std::vector<std::string> texts{given["source_sentence"].get<std::string>()};
  for (std::string& one : texts_of(given["sentences"])) texts.push_back(std::move(one));
  const auto vectors =
      host->embed(embedded_inputs(call, *host, texts), false, call.waiting, probe_of(call, *host));
  Tensor first = Tensor::empty({1, host->vector_size()});
  Tensor others = Tensor::empty({std::ssize(vectors) - 1, host->vector_size()});
  std::copy(vectors[0].begin(), vectors[0].end(), first.f32());
  for (std::size_t i = 1; i < vectors.size(); ++i)
    std::copy(vectors[i].begin(), vectors[i].end(), others.row(static_cast<std::int64_t>(i) - 1));
  const Tensor scores = tasks::similarities(host->pool(), first, others);
  call.reply(std::vector<float>(scores.f32(), scores.f32() + scores.elements()));
}

void add_embedding_routes(std::vector<Route>& routes) {
  const Json texts = any_of({text(), array(text(), 1, kMostTexts)}), model = text(1000);
  const Json number{{"type", "number"}};
  const Json vectors = array(array(number, 1, 1 << 20), 1, kMostTexts);
  const Json label = object({{"score", number}, {"label", text()}}, {"score", "label"});
  routes.push_back(json_route(Protocol::embeddings, "/embed", "Vectors of texts", answer_embed,
                              object({{"inputs", texts},
                                      {"normalize", boolean()},
                                      {"truncate", boolean()},
                                      {"dimensions", integer(1, 1 << 20)},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"inputs"}),
                              vectors));
  routes.push_back(json_route(Protocol::embeddings, "/embed_all", "A vector for each token of texts",
                              answer_embed_all,
                              object({{"inputs", texts},
                                      {"truncate", boolean()},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"inputs"}),
                              array(vectors, 1, kMostTexts)));
  const Json pair = array(text(), 1, 2);
  routes.push_back(json_route(
      Protocol::embeddings, "/predict", "Classify texts or pairs of texts", answer_predict,
      object({{"inputs", any_of({text(), array(text(), 1, kMostTexts), array(pair, 1, kMostTexts)})},
              {"raw_scores", boolean()},
              {"interventions", interventions_schema()},
              {"truncate", boolean()},
              {"model", model}},
             {"inputs"}),
      any_of({array(label, 1, 1 << 20), array(array(label, 1, 1 << 20), 1, kMostTexts)})));
  routes.push_back(
      json_route(Protocol::embeddings, "/rerank", "Rank texts by their relevance to a query", answer_rerank,
                 object({{"query", text()},
                         {"texts", array(text(), 1, kMostTexts)},
                         {"raw_scores", boolean()},
                         {"return_text", boolean()},
                         {"interventions", interventions_schema()},
                         {"truncate", boolean()},
                         {"model", model}},
                        {"query", "texts"}),
                 array(object({{"index", integer(0, kMostTexts)}, {"score", number}, {"text", text()}},
                              {"index", "score"}),
                       1, kMostTexts)));
  const Json sentences = object({{"source_sentence", text()}, {"sentences", array(text(), 1, kMostTexts)}},
                                {"source_sentence", "sentences"});
  routes.push_back(json_route(Protocol::embeddings, "/similarity", "Similarity of a sentence to others",
                              answer_similarity,
                              object({{"inputs", sentences},
                                      {"truncate", boolean()},
                                      {"interventions", interventions_schema()},
                                      {"model", model}},
                                     {"inputs"}),
                              array(number, 1, kMostTexts)));
  add_token_routes(routes);
  add_inference_route(routes);
}

}  // namespace regard::serve
