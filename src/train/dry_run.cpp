// Dry run: report configuration, data, memory and first batches without writing anything.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "train/corpora_tokens.h"
#include "train/run.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::size_t kBatchesShown = 3;

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
      "first step: {} {} in {} sequences, loss {:.4f}, gradient norm {:.4f}\n",
      bytes / kMiB, activations, first.target_tokens, context.task->traits().labels, first.sequences,
      first.loss, first.gradient_norm);
}

// Return a description of the first batches of training: those of the first step, which the trainer has
// already drawn, then the next ones. `preview` is the number of examples shown per batch; if it is 0, a short
// form of the first example is shown.
std::string batches_text(TrainingContext& context, std::int64_t preview) {
  std::string text;
  Batch next;
  const std::span<const Batch> taken = context.trainer->batches();
  for (std::size_t i = 0; i < kBatchesShown; ++i) {
    if (i >= taken.size()) context.batches->next(next, 0);
    const Batch& batch = i < taken.size() ? taken[i] : next;
    text += fmt::format("batch {}: {} sequences, {} {}\n", i, batch.sequences(), batch.target_tokens(),
                        context.task->traits().labels);
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
  text += fmt::format("parameters: {}\n", context.model->parameter_count());
  const StepResult first = context.trainer->compute_gradients();
  text += batches_text(context, config.data.preview);
  text += memory_text(context, config, first);
  if (std::filesystem::exists(config.output.folder))
    text += fmt::format("note: {} exists\n", config.output.folder);
  return text;
}

}  // namespace

std::string dry_run(const RunConfig& config, ThreadPool& pool) {
  std::string text;
  with_place_of_key(config, [&] { text = dry_run_text(config, pool); });
  return text;
}

}  // namespace regard::train
