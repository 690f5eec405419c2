#include "train/validator.h"

#include <cmath>

#include "base/clock.h"
#include "train/evaluation.h"

namespace regard::train {

ValidationReport validate(const RunConfig& config, Workshop& shop) {
  const Stopwatch watch;
  ValidationReport report;
  report.step = shop.trainer->steps();
  const Workplace place{shop.trainer->pool(), shop.trainer->arena()};
  const LossSum loss = config.translation()
                           ? pair_loss(*shop.model, place, shop.data.valid, shop.special.decoder_start)
                           : stream_loss(*shop.model, place, shop.data.valid_stream, config.training.context);
  report.loss = loss.mean();
  report.perplexity = std::exp(report.loss);
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
