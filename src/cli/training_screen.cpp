#include "cli/training_screen.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/verb.h"

namespace regard::cli {

void TrainingScreen::note(const std::string& text) {
  if (quiet_) return;
  clear();
  print_message("{}\n", text);
}

void TrainingScreen::step(const train::StepReport& report) {
  if (quiet_) return;
  if (!bar_) bar_.emplace(quiet_, report.fraction);
  last_fraction_ = report.fraction;
  if (bar_->shown())
    bar_->update(report.fraction, fmt::format("step {} · loss {:.3f} · {:.1f}k tokens/s", report.result.step,
                                              report.result.loss, report.target_tokens_per_second / 1000.0));
}

void TrainingScreen::validating(std::int64_t step) {
  if (bar_ && bar_->shown()) bar_->update(last_fraction_, fmt::format("step {} · validating", step));
}

void TrainingScreen::validation(const train::ValidationReport& report) {
  if (quiet_) return;
  clear();
  std::string line = fmt::format("step {}{}: loss {:.4f}, perplexity {:.2f}", report.step,
                                 report.averaged ? ", averaged" : "", report.loss, report.perplexity);
  if (report.bleu) line += fmt::format(", BLEU {:.2f}", *report.bleu);
  if (report.chrf) line += fmt::format(", chrF {:.2f}", *report.chrf);
  print_message("{} ({:.1f} s){}\n", line, report.seconds, report.best ? ", best so far" : "");
  for (const train::Sample& sample : report.samples) {
    print_message("  {}\n  → {}\n", sample.source, sample.output);
    if (!sample.reference.empty()) print_message("  = {}\n", sample.reference);
  }
}

bool TrainingScreen::stop() {
  return stop_signal() != 0;
}
void TrainingScreen::clear() {
  if (bar_) bar_->clear();
}

}  // namespace regard::cli
