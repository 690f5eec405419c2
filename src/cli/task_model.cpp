#include "cli/task_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/adapter.h"
#include "cli/bad_lines.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/weight_mode.h"
#include "inspect/attend.h"
#include "regard/error.h"

namespace regard::cli {

void add_task_options(CLI::App& verb, TaskRequest& request, const char* windows) {
  add_model_argument(verb, request.model, "Hugging Face folder or run folder");
  verb.add_option("FILE,-i,--input", request.input, "Input file, one input per line; - is standard input")
      ->capture_default_str()
      ->check(not_empty());
  if (windows == nullptr)
    verb.add_flag("--truncate", request.cut,
                  "Truncate texts that are too long for the model. Default: report an error");
  verb.add_option("--max-tokens", request.most_tokens,
                  windows != nullptr
                      ? windows
                      : "Maximum length of a text, in tokens. Default: the number of positions of the model")
      ->check(positive());
  add_skip_bad(verb, request.skip_bad);
  add_adapter(verb, request.adapter);
  add_probe_options(verb, request.probes);
}

TaskModel::TaskModel(const TaskRequest& request, Globals& globals, InputKind reads,
                     std::optional<formats::ModelFolder> folder)
    : request_(request),
      globals_(globals),
      loaded_(infer::LoadedModel::open(
          folder ? std::move(*folder) : formats::ModelFolder::open(request.model),
          {.weight_mode = weight_mode(globals), .reads = reads, .adapter = request.adapter})) {
  print_warning(loaded_.warning);
  probes_.emplace(request.probes, loaded_, globals.pool());
  loaded_.model->prepare_for_inference(globals.pool());
}

tasks::Options TaskModel::reading() const {
  return {request_.most_tokens, request_.cut, probes_->probe()};
}

void TaskModel::attend(const std::string& text, const tasks::Input* input) {
  if (!probes_->attends()) return;
  if (input == nullptr || input->empty()) return probes_->write_nothing();
  inspect::AttendRequest request;
  request.model_name = request_.model, request.text = text;
  request.input = *input;
  probes_->add_to(request);
  probes_->write(inspect::attend(loaded_, globals_.pool(), request));
}

void work_on_task_lines(const TaskRequest& request, TaskModel& model, const Globals& globals,
                        std::int64_t& lines, LineWork work) {
  BadLines bad_lines(request.skip_bad);
  work.skip = [&](const Error& error) {
    write_result(skipped_result(globals.json, ++lines, error));
    model.attend("", nullptr);
  };
  work_on_lines(request.input, work, bad_lines);
  bad_lines.report(globals.quiet);
}

std::pair<std::string, std::string> two_texts(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos || line.find('\t', tab + 1) != line.npos)
    throw Error(ErrorKind::invalid_input, "the line does not contain two texts")
        .found(fmt::format("{} tabs", std::count(line.begin(), line.end(), '\t')))
        .expected("one tab between the texts");
  return {line.substr(0, tab), line.substr(tab + 1)};
}

}  // namespace regard::cli
