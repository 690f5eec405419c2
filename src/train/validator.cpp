#include "train/validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "train/evaluation.h"

namespace regard::train {
namespace {

// Translate validation pairs for scores and samples.
void translate(const RunConfig& config, TrainingContext& context, const infer::Stop& stop,
               ValidationReport& report) {
  const ValidationConfig& wanted = config.validation;
  const bool scored = config.wants("bleu") || config.wants("chrf");
  const auto samples = static_cast<std::size_t>(wanted.samples);
  const std::size_t most = static_cast<std::size_t>(wanted.max_sentences);
  const std::size_t all = context.data.valid.size();
  const std::size_t scores = !scored ? 0 : most == 0 ? all : std::min(most, all);
  const std::size_t count = std::min(std::max(scores, samples), all);
  if (count == 0) return;
  std::vector<std::string> outputs = translate_sources(
      *context.model, context.trainer->pool(), context.data.valid.source, *context.tokenizers.target,
      {.beam = wanted.beam, .length_penalty = wanted.length_penalty, .count = count, .stop = stop});
  for (std::size_t i = 0; i < std::min(samples, outputs.size()); ++i)
    report.samples.push_back({context.data.valid_sources[i], context.data.valid_targets[i], outputs[i]});
  if (!scored) return;
  outputs.resize(scores);  // drop translations that are only samples
  const std::vector<std::vector<std::string>> references{
      {context.data.valid_targets.begin(),
       context.data.valid_targets.begin() + static_cast<std::ptrdiff_t>(outputs.size())}};
  if (config.wants("bleu")) {
    metrics::BleuOptions options;
    options.lowercase = wanted.lower_case;
    report.bleu = metrics::corpus_bleu(outputs, references, options).score;
    report.bleu_signature = metrics::bleu_signature(options, 1);
  }
  if (config.wants("chrf")) {
    metrics::ChrfOptions options;
    options.lowercase = wanted.lower_case;
    report.chrf = metrics::corpus_chrf(outputs, references, options);
  }
}

// Generate continuations of parts of the validation text as samples.
void continue_text(const RunConfig& config, TrainingContext& context, const infer::Stop& stop,
                   ValidationReport& report) {
  constexpr std::int64_t kNewTokens = 100;
  constexpr double kTemperature = 0.8;
  const auto& stream = context.data.valid_stream;
  const auto length = std::min(
      stream.size(), static_cast<std::size_t>(std::max<std::int64_t>(config.training.context / 4, 1)));
  const auto samples = static_cast<std::size_t>(config.validation.samples);
  if (samples == 0) return;
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>((stream.size() - length) * i / samples);
    prompts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
  }
  infer::SearchOptions search;
  search.sample = true;
  search.temperature = kTemperature;
  search.max_new = kNewTokens;
  search.seed = static_cast<std::uint64_t>(config.seed);
  if (context.special.end >= 0) search.end_tokens = {context.special.end};
  context.model->prepare_for_inference(context.trainer->pool());
  const auto results = infer::generate(*context.model, context.trainer->pool(), prompts, search, stop);
  if (results.size() != prompts.size()) throw Stopped{};
  const text::Tokenizer& tokenizer = *context.tokenizers.target;
  for (std::size_t i = 0; i < samples; ++i)
    report.samples.push_back({tokenizer.decode(prompts[i]), "", tokenizer.decode(results[i].at(0).tokens)});
}

}  // namespace

ValidationReport validate(const RunConfig& config, TrainingContext& context, const infer::Stop& stop) {
  const Stopwatch watch;
  ValidationReport report;
  report.step = context.trainer->steps();
  const PassResources resources{context.trainer->pool(), context.trainer->arena(), stop};
  const LossSum loss =
      config.translation()
          ? pair_loss(*context.model, resources, context.data.valid, context.special.decoder_start)
          : stream_loss(*context.model, resources, context.data.valid_stream, config.training.context);
  report.loss = loss.mean();
  if (!std::isfinite(report.loss))
    throw Error(ErrorKind::numeric,
                fmt::format("training diverged: the validation loss of step {} is not finite", report.step))
        .found(fmt::format("{}", report.loss));
  report.perplexity = std::exp(report.loss);
  if (config.translation()) {
    translate(config, context, stop, report);
  } else {
    continue_text(config, context, stop, report);
  }
  report.seconds = watch.seconds();
  return report;
}

double deciding_value(const RunConfig& config, const ValidationReport& report) {
  const std::string metric = config.best_metric();
  if (metric == "bleu") return report.bleu.value();
  if (metric == "chrf") return report.chrf.value();
  return report.loss;
}

bool better(const RunConfig& config, double value, double than) {
  return config.best_metric() == "loss" ? value < than : value > than;
}

}  // namespace regard::train
