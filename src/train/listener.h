// What a run tells whoever started it. The library itself prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace regard::train {

struct StepReport {
  StepResult result;
  double target_tokens_per_second = 0;  // since the last report
  double epochs = 0;
  double fraction = 0;  // of the run that is done, 0 to 1, by the limit that will be reached first
  double seconds = 0;   // trained so far, earlier parts of a resumed run included
};

struct Sample {
  std::string source;     // or the prompt
  std::string reference;  // translation only
  std::string output;
};

struct ValidationReport {
  std::int64_t step = 0;
  bool averaged = false;  // of the average of the last validations' weights
  double loss = 0, perplexity = 0;
  std::optional<double> bleu, chrf;
  std::string bleu_signature;
  bool best = false;   // better than all before
  double seconds = 0;  // that it took
  std::vector<Sample> samples;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Called once, when all is read and built and before the run's folder is made or changed: from here on a
  // stop has something to save.
  virtual void begins() {}
  virtual void note(const std::string& text) { (void)text; }  // what was read, left out, built, resumed
  virtual void step(const StepReport& report) { (void)report; }
  virtual void validating(std::int64_t step) { (void)step; }
  virtual void validation(const ValidationReport& report) { (void)report; }
  // Asked after every step and within validations: true ends the run with a checkpoint.
  virtual bool stop() { return false; }
};

}  // namespace regard::train
