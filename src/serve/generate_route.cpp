// POST /generate: return hypotheses for texts, with every search option of `regard generate` and `regard
// translate`. These commands use the route if they are given --server.
#include "infer/hypothesis_json.h"
#include "infer/search_overrides.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"
#include "serve/text_generation.h"
#include "serve/translation.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostInputs = 256;
constexpr std::int64_t kMostRows = 64;  // maximum value of "beam" and of "n_best"

infer::SearchOptions search_of(const Call& call, const ModelHost& host) {
  infer::SearchOverrides overrides;
  infer::SearchOverrides::for_each(overrides, [&](const char* name, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if (!call.has(name)) return;
    if constexpr (std::is_same_v<Member, std::optional<std::int64_t>>)
      member = call.integer(name, 0);
    else if constexpr (std::is_same_v<Member, bool>)
      member = call.value(name, false);
    else
      member = call.value(name, typename Member::value_type());
  });
  const std::int64_t most = call.services.options.most_new_tokens;
  if (overrides.max_new.value_or(0) > most)
    throw HttpError(400,
                    "expected at most " + std::to_string(most) +
                        " new tokens (the server's --max-tokens), found " +
                        std::to_string(*overrides.max_new),
                    "invalid_value", "max_new");
  infer::SearchOptions search =
      overrides.over(host.loaded().options, static_cast<std::uint64_t>(call.integer("seed", 1)));
  const auto stops = call.value<std::vector<std::string>>("stop", {});
  if (!stops.empty()) search.stop_strings = std::make_shared<infer::StopStrings>(host.loaded().target, stops);
  host.loaded().ban(call.value<std::vector<std::string>>("bad_words", {}), search.rules);
  return search;
}

// Return the text to prepend to every input: the token of the target language, then the prefix.
std::string before_inputs(const Call& call, const ModelHost& host) {
  const bool translates = call.value("translate", false);
  std::string before = call.value<std::string>("prefix", translates ? host.loaded().prefix : std::string());
  const auto language = call.value<std::string>("to", "");
  if (language.empty()) return before;
  const std::string token = language_token(host, language);
  if (token.empty())
    throw HttpError(400, "unknown target language \"" + language + "\"", "invalid_value", "to");
  return token + before;
}

void answer_generate(Call& call) {
  const auto host = call.find_model(call.value("translate", false) ? Ability::translate : Ability::generate);
  const infer::LoadedModel& loaded = host->loaded();
  edits_of(call, *host);  // check the interventions, even if no input has tokens
  const infer::SearchOptions search = search_of(call, *host);
  const bool truncate = call.value("truncate", false);
  std::vector<ModelInput> inputs;
  if (call.has("messages")) {
    inputs.push_back(loaded.read_chat(host->render_chat(call.body["messages"]), truncate));
  } else {
    if (!call.has("inputs"))
      throw HttpError(400, "expected \"inputs\" or \"messages\", found neither", "invalid_value", "inputs");
    const std::string before = before_inputs(call, *host);
    for (const std::string& text : texts_of(call.body["inputs"]))
      inputs.push_back(loaded.read(before + text, truncate));
  }
  std::vector<std::unique_ptr<TextGeneration>> generations;
  for (ModelInput& input : inputs) {
    // An input without tokens, such as a blank line, has no result.
    if (input.empty()) {
      generations.push_back(nullptr);
      continue;
    }
    generations.push_back(
        std::make_unique<TextGeneration>(call, GenerationPlan{.host = host,
                                                              .search = search,
                                                              .input = std::move(input),
                                                              .copies = search.sample ? search.n_best : 1}));
  }
  const bool pieces = call.value("log_probabilities", false);
  Json results = Json::array();
  for (const auto& generation : generations) {
    Json& list = results.emplace_back(Json::array());
    if (!generation) continue;
    for (const GeneratedText& one : generation->run())
      list.push_back(infer::hypothesis_json(loaded, one.hypothesis, one.text, pieces));
  }
  call.reply({{"model", host->name()},
              {"continuation", loaded.model->kind() == ModelKind::decoder},
              {"results", std::move(results)}});
}

}  // namespace

void add_generate_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json words = array(text(1000), 0, 64);
  const Json message{{"type", "object"}};
  Json request =
      object({{"inputs", any_of({text(), array(text(), 1, kMostInputs)})},
              {"messages", described(array(message, 1, 4096), "A conversation, instead of inputs")},
              {"model", text(1000)},
              {"translate", described(boolean(), "Put the model's prefix before each input")},
              {"to", described(text(32), "Target language, for models with several target languages")},
              {"prefix", text(10000)},
              {"beam", integer(1, kMostRows)},
              {"n_best", integer(1, kMostRows)},
              {"max_new", integer(0, 1 << 20)},
              {"min_new", integer(0, 1 << 20)},
              {"length_penalty", schema::number(-100, 100)},
              {"early_stopping", one_of({"no", "yes", "never"})},
              {"repetition_penalty", schema::number(0.01, 100)},
              {"no_repeat_ngram", integer(0, 1 << 20)},
              {"sample", boolean()},
              {"temperature", schema::number(0.00001, 100)},
              {"top_k", integer(0, 1 << 24)},
              {"top_p", schema::number(0, 1)},
              {"min_p", schema::number(0, 1)},
              {"typical_p", schema::number(0, 1)},
              {"seed", integer(0, std::numeric_limits<std::int64_t>::max())},
              {"stop", words},
              {"bad_words", words},
              {"truncate", boolean()},
              {"log_probabilities",
               described(boolean(), "Add the tokens of each result with their log-probabilities")},
              {"interventions", interventions_schema()}});
  routes.push_back(post_route(
      Protocol::regard, "/generate", "Continuations or translations of texts, with all search options",
      answer_generate,
      {.request = std::move(request),
       .response = object({{"model", text()},
                           {"continuation", described(boolean(), "true: each result continues its input")},
                           {"results", array(Json::object(), 1, kMostInputs)}},
                          {"model", "continuation", "results"})}));
}

}  // namespace regard::serve
