#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.h"
#include "base/wall_clock.h"
#include "kernels/bf16.h"
#include "kernels/isa.h"
#include "models/weights.h"
#include "train/rank_share.h"
#include "train/run_steps.h"
#include "train/validator.h"
#include "train/weight_average.h"

namespace regard::train {
namespace {

Json confusion_json(const Confusion& confusion) {
  const auto width = static_cast<std::ptrdiff_t>(confusion.labels.size());
  Json rows = Json::array();
  for (auto row = confusion.counts.begin(); row != confusion.counts.end(); row += width)
    rows.push_back(std::vector<std::int64_t>(row, row + width));
  return {{"labels", confusion.labels}, {"counts", rows}};
}

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kMoments = "optimizer.safetensors";

// Return the name of the instruction set, on which the bits of the results depend.
std::string instruction_set(const RunConfig& config) {
  std::string name(kernels::name_of(kernels::active()));
  if (config.training.precision == "bf16")
    name += " with " + std::string(kernels::name_of(kernels::active_bf16_path()));
  return name;
}

}  // namespace

Run::Run(const RunConfig& config, Listener& listener, TrainingContext& context,
         std::optional<formats::RunFolder> folder)
    : config_(config), listener_(listener), context_(context), folder_(std::move(folder)) {
  for (const auto& [name, text] : context_.tokenizers.files())
    if (folder_) write_file_atomically(folder_->path() / name, text);
  state_.seed = static_cast<std::uint64_t>(config.seed);
  state_.isa = instruction_set(config_);
  state_.data = context_.fingerprint;
  state_.judged_by = judged_by(config_);
  for (const std::string& note : context_.task->notes()) listener_.note(note);
  std::string size = fmt::format("{} parameters", context_.model->parameter_count());
  if (context_.tokenizers.target != nullptr)
    size += fmt::format(", {} tokens in the vocabulary", context_.model->vocabulary());
  listener_.note(size);
}

void Run::restore(const formats::Checkpoint& checkpoint) {
  const std::string file = (checkpoint.folder / kStateFile).string();
  const RunState saved = RunState::from_json(read_json(file), file);
  if (saved.data != state_.data)
    throw file_error(file, "the data differs from the data with which the run was started")
        .remedy("Restore the original data, or start a new run with 'model.from'");
  if (saved.isa != state_.isa)
    listener_.note(
        fmt::format("the run started with {} and resumes with {}: results may differ in the last bits",
                    saved.isa, state_.isa));
  load_weights(*context_.model, formats::Weights::open(checkpoint.folder));
  if (context_.lora) context_.lora->load(checkpoint.folder);
  context_.trainer->restore(*formats::SafetensorsFile::open(checkpoint.folder / kMoments), saved.step,
                            saved.skipped);
  context_.batches->restore(saved.position, file);
  state_ = saved;
  state_.isa = instruction_set(config_);
  saved_step_ = saved.step;
  if (folder_) drop_average(*folder_, saved);
  listener_.note(fmt::format("resumed at step {}", saved.step));
}

void Run::check_ranks() const {
  if (context_.ranks.alone()) return;
  RunConfig shared = config_;  // copy of the configuration without the keys that may differ between machines
  shared.data.train.clear();
  shared.data.valid.clear();
  shared.data.cache.clear();
  shared.output.folder.clear();
  shared.tokenizer.file.clear();
  shared.model.from.clear();
  const Agreement properties[] = {{"the settings", xxh3(run_as_toml(shared))},
                                  {"the data", context_.fingerprint},
                                  {"the instruction set", xxh3(instruction_set(config_))},
                                  {"the weights", weights_hash(context_.model->parameters())},
                                  {"the trained weights", weights_hash(context_.trainer->trained())},
                                  {"the step", static_cast<std::uint64_t>(context_.trainer->steps())}};
  check_agreement(context_.ranks, properties);
}

// Report the settings that changed since the run was saved, and save the new ones in run.toml. If they change
// how the best checkpoint is selected, discard the previous best value.
void Run::take(const Resumption& resumption) {
  resumed_ = true;
  changes_ = resumption.changes;
  for (const RunChange& change : changes_)
    listener_.note(fmt::format("changed: {} ({})", change.text(), effect_of(change, config_)));
  if (folder_ && !changes_.empty()) write_file_atomically(folder_->path() / "run.toml", run_as_toml(config_));
  // Also compare judged_by with the checkpoint, because an earlier resume may have saved new settings in
  // run.toml without writing a checkpoint.
  const bool other =
      resumption.other_metric || (!state_.judged_by.empty() && state_.judged_by != judged_by(config_));
  state_.judged_by = judged_by(config_);
  if (!other) return;
  state_.best.reset();
  state_.validations_since_best = 0;
  listener_.note("the new settings select the best checkpoint by " + config_.best_metric() +
                 ": the previous best value is discarded");
}

void Run::write_header() {
  Json line{{"step", context_.trainer->steps()},
            {"run",
             {{"version", REGARD_VERSION},
              {"isa", instruction_set(config_)},
              {"threads", context_.trainer->pool().size()},
              {"ranks", context_.ranks.size()},
              {"settings", hex(xxh3(run_as_toml(config_)))},
              {"started", utc_time()},
              {"resumed", resumed_}}}};
  for (const RunChange& change : changes_) line["changes"][change.key] = {change.before, change.after};
  log(line);
}

void Run::log(const Json& line) {
  if (log_) log_->write(line);
}

// Start the log. If a stop request interrupted the validation of the current step, validate now. Returns
// false if the validation is interrupted again.
bool Run::begin() {
  begun_ = true;
  if (context_.ranks.alone()) context_.trainer->set_interrupt([this] { return stop_overdue(); });
  if (folder_) {
    const std::filesystem::path events = config_.output.tensorboard ? folder_->path() / "tensorboard" : "";
    log_.emplace(folder_->path() / "log.jsonl", state_.step, validated(), events);
  }
  write_header();
  watch_.restart();
  interval_.restart();
  const bool owed = context_.trainer->steps() > 0 && due_validation() && !validated();
  return !owed || run_validation();
}

bool Run::advance() {
  if (ended_) return false;
  if (!begun_ && !begin()) return end(true);
  const Decision decision = decide();
  if (decision.stop) return end(true);
  if (decision.limit) return end(!finish());
  const std::optional<StepResult> done = step();
  if (!done) return end(true);
  report_step(*done);
  if (due_validation()) return run_validation() || end(true);
  if (due(config_.output.checkpoint_every_steps) && !diverging()) write_checkpoint(false);
  return true;
}

bool Run::end(bool stopped) {
  if (stopped && saved_step_ != context_.trainer->steps() && !diverging()) write_checkpoint(false);
  ended_ = true, stopped_ = stopped;
  return false;
}

RunResult Run::result() const {
  return {.steps = context_.trainer->steps(),
          .stopped = stopped_,
          .best = state_.best.value_or(std::nan("")),
          .best_step = state_.best ? state_.best_step : -1,
          .folder = folder_ ? folder_->path() : std::filesystem::path(config_.output.folder)};
}

// Return `error`. If training diverged, the returned error also has a remedy.
Error Run::with_remedy(const Error& error) const {
  if (error.kind() != ErrorKind::numeric || !folder_) return error;
  const auto good = folder_->latest();
  return Error(error).remedy(
      (good ? fmt::format("The last checkpoint is step {} ({}). ", good->step, good->folder.string())
            : "There is no checkpoint yet. ") +
      "Lower training.learning_rate, or raise training.warmup_steps");
}

// Perform one step. Returns std::nullopt if the step was abandoned because of a stop request.
std::optional<StepResult> Run::step() {
  try {
    return context_.trainer->step();
  } catch (const StepAbandoned&) {
    return std::nullopt;
  } catch (const Error& error) {
    throw with_remedy(error);
  }
}

// Validate the current weights. Returns false if the listener stopped the validation.
bool Run::measure(ValidationReport& report) {
  listener_.validating(context_.trainer->steps());
  try {
    report = validate(context_, [this] { return listener_.stop(); });
    return true;
  } catch (const Stopped&) {
    return false;
  } catch (const Error& error) {
    throw with_remedy(error);
  }
}

void Run::report_step(const StepResult& result) {
  if (result.skipped) {
    note_skipped(result);
  } else {
    interval_loss_ += result.loss * result.weight;
    interval_weight_ += result.weight;
    interval_tokens_ += result.tokens;
  }
  StepReport report{.result = result,
                    .tokens_per_second = static_cast<double>(interval_tokens_) / interval_.seconds(),
                    .epochs = context_.batches->epochs(),
                    .fraction = fraction(),
                    .seconds = seconds()};
  listener_.step(report);
  if (!due(config_.output.log_every_steps)) return;
  log({{"step", result.step},
       {"loss", interval_weight_ == 0.0 ? Json(nullptr) : Json(interval_loss_ / interval_weight_)},
       {"learning_rate", result.learning_rate},
       {"gradient_norm", result.skipped ? Json(nullptr) : Json(result.gradient_norm)},
       {"skipped_steps", context_.trainer->skipped().total},
       {"tokens_per_s", report.tokens_per_second},
       {"epochs", report.epochs},
       {"trained_seconds", report.seconds}});
  interval_.restart();
  interval_loss_ = interval_weight_ = 0;
  interval_tokens_ = 0;
}

// Report a step whose loss or gradient is not finite. Write a separate line to log.jsonl.
void Run::note_skipped(const StepResult& result) {
  const SkippedSteps& skipped = context_.trainer->skipped();
  listener_.note(fmt::format(
      "step {} skipped, because its {} is not finite ({} consecutive steps, {} in total)", result.step,
      std::isfinite(result.loss) ? "gradient" : "loss", skipped.in_row, skipped.total));
  log({{"step", result.step}, {"skipped", {{"in_row", skipped.in_row}, {"total", skipped.total}}}});
}

// Validate the current weights, log and report the result, and write a checkpoint. If the validation was
// stopped, return false and discard its results.
bool Run::run_validation() {
  const AveragedWeights averaged(*context_.trainer);
  ValidationReport report;
  if (!measure(report)) return false;
  const bool best = judge(report, context_.trainer->steps());
  write_log(report);
  listener_.validation(report);
  remember_validation();
  write_checkpoint(best);
  interval_.restart();
  interval_loss_ = interval_weight_ = 0;
  interval_tokens_ = 0;
  return true;
}

// Set and return report.best, which is true if this validation is the best so far. If so, store its value and
// `checkpoint` (the step number of the checkpoint with these weights) in state_.
bool Run::judge(ValidationReport& report, std::int64_t checkpoint) {
  const double value = deciding_value(config_, report);
  report.best = !state_.best || better(config_, value, *state_.best);
  if (report.best) {
    state_.best = value;
    state_.best_step = checkpoint;
    state_.validations_since_best = 0;
  } else {
    ++state_.validations_since_best;
  }
  return report.best;
}

void Run::write_log(const ValidationReport& report) {
  Json values{{"loss", report.loss}};
  for (const MetricResult& metric : report.metrics) values[metric.kind.name] = metric.value;
  for (const auto& [name, text] : report.details) values[name] = text;
  if (!report.confusion.labels.empty()) values["confusion"] = confusion_json(report.confusion);
  Json line{{"step", report.step},
            {"validation", values},
            {"best", report.best},
            {"validation_seconds", report.seconds}};
  if (report.averaged) line["averaged"] = true;
  for (const Sample& sample : report.samples)
    line["samples"].push_back(
        {{"source", sample.source}, {"reference", sample.reference}, {"output", sample.output}});
  log(line);
}

void Run::remember_validation() {
  state_.validated.push_back(context_.trainer->steps());
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(config_.training.average_last, 1));
  while (state_.validated.size() > wanted) state_.validated.erase(state_.validated.begin());
}

void Run::write_checkpoint(bool best) {
  // Throws if a rank has computed different weights, for example because of faulty memory.
  check_ranks();
  const AveragedWeights averaged(*context_.trainer);
  state_.step = context_.trainer->steps();
  state_.skipped = context_.trainer->skipped();
  state_.position = context_.batches->state();
  state_.epochs = context_.batches->epochs();
  state_.seconds += watch_.seconds();
  watch_.restart();
  const std::vector<formats::NamedTensor> moments = context_.trainer->gathered_state();
  if (folder_) {
    formats::CheckpointWriter writer(*folder_, state_.step);
    writer.add_tensors(kMoments, moments);
    commit(writer, best);
  }
  context_.ranks.barrier();
  saved_step_ = state_.step;
}

void Run::commit(formats::CheckpointWriter& writer, bool best) {
  writer.add_tensors(kWeights, weights_of(*context_.model), {{"format", "pt"}});
  writer.add_text("config.json", context_.model->config().dump(2) + "\n");
  if (context_.lora) {
    writer.add_tensors(kAdapterWeights, context_.lora->tensors(), {{"format", "pt"}});
    writer.add_text(kAdapterConfig,
                    context_.lora->config_json(peft_task_type(*context_.model)).dump(2) + "\n");
  }
  if (const Json generation = context_.task->generation_config(); !generation.is_null())
    writer.add_text("generation_config.json", generation.dump(2) + "\n");
  for (const auto& [name, text] : context_.tokenizers.files()) writer.add_text(name, text);
  // If the task and the folder of the tokenizer have a file of the same name, such as chat_template.jinja,
  // write that of the task.
  const auto files = context_.task->files(*context_.model);
  for (const auto& [name, text] : context_.tokenizers.settings_of(*context_.model))
    if (std::ranges::find(files, name, [](const auto& file) { return file.first; }) == files.end())
      writer.add_text(name, text);
  for (const auto& [name, text] : files) writer.add_text(name, text);
  writer.add_text(kStateFile, state_.to_json().dump(2) + "\n");
  writer.commit({.best = best,
                 .keep_last = static_cast<int>(std::min<std::int64_t>(config_.output.keep, 1 << 20)),
                 .also = config_.training.average_last > 1 ? state_.validated : std::vector<std::int64_t>()});
}

// End the run: validate the last step if it has not been validated, and average the weights if configured.
// Returns false if the listener stopped the run.
bool Run::finish() {
  const std::int64_t last = context_.trainer->steps();
  listener_.note(fmt::format("the run ends at step {}: {}", last, limit().value_or("max_minutes")));
  if (!validated() && !run_validation()) return false;
  return config_.training.average_last <= 1 || state_.validated.size() <= 1 || validate_average();
}

// Average the last checkpoints, validate the result, and save it as a checkpoint without optimiser state,
// which cannot be resumed. Returns false if the listener stopped the run.
bool Run::validate_average() {
  if (folder_) {
    std::vector<std::filesystem::path> folders;
    // A checkpoint may be missing, because the run may have removed it before average_last was set or
    // increased.
    for (const std::int64_t step : state_.validated)
      if (std::filesystem::exists(folder_->checkpoint_folder(step)))
        folders.push_back(folder_->checkpoint_folder(step));
    if (folders.size() < state_.validated.size())
      listener_.note(
          fmt::format("the average is over {} checkpoints: the others no longer exist", folders.size()));
    average_weights(*context_.model, folders);
  }
  if (!context_.ranks.alone()) share_weights_of_first(context_.ranks, context_.model->parameters());
  ValidationReport report;
  if (!measure(report)) return false;
  report.averaged = true;
  state_.average_of = state_.step;
  state_.step += 1;
  const bool best = judge(report, state_.step);
  write_log(report);
  listener_.validation(report);
  if (folder_) {
    formats::CheckpointWriter writer(*folder_, state_.step);
    commit(writer, best);
  }
  context_.ranks.barrier();
  return true;
}

}  // namespace regard::train
