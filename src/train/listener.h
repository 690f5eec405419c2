// Progress callbacks of a training run. The library itself prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/trainer.h"

namespace regard::train {

struct StepReport {
  StepResult result;
  // tokens (Batch::tokens(), also those without a label) per second; mean since the last logged step or
  // validation
  double tokens_per_second = 0;
  double epochs = 0;
  // completed fraction of the run, 0 to 1; with several limits, the largest of their fractions
  double fraction = 0;
  double seconds = 0;  // training time so far, including the parts of the run before resuming
};

struct Sample {
  std::string source;     // source text; for language models, the prompt
  std::string reference;  // reference text; empty if there is none
  std::string output;
};

struct MetricKind {
  const char* name = "";   // name of the metric in run files and in the log
  const char* label = "";  // name of the metric on the terminal
  int decimals = 2;
  bool higher_is_better = true;
};
// Metrics that several tasks use.
inline constexpr MetricKind kLoss{"loss", "loss", 4, false};
inline constexpr MetricKind kPerplexity{"perplexity", "perplexity", 2, false};
inline constexpr MetricKind kAccuracy{"accuracy", "accuracy", 4, true};
inline constexpr MetricKind kMacroF1{"f1", "macro F1", 4, true};
inline constexpr MetricKind kPearson{"pearson", "Pearson", 4, true};
inline constexpr MetricKind kSpearman{"spearman", "Spearman", 4, true};

struct MetricResult {
  MetricKind kind;
  double value = 0;
};

// The numbers of validation examples with each true and each predicted label.
struct Confusion {
  std::vector<std::string> labels;
  std::vector<std::int64_t> counts;  // [true labels, predicted labels]
};

struct ValidationReport {
  std::int64_t step = 0;
  bool averaged = false;  // true if the validated weights are the average of the last checkpoints
  double loss = 0;
  std::vector<MetricResult> metrics;                         // all metrics except the loss
  std::vector<std::pair<std::string, std::string>> details;  // names and texts to add to the log line
  // empty if the task does not predict one label per example, or has more labels than
  // metrics::kLargestConfusionMatrix
  Confusion confusion;
  bool best = false;   // true if the result is better than all earlier validations
  double seconds = 0;  // duration of the validation
  std::vector<Sample> samples;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Called once, when all data has been read and the model is ready; the folder of a new run does not exist
  // yet. If the run is stopped after this call, a checkpoint is saved.
  virtual void begins() {}
  // Called with a message: a warning, or information about the data, the model, resuming or the end of the
  // run.
  virtual void note(const std::string& text) { (void)text; }
  virtual void step(const StepReport& report) { (void)report; }
  virtual void validating(std::int64_t step) { (void)step; }
  virtual void validation(const ValidationReport& report) { (void)report; }
  // Called before the first step, after every step and within validations. If it returns true, the run ends
  // with a checkpoint.
  virtual bool stop() { return false; }
};

}  // namespace regard::train
