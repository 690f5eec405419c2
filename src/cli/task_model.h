// Model loading and line processing shared by the commands that read texts, images or sounds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cli/probe_options.h"
#include "cli/task_lines.h"
#include "formats/model_folder.h"
#include "infer/loaded_model.h"
#include "tasks/reader.h"

namespace regard::cli {

struct TaskRequest {
  std::string model, adapter, input = "-";
  bool cut = false;
  bool skip_bad = false;  // write an empty result for each line that cannot be read
  std::int64_t most_tokens = 0;
  ProbeOptions probes;
};

// Add the options of `request` to a command (MODEL, FILE, --max-tokens, --attend and others). If `windows` is
// given, the command divides long texts into windows: it has no --truncate, and `windows` is the help of
// --max-tokens.
void add_task_options(CLI::App& verb, TaskRequest& request, const char* windows = nullptr);

// A model prepared for inference, with the options --ablate, --intervene and --attend applied.
class TaskModel {
 public:
  // Open the folder of the model. If `folder` is given, it is the opened folder and is used instead.
  TaskModel(const TaskRequest& request, Globals& globals, InputKind reads = InputKind::tokens,
            std::optional<formats::ModelFolder> folder = {});

  const infer::LoadedModel& loaded() const { return loaded_; }
  ModelProbes& probes() { return *probes_; }
  tasks::Options reading() const;
  // With --attend, write the attention weights of this input, or an empty line if `input` is null or has no
  // tokens.
  void attend(const std::string& text, const tasks::Input* input);

 private:
  const TaskRequest& request_;
  Globals& globals_;
  infer::LoadedModel loaded_;
  std::optional<ModelProbes> probes_;
};

// Call work_on_lines() on request.input with request.skip_bad. Sets work.skip: for a skipped line, it
// increments `lines` and writes an empty result and, with --attend, an empty line of attention weights.
void work_on_task_lines(const TaskRequest& request, TaskModel& model, const Globals& globals,
                        std::int64_t& lines, LineWork work);

// Base class of the commands that run one task on every line of an input.
template <class RequestOfVerb>
class TaskVerb {
 public:
  using Request = RequestOfVerb;

 protected:
  TaskVerb(const Request& request, Globals& globals, InputKind reads = InputKind::tokens,
           std::optional<formats::ModelFolder> folder = {})
      : request_(request), globals_(globals), model_(request.task, globals, reads, std::move(folder)) {}

  // Process lines in batches: take(line) reads a line and returns its number of tokens, run() runs the lines
  // read since its last call.
  void run_batches(std::function<std::int64_t(std::string&)> take, std::function<void()> run) {
    work_on_task_lines(request_.task, model_, globals_, done_, {std::move(take), std::move(run), {}});
    model_.probes().finish();
  }
  // Process one line at a time.
  void run_lines(const std::function<void(std::string&)>& process) {
    const auto take = [&process](std::string& line) {
      process(line);
      return std::int64_t{0};
    };
    run_batches(take, [] {});
  }

  const Request& request_;
  Globals& globals_;
  TaskModel model_;
  std::int64_t done_ = 0;  // number of lines processed
};

// Run a command of the class `Verb`.
template <class Verb>
void run_verb(const typename Verb::Request& request, Globals& globals) {
  Verb(request, globals).run();
}

// Split "first TAB second". Throws invalid_input unless there is exactly one tab.
std::pair<std::string, std::string> two_texts(const std::string& line);

}  // namespace regard::cli
