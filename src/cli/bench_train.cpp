// regard bench train: training steps of a run, without validation, log or checkpoints.
#include <numeric>

#include "cli/bench.h"
#include "cli/timing.h"
#include "ops/parameter.h"
#include "train/training_context.h"

namespace regard::cli {
namespace {

struct TrainBenchRequest {
  std::string file;
  std::vector<std::string> overrides;
  std::int64_t steps = 50;
};

// Counts the floating-point operations of the matrix products in a training step, forward and backward: 6 per
// weight and token. The products of queries with keys and of attention weights with values are not counted.
class Operations {
 public:
  explicit Operations(Network& model) {
    for (const Parameter* parameter : model.parameters()) {
      if (parameter->value().shape().rank() != 2) continue;
      const std::string& name = parameter->name;
      const auto weights = static_cast<double>(parameter->value().elements());
      const bool embedding =
          name.find("embedding") != std::string::npos || name.find("position") != std::string::npos;
      if (embedding) continue;
      const bool reads_source = name.starts_with("encoder.") ||
                                name.find("cross_attention.key") != std::string::npos ||
                                name.find("cross_attention.value") != std::string::npos;
      (reads_source ? source_ : target_) += weights;
    }
    // count the output projection even if its weight is tied to the token embedding
    target_ += static_cast<double>(model.vocabulary() * model.hidden_size());
  }
  double of(const train::StepResult& step) const {
    return 6.0 * (source_ * static_cast<double>(step.source_tokens) +
                  target_ * static_cast<double>(step.target_tokens));
  }

 private:
  double source_ = 0, target_ = 0;
};

void run(const TrainBenchRequest& request, Globals& globals) {
  const train::RunConfig config = train::read_run(request.file, request.overrides);
  train::check_run(config);
  train::TrainingContext context(config, globals.pool());
  const Operations operations(*context.model);
  constexpr int kWarmUp = 5;
  for (int step = 0; step < kWarmUp; ++step) context.trainer->step();
  std::vector<double> seconds, processor_seconds;
  double tokens = 0, source_tokens = 0, work = 0, total = 0;
  for (std::int64_t i = 0; i < request.steps; ++i) {
    const Stopwatch watch;
    const double computed = processor_seconds_now();
    const train::StepResult step = context.trainer->step();
    seconds.push_back(watch.seconds());
    processor_seconds.push_back(processor_seconds_now() - computed);
    total += seconds.back();
    tokens += static_cast<double>(step.target_tokens);
    source_tokens += static_cast<double>(step.source_tokens);
    work += operations.of(step);
  }
  const Timing timing = summarise(seconds);
  Json line = bench_line("train", globals);
  line["dtype"] = config.training.precision, line["steps"] = request.steps;
  line["parameters"] = context.model->parameter_count();
  line["tokens_per_s"] = tokens / total;
  line["source_tokens_per_s"] = source_tokens / total;
  line["step_ms"] = timing.median_ms, line["best_ms"] = timing.best_ms;
  line["processor_ms"] = summarise(processor_seconds).median_ms;
  line["tokens_per_processor_s"] =
      (tokens + source_tokens) / std::accumulate(processor_seconds.begin(), processor_seconds.end(), 0.0);
  line["gflops"] = work / total * 1e-9;
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_train(CLI::App& bench, Globals& globals) {
  const auto [train, request] = add_command<TrainBenchRequest>(
      bench, "train", "Time training steps, without validation and checkpoints");
  train->add_option("RUN", request->file, "Run file")->required();
  train
      ->add_option("--set", request->overrides,
                   "Override a key of the run file: section.key=value; repeatable")
      ->allow_extra_args(false);
  add_checked_option(*train, "--steps", request->steps, "Number of timed steps, after 5 warm-up steps",
                     CLI::Range(1, 1000000));
  set_action(*train, globals, request, run);
}

}  // namespace regard::cli
