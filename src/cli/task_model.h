// Opening a model for a verb that reads texts or images, and what such verbs share.
#pragma once

#include <optional>
#include <string>

#include "cli/look.h"
#include "cli/task_lines.h"
#include "infer/loaded_model.h"
#include "tasks/reader.h"

namespace regard::cli {

struct TaskRequest {
  std::string model, input = "-";
  bool cut = false;
  bool skip_bad = false;  // lines that cannot be read get an empty result
  std::int64_t most_tokens = 0;
  LookOptions look;
};

// MODEL, FILE, --skip-bad, --max-tokens, --ablate, --attend, and --truncate where texts can be cut.
void add_task_options(CLI::App& verb, TaskRequest& request, bool cuts = true);

// A model, prepared, with those who look at it.
class TaskModel {
 public:
  TaskModel(const TaskRequest& request, Globals& globals, infer::Reads reads = infer::Reads::text);

  const infer::LoadedModel& loaded() const { return loaded_; }
  Look& look() { return *look_; }
  tasks::Options reading() const;
  // With --attend: the attention of this input, on its line.
  void attend(const std::string& text, const tasks::Input* input);

 private:
  const TaskRequest& request_;
  Globals& globals_;
  infer::LoadedModel loaded_;
  std::optional<Look> look_;
};

// Runs `work` over request.input under its --skip-bad; a skipped line has an empty result, and with --attend
// an empty line. `lines` counts it.
void work_on_task_lines(const TaskRequest& request, TaskModel& model, const Globals& globals,
                        std::int64_t& lines, LineWork work);

// "first TAB second"; throws bad_file where there is not exactly one tabulator.
std::pair<std::string, std::string> two_texts(const std::string& line);

}  // namespace regard::cli
