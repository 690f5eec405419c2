#include "cli/training_screen.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "cli/output.h"
#include "cli/task_lines.h"
#include "cli/verb.h"

namespace regard::cli {
namespace {

double seconds_between_lines() {
  constexpr double kMinute = 60;
  const char* text = std::getenv("REGARD_PROGRESS_SECONDS");
  const double seconds = text == nullptr ? kMinute : std::strtod(text, nullptr);
  return std::isfinite(seconds) && seconds > 0 ? seconds : kMinute;
}

}  // namespace

TrainingScreen::TrainingScreen(bool quiet) : quiet_(quiet), interval_(seconds_between_lines()) {}

void TrainingScreen::begins() {
  catch_signals(AtSignal::go_on_writing);
}

void TrainingScreen::print(const std::string& text) {
  clear();
  print_message("{}\n", text);
  since_line_.restart();
}

void TrainingScreen::note(const std::string& text) {
  if (!quiet_) print(text);
}

std::string TrainingScreen::time_left(double fraction) const {
  const double made = fraction - first_fraction_;
  const std::string text = made > 0 ? duration_text(since_start_.seconds() * (1 - fraction) / made) : "";
  return text.empty() ? "" : ", " + text + " left";
}

std::vector<std::string> TrainingScreen::rows() const {
  std::vector<std::string> all{fmt::format("learning rate {:.3g} · gradient norm {:.3g} · epoch {:.2f}",
                                           last_.result.learning_rate, last_.result.gradient_norm,
                                           last_.epochs)};
  if (!last_validation_.empty()) all.push_back("validation at " + last_validation_);
  if (!sample_) return all;
  all.push_back("  " + on_one_line(sample_->source));
  all.push_back("  → " + on_one_line(sample_->output));
  if (!sample_->reference.empty()) all.push_back("  = " + on_one_line(sample_->reference));
  return all;
}

void TrainingScreen::step(const train::StepReport& report) {
  if (quiet_) return;
  if (!bar_) {
    bar_.emplace(quiet_, report.fraction);
    first_fraction_ = report.fraction;
    since_start_.restart();
  }
  last_ = report;
  if (!report.result.skipped)
    losses_ += report.result.loss * report.result.weight, weights_ += report.result.weight;
  if (bar_->shown()) {
    bar_->update(report.fraction,
                 fmt::format("step {} · loss {:.3f} · {:.1f}k tokens/s", report.result.step,
                             report.result.loss, report.tokens_per_second / 1000.0),
                 rows());
  } else if (since_line_.seconds() >= interval_) {
    print(fmt::format("step {}: loss {:.4f}, learning rate {:.3g}, {:.1f}k tokens/s{}", report.result.step,
                      weights_ > 0 ? losses_ / weights_ : report.result.loss, report.result.learning_rate,
                      report.tokens_per_second / 1000.0, time_left(report.fraction)));
    losses_ = weights_ = 0;
  }
}

void TrainingScreen::validating(std::int64_t step) {
  if (bar_ && bar_->shown())
    bar_->update(last_.fraction, fmt::format("step {} · validation", step), rows());
  else if (!quiet_ && since_line_.seconds() >= interval_ / 2)
    print(fmt::format("step {}: validation{}", step, time_left(last_.fraction)));
}

void TrainingScreen::validation(const train::ValidationReport& report) {
  if (quiet_) return;
  std::string line =
      fmt::format("step {}{}: loss {:.4f}", report.step, report.averaged ? ", averaged" : "", report.loss);
  for (const train::MetricResult& metric : report.metrics)
    line += fmt::format(", {} {:.{}f}", metric.kind.label, metric.value, metric.kind.decimals);
  last_validation_ = line + (report.best ? ", best so far" : "");
  print(fmt::format("{} ({:.1f} s){}", line, report.seconds, report.best ? ", new best" : ""));
  if (!report.samples.empty()) sample_ = report.samples.front();
  if (bar_ && bar_->shown()) return;  // the redrawn lines already show the sample
  for (const train::Sample& sample : report.samples) {
    print(fmt::format("  {}\n  → {}", on_one_line(sample.source), on_one_line(sample.output)));
    if (!sample.reference.empty()) print("  = " + on_one_line(sample.reference));
  }
}

bool TrainingScreen::stop() {
  return stop_signal() != 0;
}

void TrainingScreen::clear() {
  if (bar_) bar_->clear();
}

}  // namespace regard::cli
