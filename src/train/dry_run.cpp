// Dry run: report configuration, data, memory and first batches without writing anything.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/counted.h"
#include "base/peak_memory.h"
#include "train/corpora_tokens.h"
#include "train/run.h"
#include "train/training_context.h"
#include "train/validator.h"

namespace regard::train {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::size_t kBatchesShown = 3;
constexpr int kTimedSteps = 3;                  // maximum number of steps that are timed
constexpr double kTimedSeconds = 5.0;           // time in seconds after which no further step is timed
constexpr std::size_t kBatchesSearched = 1000;  // number of batches searched for the longest one

// Return the name of the part of a model that contains a weight: the first two components of the weight's
// name, such as "encoder.layers". The part has fewer components if a layer number or the end of the name
// comes earlier.
std::string part_of_model(const std::string& name) {
  std::string part;
  std::size_t begin = 0;
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = name.find('.', begin);
    if (end == std::string::npos) break;
    const std::string component = name.substr(begin, end - begin);
    if (component.find_first_not_of("0123456789") == std::string::npos) break;
    part += (part.empty() ? "" : ".") + component;
    begin = end + 1;
  }
  return part.empty() ? name : part;
}

std::string parameters_text(Network& model) {
  // name and number of parameters of each part of the model, in the order of the weights
  std::vector<std::pair<std::string, std::int64_t>> parts;
  for (const Parameter* parameter : model.parameters()) {
    const std::string name = part_of_model(parameter->name);
    auto found =
        std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    if (found == parts.end()) found = parts.insert(parts.end(), {name, 0});
    found->second += parameter->value().elements();
  }
  std::string text = fmt::format("parameters: {}\n", model.parameter_count());
  for (const auto& [name, elements] : parts) text += fmt::format("  {}: {}\n", name, elements);
  return text;
}

std::int64_t tokens_in(const Batch& batch) {
  return batch.tokens() + batch.source.view().tokens();
}

// Runs training steps without writing anything, to measure their time and memory.
class Trial {
 public:
  Trial(TrainingContext& context, const RunConfig& config) : context_(context), config_(config) {}

  void run() {
    const Stopwatch watch;
    for (int i = 0; i < kTimedSteps && watch.seconds() < kTimedSeconds; ++i) {
      const Stopwatch one;
      context_.trainer->step();
      seconds_ = one.seconds();
      for (const Batch& batch : context_.trainer->batches()) longest_ = std::max(longest_, tokens_in(batch));
    }
    peak_ = peak_memory_bytes();
    validate_for(kTimedSeconds);
    context_.trainer->step();
    later_peak_ = peak_memory_bytes();
  }

  // Return a message about the peak memory use. The activation memory of the longest batch is extrapolated
  // from the steps of run().
  std::string memory() const {
    if (peak_ == 0) return "";
    const double scale =
        static_cast<double>(longest_batch()) / static_cast<double>(std::max<std::int64_t>(longest_, 1));
    const double more = static_cast<double>(context_.trainer->activation_bytes()) * (scale - 1.0);
    return fmt::format("memory at its peak: {:.1f} MiB, including the program and the data\n",
                       std::max(static_cast<double>(peak_) + more, static_cast<double>(later_peak_)) / kMiB);
  }

  std::string duration() const {
    const TrainingConfig& training = config_.training;
    const double epochs = epochs_of_step();
    double steps = static_cast<double>(training.max_steps);
    if (training.max_epochs > 0 && epochs > 0)
      steps = std::min(steps > 0 ? steps : 1e18, std::ceil(training.max_epochs / epochs));
    if (steps <= 0) return fmt::format("time of a step: {:.3f} s\n", seconds_);
    return fmt::format("steps: {:.0f} ({:.1f} epochs); estimated time: {}, without validations\n", steps,
                       steps * epochs, duration_text(steps * seconds_));
  }

 private:
  // Validate for at most `seconds`, so that the peak memory use includes the packed weights of a validation.
  void validate_for(double seconds) {
    const Stopwatch watch;
    try {
      validate(context_, [&watch, seconds] { return watch.seconds() > seconds; });
    } catch (const Stopped&) {
    }
  }

  static std::string duration_text(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
  }

  // Return the number of tokens of the longest batch among the timed batches and the next kBatchesSearched
  // batches. All batches of images and sounds are assumed to be equally long.
  std::int64_t longest_batch() const {
    std::int64_t longest = longest_;
    Batch next;
    for (std::size_t i = 0; i < kBatchesSearched; ++i) {
      context_.batches->next(next, 0);
      if (!next.inputs.empty() || !next.source_inputs.empty()) break;
      longest = std::max(longest, tokens_in(next));
    }
    return longest;
  }

  double epochs_of_step() const {
    const double before = context_.batches->epochs();
    Batch next;
    for (std::int64_t i = 0; i < config_.training.accumulate; ++i) context_.batches->next(next, 0);
    return context_.batches->epochs() - before;
  }

  TrainingContext& context_;
  const RunConfig& config_;
  std::int64_t longest_ = 0;                 // number of tokens of the longest batch in the timed steps
  double seconds_ = 0;                       // time of the last step
  std::uint64_t peak_ = 0, later_peak_ = 0;  // peak memory use in bytes, before and after the validation
};

std::string memory_text(const TrainingContext& context, const RunConfig& config, const StepResult& first) {
  // GradientSum needs ⌊log₂(accumulate)⌋ + 1 additional copies of the gradients.
  const auto micro_batches = static_cast<std::uint64_t>(config.training.accumulate);
  const double copies = micro_batches > 1 ? 1.0 + static_cast<double>(std::bit_width(micro_batches)) : 1.0;
  std::vector<Parameter*> parameters = context.model->parameters();
  for (Parameter* parameter : low_rank_parameters(*context.model)) parameters.push_back(parameter);
  double bytes = 0.0;
  for (const Parameter* parameter : parameters)
    bytes += static_cast<double>(parameter->value().bytes()) * (parameter->trainable() ? 1.0 + copies : 1.0);
  for (const formats::NamedTensor& tensor : context.trainer->state())
    bytes += static_cast<double>(tensor.tensor.bytes());
  const double activations = static_cast<double>(context.trainer->activation_bytes()) / kMiB;
  return fmt::format(
      "memory: {:.1f} MiB for weights, gradients and the optimiser, {:.1f} MiB for the activations of the "
      "first step\n"
      "first step: {} {} in {}, loss {:.4f}, gradient norm {:.4f}\n",
      bytes / kMiB, activations, first.target_tokens, context.task->traits().labels,
      counted(first.sequences, "sequence"), first.loss, first.gradient_norm);
}

// Return a description of the first batches of training, beginning with the batches of the first step. Show
// `preview` examples of each batch, or a short form of the first example if `preview` is 0.
std::string batches_text(TrainingContext& context, std::int64_t preview) {
  std::string text;
  Batch next;
  const std::span<const Batch> taken = context.trainer->batches();
  for (std::size_t i = 0; i < kBatchesShown; ++i) {
    if (i >= taken.size()) context.batches->next(next, 0);
    const Batch& batch = i < taken.size() ? taken[i] : next;
    text += fmt::format("batch {}: {}, {} {}\n", i, counted(batch.sequences(), "sequence"),
                        batch.target_tokens(), context.task->traits().labels);
    const auto shown = static_cast<std::size_t>(std::min(preview, batch.sequences()));
    for (std::size_t sequence = 0; sequence < shown; ++sequence)
      text += (sequence > 0 ? "\n" : "") + context.task->preview(batch, sequence);
    if (shown == 0) text += context.task->example_text(batch);
  }
  return text;
}

std::string dry_run_text(const RunConfig& config, ThreadPool& pool) {
  check_run(config);
  std::string text = run_as_toml(config) + "\n";
  for (const std::string& warning : config.warnings) text += warning + "\n";
  RunConfig reading = config;
  if (reading.data.cache != "never") reading.data.cache = kReadCache;
  TrainingContext context(reading, pool);
  for (const std::string& note : context.task->notes()) text += note + "\n";
  if (const Tokenizers& tokenizers = context.tokenizers; tokenizers.target != nullptr)
    text += fmt::format(
        "vocabulary: {} tokens{}\n", tokenizers.target->vocabulary_size(),
        tokenizers.joint() ? "" : fmt::format(", of the source {}", tokenizers.source->vocabulary_size()));
  text += parameters_text(*context.model);
  const StepResult first = context.trainer->compute_gradients();
  text += batches_text(context, config.data.preview);
  text += memory_text(context, config, first);
  Trial trial(context, config);
  trial.run();
  text += trial.duration() + trial.memory();
  if (std::filesystem::exists(config.output.folder))
    text += fmt::format("note: the run folder {} exists already\n", config.output.folder);
  return text;
}

}  // namespace

std::string dry_run(const RunConfig& config, ThreadPool& pool) {
  std::string text;
  with_place_of_key(config, [&] { text = dry_run_text(config, pool); });
  return text;
}

}  // namespace regard::train
