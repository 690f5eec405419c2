// Task: base class of the tasks that a run can train. A task defines the keys of the run file that it uses,
// the required model and tokenizers, the conversion of corpora to micro-batches, the loss, the metrics and
// samples of a validation, and the files that are saved with the model. To add a task, add a class in
// src/train/tasks and a line in task_registry().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/model_folder.h"
#include "train/corpora.h"
#include "train/evaluation.h"
#include "train/listener.h"
#include "train/objective.h"
#include "train/tokenizers.h"

namespace regard::train {

class Task;

// Properties of a task that do not depend on a run file.
struct TaskTraits {
  const char* name = "";            // value of the key `task` in run files
  const char* meaning = "";         // description of the task in the help of the key `task`
  std::vector<std::string> keys{};  // keys that this task uses, except those of all tasks
  // Values of validation.metrics. If validation.best is "auto", the first of these metrics that the run
  // computes selects the best checkpoint.
  std::vector<MetricKind> metrics{};
  CorpusRules corpus{};
  std::vector<const char*> families{"transformer"};  // values of model.family for new models
  // Settings "section.key=value" that `regard train --new` writes in addition to those of every task. They
  // must set data.train and data.valid to one file each.
  std::vector<std::string> example{};
  const char* verb = "";                 // the command that applies the trained model
  const char* labels = "target tokens";  // name of the labels in the output of a dry run
  // true if the run has Tokenizers; speech recognition converts texts itself (speech_text.h)
  bool has_text = true;
  // Function that creates the task of a run.
  std::unique_ptr<Task> (*make)(const RunConfig& config) = nullptr;
};

// The length of the longest sequence of the run, and the key that limits it.
struct SequenceLimit {
  const char* key = "";
  std::int64_t tokens = 0;
  // text after "Set 'key' to N" in the remedy of an error, such as ": longer texts are truncated"; may be ""
  const char* effect = "";
};

class Task : public Objective {
 public:
  // `config` must outlive the task.
  explicit Task(const RunConfig& config) : config_(config) {}

  virtual const TaskTraits& traits() const = 0;
  // Check the keys that the task uses. Throws usage, naming the key, if a value is invalid.
  virtual void check() const = 0;
  virtual SequenceLimit longest_sequence() const = 0;

  // Set the checkpoint from which the run resumes; empty for a new run. Call it before read().
  void resume_from(std::filesystem::path checkpoint) { checkpoint_ = std::move(checkpoint); }
  // Read the data on which the tokenizers or the shape of the model depend. It is called once, before the
  // functions below.
  virtual void read() {}
  virtual Tokenizers train_tokenizers(ThreadPool& pool) const = 0;
  // Return the config.json of a new model with the values of [model].
  virtual Json model_config(const Tokenizers& tokenizers) const = 0;
  // Return the model of a folder, prepared for the task. Differences from the folder's model are described in
  // notes().
  virtual std::unique_ptr<Network> load_model(const formats::ModelFolder& folder);
  // Throws usage if the task cannot train the model.
  virtual void check_model(Network& model, const Tokenizers& tokenizers) const = 0;

  // Read and tokenize the corpora. Throws as CorpusReader does, and bad_file if no training or validation
  // data remains. Appends to notes() and sets fingerprint().
  virtual void load(const Tokenizers& tokenizers, ThreadPool& pool) = 0;
  // Messages about the numbers of examples and tokens that were read and left out, one line each.
  std::vector<std::string>& notes() { return notes_; }
  // Hash of the examples. It must be equal when a run is resumed.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // Return the batches of the training data that load() has read. The task must outlive the batches.
  virtual std::unique_ptr<BatchSource> batches() const = 0;
  // Set loss, metrics and samples of the report for the current weights. Throws Stopped as soon as
  // resources.stop returns true, and numeric if the loss is not finite.
  virtual void validate(Network& model, const PassResources& resources, ValidationReport& report) const = 0;
  // return generation_config.json; null if the model does not generate text
  virtual Json generation_config() const = 0;
  // Return the names ("NAME" or "FOLDER/NAME") and contents of additional files of a checkpoint.
  virtual std::vector<std::pair<std::string, std::string>> files(const Network& model) const {
    (void)model;
    return {};
  }
  // Return the names of parameters on which the loss does not depend. Training does not change their values.
  virtual std::vector<std::string> untrained(Network& model) const {
    (void)model;
    return {};
  }
  // Return a description of the first example of a micro-batch in lines of text, for a dry run.
  virtual std::string example_text(const Batch& batch) const = 0;
  // Return example `sequence` of a micro-batch for data.preview: the model's input, with tokens and labels
  // aligned (train/batch_preview.h). Default: example_text() for the first example, "" for others.
  virtual std::string preview(const Batch& batch, std::size_t sequence) const {
    return sequence == 0 ? example_text(batch) : "";
  }

 protected:
  const RunConfig& config_;
  std::filesystem::path checkpoint_;
  std::vector<std::string> notes_;
  std::uint64_t fingerprint_ = 0;
};

// Return a new task of the class T, for TaskTraits::make.
template <class T>
std::unique_ptr<Task> new_task(const RunConfig& config) {
  return std::make_unique<T>(config);
}

// Return the traits of all tasks.
std::span<const TaskTraits* const> task_registry();

// Return the traits of the task with this name; throws usage for an unknown name.
const TaskTraits& task_traits(const std::string& name);
std::unique_ptr<Task> make_task(const RunConfig& config);

// Return [model] as the configuration of a regard Transformer of type `kind`, with the vocabulary and special
// ids of the target tokenizer.
TransformerConfig transformer_config(const RunConfig& config, const text::Tokenizer& target,
                                     const std::string& kind);

// Return the error for a corpus in which no data remains for `purpose`, which is "train" or "validate".
Error nothing_left(const RunConfig& config, const char* purpose);

// Set report.loss. Throws numeric if the loss is not finite.
void set_loss(double mean, ValidationReport& report);

// Return the error for a model in model.from that the task cannot train. `expected` describes a suitable
// model.
Error unfit_model(const RunConfig& config, const std::string& expected);

// Return the special ids as an object with the keys of generation_config.json.
Json special_json(const SpecialIds& special);

// Return the input and the next-token labels of a batch's first sequence as text, for a dry run.
std::string next_token_text(const text::Tokenizer& tokenizer, const Batch& batch);

// Return the first tokens of an example, separated by spaces, for a dry run.
std::string tokens_text(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids);

}  // namespace regard::train
