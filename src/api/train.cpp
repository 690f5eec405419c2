#include "regard/train.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "api/check.h"
#include "api/pool.h"
#include "train/run.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)

struct REGARD_HIDDEN Training::State : train::Listener {
  State(const std::filesystem::path& file, const TrainingOptions& options, TrainingCallbacks to)
      : callbacks(std::move(to)), config(train::read_run(file.string(), options.overrides)) {
    run.emplace(config, *pool, *this, options.resume);
  }

  void note(const std::string& text) override {
    if (callbacks.note) callbacks.note(text);
  }
  void step(const train::StepReport& report) override {
    if (!callbacks.step) return;
    const train::StepResult& result = report.result;
    callbacks.step({.step = result.step,
                    .loss = result.loss,
                    .learning_rate = result.learning_rate,
                    .gradient_norm = result.gradient_norm,
                    .tokens = result.target_tokens,
                    .skipped = result.skipped,
                    .tokens_per_second = report.tokens_per_second,
                    .epochs = report.epochs,
                    .share = report.fraction,
                    .seconds = report.seconds});
  }
  void validation(const train::ValidationReport& report) override {
    if (!callbacks.validation) return;
    TrainingValidation to{.step = report.step,
                          .loss = report.loss,
                          .best = report.best,
                          .averaged = report.averaged,
                          .seconds = report.seconds};
    for (const train::MetricResult& metric : report.metrics) to.metrics[metric.kind.name] = metric.value;
    for (const train::Sample& sample : report.samples)
      to.samples.push_back({sample.source, sample.reference, sample.output});
    callbacks.validation(to);
  }
  bool stop() override { return stopping || (callbacks.cancelled && callbacks.cancelled()); }

  bool advance() {
    if (stepping == std::this_thread::get_id())
      throw usage_error("step() was called from within a callback of the run")
          .remedy("Return from the callback first");
    const std::lock_guard lock(calls);
    if (failed) throw usage_error("the run has failed").remedy("Resume it from its last checkpoint");
    stepping = std::this_thread::get_id();
    struct Ended {
      State& state;
      ~Ended() { state.stepping = std::thread::id(); }
    } const ended_step{*this};
    try {
      going = run->advance();
      return going;
    } catch (...) {
      failed = true;
      throw;
    }
  }

  TrainingResult result() {
    // If a callback calls this function during a step, its thread already holds the lock.
    std::unique_lock lock(calls, std::defer_lock);
    if (stepping != std::this_thread::get_id()) lock.lock();
    const train::RunResult found = run->result();
    return {.steps = found.steps,
            .ended = !going && !found.stopped,
            .cancelled = found.stopped,
            .metric = config.best_metric(),
            .best = found.best,
            .best_step = found.best_step,
            .folder = found.folder};
  }

  TrainingCallbacks callbacks;
  std::shared_ptr<ThreadPool> pool = api::pool();
  train::RunConfig config;
  std::mutex calls;
  // id of the thread that runs advance(); a default id if there is none
  std::atomic<std::thread::id> stepping = {};
  std::atomic<bool> stopping = false;
  bool going = true, failed = false;
  std::optional<train::TrainingRun> run;
};

Training::Training(const std::filesystem::path& run_file, const TrainingOptions& options,
                   TrainingCallbacks callbacks)
    : state_(std::make_unique<State>(run_file, options, std::move(callbacks))) {}

Training::~Training() = default;
Training::Training(Training&&) noexcept = default;
Training& Training::operator=(Training&&) noexcept = default;

Training::State& Training::state() const {
  return api::state_of(state_, "Training");
}

bool Training::step() {
  return state().advance();
}

TrainingResult Training::run() {
  while (step()) {
  }
  return result();
}

TrainingResult Training::result() const {
  return state().result();
}

void Training::stop() {
  state().stopping = true;
}

std::string training_plan(const std::filesystem::path& run_file, const std::vector<std::string>& overrides) {
  const train::RunConfig config = train::read_run(run_file.string(), overrides);
  const auto pool = api::pool();
  return train::dry_run(config, *pool);
}

std::string training_keys() {
  return train::help_config();
}

}  // namespace regard
