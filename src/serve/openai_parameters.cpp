#include "serve/openai_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/hash.h"
#include "base/parse_number.h"
#include "serve/http_error.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostResults = 64;   // maximum of "n", the number of results of one request
constexpr std::int64_t kMostNew = 1 << 20;  // maximum number of new tokens; larger values are an error
// Maximum number of log-probabilities in a response. The limit bounds memory: a
// log-probability is many times larger as JSON text than as a number.
constexpr std::int64_t kMostScores = std::int64_t{1} << 22;
// temperatures below this value select greedy search, because scores divided by them could overflow
constexpr double kGreedyTemperature = 1e-5;

double number(const Call& call, const char* name, double otherwise) {
  return call.value<double>(name, otherwise);
}

// Refuse unsupported parameters. If they were ignored, the results would silently differ from the request.
void refuse_unsupported(const Call& call) {
  const auto refuse = [](const char* name, const char* what) {
    throw HttpError(400, std::string("this server does not support ") + what, "unsupported_parameter", name);
  };
  if (call.has("tools") && !call.body["tools"].empty()) refuse("tools", "tools");
  if (call.has("functions") && !call.body["functions"].empty()) refuse("functions", "functions");
  if (call.has("response_format") && call.body["response_format"].value("type", "text") != "text")
    refuse("response_format", "response formats other than text");
  if (call.has("suffix") && call.body["suffix"] != "") refuse("suffix", "insertion before a suffix");
  if (call.integer("best_of", 1) > call.integer("n", 1)) refuse("best_of", "best_of above n");
}

void read_biases(const Call& call, const ModelHost& host, infer::TokenRules& rules) {
  if (!call.has("logit_bias")) return;
  for (const auto& [key, value] : call.body["logit_bias"].items()) {
    const std::int32_t id = parse_number<std::int32_t>(key).value_or(-1);
    if (id < 0 || id >= host.loaded().model->vocabulary())
      throw HttpError(400, "expected a token id of the model, found \"" + key + "\"", "invalid_value",
                      "logit_bias");
    std::erase_if(rules.biases,
                  [id](const infer::SequenceBias& one) { return one.tokens == std::vector{id}; });
    rules.biases.push_back({{id}, value.get<double>()});
  }
}

void read_sampling(const Call& call, const ModelHost& host, infer::SearchOptions& search) {
  const bool decoder = host.loaded().model->kind() == ModelKind::decoder;
  const bool asked = call.has("temperature") || call.has("top_p") || call.has("top_k") || call.has("min_p");
  if (!decoder && !asked) {
    search.n_best = 1;
    return;
  }
  if (!search.sample) {  // the folder does not enable sampling: use the defaults of OpenAI's API
    search.temperature = 1.0, search.top_k = 0, search.top_p = 1.0;
    search.min_p = 0.0, search.typical_p = 1.0, search.epsilon = 0.0, search.eta = 0.0;
  }
  search.sample = true, search.beam = 1;
  search.temperature = number(call, "temperature", search.temperature);
  search.top_p = number(call, "top_p", search.top_p);
  search.top_k = call.integer("top_k", search.top_k);
  search.min_p = number(call, "min_p", search.min_p);
  if (search.temperature < kGreedyTemperature || search.top_p <= 0.0) {
    search.sample = false, search.n_best = 1;
    search.temperature = 1.0, search.top_p = 1.0;
    return;
  }
  search.seed =
      call.has("seed") ? static_cast<std::uint64_t>(call.integer("seed", 0)) : std::random_device()();
}

}  // namespace

Json generation_schema(std::initializer_list<std::pair<const char*, Json>> fields,
                       std::initializer_list<const char*> required) {
  using namespace schema;
  Json stops = any_of({text(1000), array(text(1000), 0, 16)});
  Json biases{{"type", "object"}, {"additionalProperties", number(-100, 100)}, {"maxProperties", 1024}};
  Json stream_options = object({{"include_usage", boolean()}});
  Json format = object({{"type", text(100)}});
  Json all =
      object({{"model", described(text(1000), "Default: the only model that can process the request")},
              {"stream", boolean()},
              {"stream_options", stream_options},
              {"n", integer(1, kMostResults)},
              {"best_of", integer(1, kMostResults)},
              {"max_tokens", described(integer(1, kMostNew),
                                       "Maximum number of new tokens; at most the limit of the server")},
              {"temperature", described(schema::number(0, 2), "0: greedy search")},
              {"top_p", schema::number(0, 1)},
              {"top_k", described(integer(0, 1 << 24), "0: all tokens")},
              {"min_p", schema::number(0, 0.999)},
              {"stop", stops},
              {"seed", integer(0, std::numeric_limits<std::int64_t>::max())},
              {"logit_bias", biases},
              {"presence_penalty", schema::number(-2, 2)},
              {"frequency_penalty", schema::number(-2, 2)},
              {"repetition_penalty", schema::number(0.01, 100)},
              {"response_format", format},
              {"interventions", interventions_schema()},
              {"user", text(1000)}});
  const Json own = object(fields, required);
  for (const auto& [name, field] : own["properties"].items()) all["properties"][name] = field;
  if (own.contains("required")) all["required"] = own["required"];
  return all;
}

infer::SearchOptions search_options_of(const Call& call, const ModelHost& host) {
  refuse_unsupported(call);
  infer::SearchOptions search = host.loaded().options;
  read_sampling(call, host, search);
  read_biases(call, host, search.rules);
  search.rules.presence_penalty = number(call, "presence_penalty", 0.0);
  search.rules.frequency_penalty = number(call, "frequency_penalty", 0.0);
  search.rules.repetition_penalty = number(call, "repetition_penalty", search.rules.repetition_penalty);
  if (call.has("stop")) {
    std::vector<std::string> stops;
    for (std::string& text : texts_of(call.body["stop"]))
      if (!text.empty()) stops.push_back(std::move(text));
    if (!stops.empty())
      search.stop_strings = std::make_shared<infer::StopStrings>(host.loaded().target, std::move(stops));
  }
  return search;
}

std::int64_t most_scores(const Call& call, const infer::SearchOptions& search, std::int64_t results) {
  const std::int64_t most = call.services.options.most_new_tokens;
  const std::int64_t tokens = search.max_new > 0 ? std::min(search.max_new, most) : most;
  return results * tokens * (1 + search.report_top);
}

void require_few_scores(std::int64_t scores) {
  if (scores > kMostScores)
    throw HttpError(400,
                    fmt::format("expected at most {} scores in a response with log-probabilities, found {}; "
                                "request fewer prompts, results, tokens or alternatives",
                                kMostScores, scores),
                    "request_too_large", "logprobs");
}

Json usage_of(std::uint64_t prompt_tokens, std::uint64_t completion_tokens) {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens}};
}

const char* finish_reason(const infer::Hypothesis& hypothesis) {
  return hypothesis.ended ? "stop" : "length";
}

std::string response_id(const char* prefix) {
  static std::random_device device;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  return prefix + hex(std::uint64_t{device()} << 32 | device());
}

bool EventStream::send(const Json& data) {
  if (!begun_) {
    call_.exchange->begin(
        {.status = 200, .type = "text/event-stream; charset=utf-8", .fields = {{"X-Accel-Buffering", "no"}}});
    begun_ = true;
  }
  return call_.exchange->write("data: " + json_text(data) + "\n\n");
}

void EventStream::finish() {
  call_.exchange->write("data: [DONE]\n\n");
  call_.exchange->end();
}

}  // namespace regard::serve
