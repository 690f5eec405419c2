// Fixture: a tiny run of any task, opened in the test's own process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "train/task.h"
#include "train/training_context.h"
#include "train/validator.h"

namespace regard::train {

class TaskCase : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    regard::testing::write_file(folder_.path(), name, content);
  }
  // Read a run file with this [data] section and these more sections. The batch contains four examples.
  const RunConfig& read(const std::string& task, const std::string& data, const std::string& more = "",
                        const std::vector<std::string>& overrides = {}) {
    write("run.toml", "task = \"" + task + "\"\n[output]\nfolder = \"" + (folder_ / "run").string() +
                          "\"\n[data]\n" + data + more);
    run_ = read_run((folder_ / "run.toml").string(), overrides);
    return run_;
  }
  // Load the data and the model of a run.
  TrainingContext& open(const std::string& task, const std::string& data, const std::string& more = "",
                        const std::vector<std::string>& overrides = {}) {
    read(task, data, more, overrides);
    check_run(run_);
    context_ = std::make_unique<TrainingContext>(run_, pool_);
    return *context_;
  }
  // Return the previews of all examples of the next batch in alphabetical order. The order of the examples is
  // random.
  std::vector<std::string> previews() {
    Batch batch;
    context_->batches->next(batch, 0);
    std::vector<std::string> texts;
    for (std::size_t i = 0; static_cast<std::int64_t>(i) < batch.sequences(); ++i)
      if (const std::string text = context_->task->preview(batch, i); !text.empty()) texts.push_back(text);
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  // Return the text of the next batch in the short form of a dry run.
  std::string example() {
    Batch batch;
    context_->batches->next(batch, 0);
    return context_->task->example_text(batch);
  }
  // Return the names of all numbers of a validation, separated by spaces.
  std::string metrics() {
    std::string names = "loss";
    for (const MetricResult& metric : validate(*context_).metrics)
      names += " " + std::string(metric.kind.name);
    return names;
  }

  static constexpr const char* kEncoder = R"(
max_length = 8
[tokenizer]
type = "wordpiece"
vocab_size = 60
[model]
family = "bert"
layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
[training]
batch_size = 4
max_steps = 1
)";
  static constexpr const char* kTranslator = R"(
[tokenizer]
type = "word"
min_frequency = 1
[model]
encoder_layers = 1
decoder_layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
)";
  const regard::testing::TemporaryFolder folder_;
  ThreadPool pool_{1};
  RunConfig run_;
  std::unique_ptr<TrainingContext> context_;
};

}  // namespace regard::train
