#include "infer/search.h"

#include <cmath>
#include <string>
#include <utility>

#include "infer/collector.h"
#include "infer/stoppable_search.h"
#include "regard/error.h"

namespace regard::infer {
namespace {

void require(bool holds, const std::string& what, const std::string& found, const std::string& expected) {
  if (!holds) throw usage_error(what).found(found).expected(expected);
}

template <class Input>  // `Input` is ModelInput, or token ids
std::vector<std::vector<Hypothesis>> run(Network& model, ThreadPool& pool, std::span<const Input> inputs,
                                         const SearchOptions& options, const Stop& stop) {
  Collector collector(inputs.size());
  Scheduler scheduler(model, pool, options, collector);
  for (std::size_t i = 0; i < inputs.size(); ++i) scheduler.submit(request_of(model, inputs[i], i));
  while (scheduler.step())
    if (stop && stop()) return {};
  return std::move(collector.results);
}

void check_sampling(const SearchOptions& options) {
  const auto number = [](auto value) { return std::to_string(value); };
  require(options.temperature > 0.0 && std::isfinite(options.temperature), "the temperature must be positive",
          number(options.temperature), "a finite number above 0");
  require(options.top_k >= 0, "top-k is negative", number(options.top_k), "0 (all) or more");
  require(options.top_p > 0.0 && options.top_p <= 1.0, "top-p is not a probability", number(options.top_p),
          "above 0, at most 1");
  require(options.min_p >= 0.0 && options.min_p < 1.0, "min-p is not a fraction", number(options.min_p),
          "0 (all) or more, below 1");
  require(options.typical_p > 0.0 && options.typical_p <= 1.0, "typical-p is not a probability",
          number(options.typical_p), "above 0, at most 1");
  for (const double cut : {options.epsilon, options.eta})
    require(cut >= 0.0 && cut < 1.0, "epsilon or eta cutoff is not a probability", number(cut),
            "0 (none) or more, below 1");
}

}  // namespace

void SearchOptions::check() const {
  const auto number = [](auto value) { return std::to_string(value); };
  require(beam >= 1, "the beam width is too small", number(beam), "at least 1");
  require(beam <= kWidestBeam, "the beam width is too large", number(beam), "at most " + number(kWidestBeam));
  require(n_best >= 1, "n-best is too small", number(n_best), "at least 1");
  require(n_best <= kWidestBeam, "n-best is too large", number(n_best), "at most " + number(kWidestBeam));
  require(!sample || beam == 1, "sampling cannot be combined with beam search", "beam " + number(beam),
          "beam 1");
  require(sample || n_best <= beam, "n-best exceeds the beam width", number(n_best),
          "at most the beam width, " + number(beam));
  require(max_new >= 0, "the number of new tokens is negative", number(max_new), "0 (automatic) or more");
  require(max_new <= kMostNewTokens, "the number of new tokens is too large", number(max_new),
          "at most " + number(kMostNewTokens));
  require(max_length <= kMostNewTokens, "the maximum length of a text is too large", number(max_length),
          "at most " + number(kMostNewTokens));
  require(std::isfinite(length_penalty), "the length penalty is not finite", number(length_penalty),
          "a finite number");
  if (sample) check_sampling(*this);
  require(rows_at_once >= 1, "the number of rows is too small", number(rows_at_once), "at least 1");
}

std::vector<std::vector<Hypothesis>> decode(Network& model, ThreadPool& pool,
                                            std::span<const ModelInput> inputs, const SearchOptions& options,
                                            const Stop& stop) {
  return run(model, pool, inputs, options, stop);
}

std::vector<std::vector<Hypothesis>> decode(Network& model, ThreadPool& pool,
                                            std::span<const ModelInput> inputs,
                                            const SearchOptions& options) {
  return decode(model, pool, inputs, options, {});
}

std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options, const Stop& stop) {
  if (model.kind() != ModelKind::encoder_decoder)
    throw usage_error("this model cannot translate").expected("an encoder-decoder");
  return run(model, pool, sources, options, stop);
}

std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options, const Stop& stop) {
  if (model.kind() != ModelKind::decoder)
    throw usage_error("this model cannot continue text: it is not a decoder-only model");
  return run(model, pool, prompts, options, stop);
}

std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options) {
  return translate(model, pool, sources, options, {});
}

std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options) {
  return generate(model, pool, prompts, options, {});
}

}  // namespace regard::infer
