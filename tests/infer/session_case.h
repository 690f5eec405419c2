// Requests of many kinds, the result of each request alone, and a listener that records the output of
// sessions.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "infer/sessions.h"
#include "plain_search.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {

using infer::Hypothesis;
using infer::Request;
using infer::SearchOptions;

// Return a tiny model. "windowed" has a sliding window of 40 tokens in every layer and 4096 positions.
inline std::unique_ptr<Network> session_model(const std::string& name) {
  if (name != "windowed") return opinionated_model(name);
  Json config = parse_json(read_file(golden("hf-tiny/mistral/config.json")), "config");
  config["sliding_window"] = 40, config["max_position_embeddings"] = 4096;
  std::unique_ptr<Network> model = make_model(config);
  initialise(*model, 1);
  return model;
}

// Return a request with greedy search, beam search, sampling or decoding rules, and a prompt of one token or
// more, drawn by `number`.
inline Request session_request(const Network& model, std::uint64_t number) {
  const bool both = model.kind() == ModelKind::encoder_decoder;
  const auto pick = [number](std::uint64_t below, const char* what) {
    RandomStream stream({number, 0, place_of(what)});
    return static_cast<std::int64_t>(stream.next_below(below));
  };
  SearchOptions options;
  options.start_token = 2, options.end_tokens = {3, 6};
  options.max_new = 1 + pick(40, "new"), options.seed = number;
  switch (pick(5, "way")) {
    case 1:
      options.beam = options.n_best = 2 + pick(3, "beam");
      break;
    case 2:
      options.sample = true, options.top_p = 0.95;
      break;
    case 3:
      options.sample = true, options.n_best = 3, options.temperature = 1.5;
      break;
    case 4:
      options.rules.repetition_penalty = 1.3, options.rules.no_repeat_ngram = 2;
      break;
    default:
      break;
  }
  const std::int64_t most = pick(4, "long") == 0 ? 90 : 20;
  Tokens text = random_tokens({1 + pick(static_cast<std::uint64_t>(most), "length")},
                              both ? model.source_vocabulary() : model.vocabulary(), number)[0];
  // Some of the prompts share a prefix.
  if (pick(3, "alike") == 0) {
    const Tokens common = random_tokens({50}, 29, 77)[0];
    text.insert(text.begin(), common.begin(), common.end());
  }
  Request request = infer::request_of(model, std::move(text));
  request.options = std::make_shared<const SearchOptions>(std::move(options));
  return request;
}

inline std::vector<Hypothesis> alone(Network& model, const Request& request) {
  ThreadPool pool(1);
  const bool both = model.kind() == ModelKind::encoder_decoder;
  const ModelInput input = both ? request.source : ModelInput(request.prompt);
  return infer::decode(model, pool, {&input, 1}, *request.options)[0];
}

inline bool same_bits(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hypothesis& x, const Hypothesis& y) {
    return x.tokens == y.tokens && x.ended == y.ended &&
           std::memcmp(&x.score, &y.score, sizeof(float)) == 0 &&
           std::memcmp(&x.log_probability, &y.log_probability, sizeof(float)) == 0;
  });
}

class SessionRecord : public infer::SessionListener {
 public:
  void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) override {
    tokens[id][sequence].push_back(token);
    if (on_token) on_token(id);
  }
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    results[id] = std::move(hypotheses), ++ends[id];
  }
  void cancelled(std::uint64_t id) override { gone.push_back(id), ++ends[id]; }
  void failed(std::uint64_t id, const Error& error) override { failures[id] = error.what(), ++ends[id]; }

  std::map<std::uint64_t, std::map<std::int64_t, Tokens>> tokens;
  std::map<std::uint64_t, std::vector<Hypothesis>> results;
  std::map<std::uint64_t, std::string> failures;
  std::map<std::uint64_t, int> ends;  // calls of done() for each session; must be 1
  std::vector<std::uint64_t> gone;
  std::function<void(std::uint64_t)> on_token;
};

}  // namespace regard::testing
