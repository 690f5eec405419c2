// Reference implementations of the searches, for tests: every step runs the whole sequence through the model
// again, alone and without a cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "infer/search.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {

// Return a tiny model with enlarged random weights, so that its predictions are far from uniform.
inline std::unique_ptr<Network> opinionated_model(const std::string& name, std::uint64_t seed = 1) {
  std::unique_ptr<Network> model = tiny_model(name, seed);
  for (Parameter* parameter : model->parameters())
    if (parameter->value().shape().rank() == 2)
      for (std::int64_t i = 0; i < parameter->value().elements(); ++i) parameter->value().f32()[i] *= 1.8f;
  return model;
}

// Return log p of each next token after `target`.
inline std::vector<double> next_log_probabilities(Network& model, const Tokens& source,
                                                  const Tokens& target) {
  Runner runner(model, source.empty() ? std::vector<Tokens>{} : std::vector<Tokens>{source}, {target}, 1);
  const std::vector<float> logits = runner.full({0})[0];
  const auto vocabulary = static_cast<std::ptrdiff_t>(model.vocabulary());
  const std::vector<double> last(logits.end() - vocabulary, logits.end());
  const double most = *std::max_element(last.begin(), last.end());
  double total = 0.0;
  for (const double value : last) total += std::exp(value - most);
  std::vector<double> result;
  for (const double value : last) result.push_back(value - most - std::log(total));
  return result;
}

struct PlainHypothesis {
  Tokens tokens;
  double score = -1e9;
  // in the list `finished`: the entry is in use; in the list `running`: the hypothesis ends at this step
  bool stopped = false;
};

// Port of transformers' vectorised beam search. Unused entries have score −1e9 and are ranked like the
// others.
inline std::vector<PlainHypothesis> plain_beam_search(Network& model, const Tokens& source,
                                                      const infer::SearchOptions& options) {
  const auto beam = static_cast<std::size_t>(options.beam);
  const std::set<std::int32_t> ends(options.end_tokens.begin(), options.end_tokens.end());
  const std::size_t keep = std::max<std::size_t>(2, 1 + ends.size()) * beam;
  std::vector<PlainHypothesis> running(beam), finished(beam);
  running[0].score = 0.0;
  const auto better = [](const PlainHypothesis& a, const PlainHypothesis& b) { return a.score > b.score; };
  const auto length = [&](std::int64_t tokens) {
    return std::pow(static_cast<double>(tokens), options.length_penalty);
  };
  const auto all_finished = [&] {
    return std::all_of(finished.begin(), finished.end(), [](const auto& one) { return one.stopped; });
  };
  for (std::int64_t step = 1;; ++step) {
    std::vector<PlainHypothesis> next;
    for (const PlainHypothesis& one : running) {
      Tokens target{options.start_token};
      target.insert(target.end(), one.tokens.begin(), one.tokens.end());
      const std::vector<double> log_p = next_log_probabilities(model, source, target);
      for (std::size_t token = 0; token < log_p.size(); ++token) {
        PlainHypothesis longer = one;
        longer.tokens.push_back(static_cast<std::int32_t>(token));
        longer.score += log_p[token];
        longer.stopped = ends.count(longer.tokens.back()) > 0 || step == options.max_new;
        next.push_back(longer);
      }
    }
    std::stable_sort(next.begin(), next.end(), better);
    next.resize(keep);
    const bool all_stop = std::all_of(next.begin(), next.end(), [](const auto& one) { return one.stopped; });
    running = next;
    for (PlainHypothesis& one : running) one.score += one.stopped ? -1e9 : 0.0;
    std::stable_sort(running.begin(), running.end(), better);
    running.resize(beam);
    for (std::size_t i = 0; i < beam; ++i) {
      if (!next[i].stopped) continue;
      next[i].score /= length(step);
      finished.push_back(next[i]);
    }
    std::stable_sort(finished.begin(), finished.end(), better);
    finished.resize(beam);
    const bool longest = options.early_stopping == infer::EarlyStopping::never && options.length_penalty > 0;
    const double hope = running[0].score / length(longest ? options.max_new : step);
    const bool full = all_finished();
    const bool can_improve = !full || hope > finished.back().score;
    if (all_stop || !can_improve || (full && options.early_stopping == infer::EarlyStopping::yes)) break;
  }
  std::erase_if(finished, [](const auto& one) { return !one.stopped; });
  return finished;
}

inline PlainHypothesis plain_greedy(Network& model, const Tokens& source, Tokens prompt,
                                    const infer::SearchOptions& options) {
  PlainHypothesis result;
  result.score = 0.0;
  while (static_cast<std::int64_t>(result.tokens.size()) < options.max_new && !result.stopped) {
    const std::vector<double> log_p = next_log_probabilities(model, source, prompt);
    const auto best = std::max_element(log_p.begin(), log_p.end());
    result.score += *best;
    result.tokens.push_back(static_cast<std::int32_t>(best - log_p.begin()));
    prompt.push_back(result.tokens.back());
    result.stopped = std::count(options.end_tokens.begin(), options.end_tokens.end(), prompt.back()) > 0;
  }
  result.score /= std::pow(static_cast<double>(result.tokens.size()), options.length_penalty);
  return result;
}

}  // namespace regard::testing
