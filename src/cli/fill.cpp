// regard fill: predict masked words with a masked language model.
#include <string>
#include <vector>

#include "base/json.h"
#include "base/placed.h"
#include "cli/number_checks.h"
#include "cli/task_lines.h"
#include "cli/task_model.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "tasks/fill.h"

namespace regard::cli {
namespace {

struct FillRequest {
  TaskRequest task;
  std::size_t top = 5;
  std::vector<std::string> targets;
};

class FillVerb : public TaskVerb<FillRequest> {
 public:
  FillVerb(const FillRequest& request, Globals& globals)
      : TaskVerb(request, globals), filler_(placed({request.task.model}, [&] {
          return tasks::Filler(model_.loaded(), globals.pool(), {model_.reading(), request.targets});
        })) {}

  void run() {
    run_batches([this](std::string& line) { return take(line); }, [this] { fill(); });
  }

 private:
  std::int64_t take(std::string& line) {
    const bool empty = line.find_first_not_of(" \t") == line.npos;
    inputs_.push_back(empty ? tasks::Input() : filler_.read(line));
    lines_.push_back(std::move(line));
    return inputs_.back().tokens();
  }

  void fill() {
    // Run the model only on lines that have tokens; the result of any other line is empty.
    std::vector<tasks::Input> full;
    for (const tasks::Input& input : inputs_)
      if (!input.ids.empty()) full.push_back(input);
    const auto filled = filler_.fill(full, request_.top);
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      ++done_;
      const bool empty = inputs_[i].ids.empty();
      const std::vector<std::vector<tasks::Filling>> none;
      write(lines_[i], empty ? none : filled[next]);
      model_.attend(lines_[i], &inputs_[i]);
      next += empty ? 0 : 1;
    }
    inputs_.clear(), lines_.clear();
  }

  void write(const std::string& line, const std::vector<std::vector<tasks::Filling>>& masks) const {
    ResultLine result({{"line", done_}, {"input", line}, {"masks", Json::array()}});
    for (const auto& mask : masks) {
      Json fillings = Json::array();
      if (&mask != masks.data()) result.field("|");
      for (const tasks::Filling& one : mask) {
        fillings.push_back({{"score", one.score},
                            {"token", one.token},
                            {"token_str", one.text},
                            {"sequence", one.sequence}});
        result.scored(one.text, one.score);
      }
      result.json()["masks"].push_back(std::move(fillings));
    }
    result.print(globals_.json);
  }

  tasks::Filler filler_;
  std::vector<tasks::Input> inputs_;  // inputs that were read but not processed yet
  std::vector<std::string> lines_;
};

}  // namespace

void add_fill(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<FillRequest>(
      app, "fill", "Predict masked words",
      "Each input line holds one or more masks in the tokenizer's spelling ([MASK], <mask>). The output "
      "line\n"
      "is TOKEN<tab>SCORE for each of the best tokens, with \"|\" between masks. An empty line gives an "
      "empty\n"
      "line.");
  add_task_options(*verb, request->task);
  add_checked_option(*verb, "--top", request->top, "Number of tokens to print for each mask, best first",
                     positive());
  verb->add_option("--targets", request->targets,
                   "Restrict the choice to these tokens, separated by commas; repeatable. Default: the whole "
                   "vocabulary")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(valid_text());
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, run_verb<FillVerb>);
}

}  // namespace regard::cli
