// regard answer: extractive question answering.
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/placed.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "cli/number_checks.h"
#include "cli/task_lines.h"
#include "cli/task_model.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "regard/error.h"
#include "tasks/answer.h"

namespace regard::cli {
namespace {

// maximum size of a text in bytes, equal to the maximum size of an input line
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 26;

struct AnswerRequest {
  TaskRequest task;
  std::string text_file;
  bool parts = false;
  tasks::AnswerOptions options;
};

tasks::AnswerOptions options_of(const AnswerRequest& request, Probe* probe) {
  tasks::AnswerOptions options = request.options;
  options.window = request.task.most_tokens;
  options.whole_words = !request.parts;
  options.probe = probe;
  return options;
}

class AnswerVerb : public TaskVerb<AnswerRequest> {
 public:
  AnswerVerb(const AnswerRequest& request, Globals& globals)
      : TaskVerb(request, globals), answerer_(placed({request.task.model}, [&] {
          return tasks::Answerer(model_.loaded(), globals.pool(),
                                 options_of(request, model_.probes().probe()));
        })) {
    if (request.text_file.empty()) return;
    text_ = without_byte_order_mark(read_file(request.text_file, kLongestText));
    if (const auto bad = utf8::first_bad_byte(text_))
      throw Error(ErrorKind::bad_file, "the text is not UTF-8",
                  {request.text_file, -1, static_cast<std::int64_t>(*bad)});
  }

  // Process one line at a time: the overlapping windows of the text already form a batch for one question.
  void run() {
    run_lines([this](const std::string& line) { answer(line); });
  }

 private:
  void answer(const std::string& line) {
    if (line.find_first_not_of(" \t") == line.npos) {
      ++done_;
      write("", {});
      model_.attend("", nullptr);
      return;
    }
    const auto [question, text] = request_.text_file.empty() ? two_texts(line) : std::pair(line, text_);
    const tasks::Answerer::Reading reading = answerer_.read(question, text);
    const std::vector<tasks::Answer> answers = answerer_.answer(reading);
    ++done_;
    write(question, answers);
    model_.attend(question, &reading.windows[answers.empty() ? 0 : answers[0].window].input);
  }

  void write(const std::string& question, const std::vector<tasks::Answer>& answers) const {
    ResultLine result({{"line", done_}, {"question", question}, {"answers", Json::array()}});
    for (const tasks::Answer& one : answers) {
      result.json()["answers"].push_back(
          {{"answer", one.text}, {"score", one.score}, {"begin", one.begin}, {"end", one.end}});
      result.scored(one.text, one.score);
    }
    result.print(globals_.json);
  }

  tasks::Answerer answerer_;
  std::string text_;  // content of the file that --text names
};

}  // namespace

void add_answer(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<AnswerRequest>(
      app, "answer", "Find the answer to a question in a text",
      "Each input line is QUESTION<tab>TEXT, or QUESTION with --text. Each output line is\n"
      "ANSWER<tab>SCORE[<tab>ANSWER<tab>SCORE …], best first. A long text is split into windows of\n"
      "--max-tokens tokens; neighbouring windows share --stride tokens.");
  tasks::AnswerOptions& options = request->options;
  add_task_options(*verb, request->task,
                   "Length of a window in tokens, including the question and special tokens. Default: 384, "
                   "or the number of positions of the model if that is less");
  verb->add_option(
          "--text", request->text_file,
          "File with the text that is searched for the answer to every question. Default: the text in "
          "each input line")
      ->check(not_empty());
  verb->add_option(
          "--stride", options.stride,
          "Overlap of neighbouring windows, in tokens. Default: 128, or half a window if that is less")
      ->check(positive());
  add_checked_option(*verb, "--top", options.count, "Maximum number of answers to print for each question",
                     positive());
  add_checked_option(*verb, "--longest", options.longest, "Maximum length of an answer, in tokens",
                     positive());
  verb->add_flag("--no-answer", options.may_be_none,
                 "Return an empty answer if the text probably does not contain an answer (SQuAD 2.0)");
  add_checked_option(*verb, "--threshold", options.threshold, "Minimum score of an answer, a probability",
                     finite());
  verb->add_flag("--parts-of-words", request->parts,
                 "Allow answers that begin or end within a word. Default: extend answers to whole words");
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, run_verb<AnswerVerb>);
}

}  // namespace regard::cli
