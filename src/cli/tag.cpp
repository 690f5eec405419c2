// regard tag: predict labels of the tokens, words or entities of texts.
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/number_checks.h"
#include "cli/task_lines.h"
#include "cli/task_model.h"
#include "cli/verb.h"
#include "regard/error.h"
#include "tasks/tag.h"

namespace regard::cli {
namespace {

struct TagRequest {
  TaskRequest task;
  std::string aggregation = "none";
  std::optional<std::int64_t> stride;
  std::vector<std::string> ignored{"O"};
  bool words = false;
};

tasks::TagOptions options_of(const TagRequest& request, Probe* probe) {
  tasks::TagOptions options;
  options.aggregation = tasks::aggregation_named(request.aggregation);
  options.window = request.task.most_tokens;
  options.stride = request.stride;
  options.ignored = request.ignored;
  options.probe = probe;
  return options;
}

std::vector<std::string> words_between_spaces(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

class TagVerb : public TaskVerb<TagRequest> {
 public:
  TagVerb(const TagRequest& request, Globals& globals)
      : TaskVerb(request, globals),
        tagger_(model_.loaded(), globals.pool(), options_of(request, model_.probes().probe())) {}

  void run() {
    run_batches([this](std::string& line) { return take(line); }, [this] { tag(); });
  }

 private:
  std::int64_t take(std::string& line) {
    readings_.push_back(request_.words ? tagger_.read_words(words_between_spaces(line)) : tagger_.read(line));
    lines_.push_back(std::move(line));
    return readings_.back().tokens();
  }

  void tag() {
    const std::vector<std::vector<tasks::Tag>> tags = tagger_.tag(readings_);
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      ++done_;
      write(lines_[i], tags[i]);
      const auto& windows = readings_[i].windows;
      model_.attend(lines_[i], windows.empty() ? nullptr : &windows[0].input);
    }
    readings_.clear(), lines_.clear();
  }

  void write(const std::string& line, const std::vector<tasks::Tag>& tags) const {
    const bool tokens = request_.aggregation == "none";
    ResultLine result({{"line", done_}, {"input", line}, {"tags", Json::array()}});
    for (const tasks::Tag& one : tags) {
      Json tag{{"label", one.label},
               {"score", one.score},
               {"word", one.word},
               {"begin", one.begin},
               {"end", one.end}};
      if (tokens) tag["index"] = one.index;
      result.json()["tags"].push_back(std::move(tag));
      result.field(one.word);
      result.scored(one.label, static_cast<double>(one.score));
      result.field(std::to_string(one.begin));
      result.field(std::to_string(one.end));
    }
    result.print(globals_.json);
  }

  tasks::Tagger tagger_;
  std::vector<tasks::Tagger::Reading> readings_;
  std::vector<std::string> lines_;
};

}  // namespace

void add_tag(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<TagRequest>(
      app, "tag", "Label tokens, words or entities, such as names",
      "Each input line gives one output line: WORD<tab>LABEL<tab>SCORE<tab>BEGIN<tab>END for each token "
      "or\nentity. BEGIN and END are byte offsets in the input line. Long texts are read in windows of "
      "--max-tokens\nthat overlap by --stride.");
  add_task_options(*verb, request->task,
                   "Length of a window in tokens, including special tokens. Default: the number of positions "
                   "of the model, or 512 if it has no limit");
  add_checked_option(
      *verb, "--aggregation", request->aggregation,
      "Unit of the results: tokens (none) or entities (simple, first, average, max). first, average "
      "and max also give all tokens of a word the same label",
      CLI::IsMember({"none", "simple", "first", "average", "max"}));
  verb->add_option(
          "--stride", request->stride,
          "Overlap of neighbouring windows, in tokens. Default: 128, or a quarter of a window if that is "
          "less")
      ->check(not_negative());
  verb->add_option("--ignore", request->ignored,
                   "Labels and entities to omit, separated by commas; repeatable")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb->add_flag(
      "--words", request->words,
      "Each line is a list of words separated by spaces. Default: the tokenizer divides a line into words");
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, run_verb<TagVerb>);
}

}  // namespace regard::cli
