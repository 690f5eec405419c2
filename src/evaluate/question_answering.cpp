#include "evaluate/question_answering.h"

#include <algorithm>
#include <filesystem>

#include "base/counted.h"
#include "data/squad.h"
#include "metrics/squad.h"

namespace regard::evaluate {
namespace {

// Return the answers in a list of strings, or of objects with "text" as in SQuAD. A single string is the only
// answer; "" means no answer.
std::vector<std::string> answer_texts(const Json& answers, const std::string& file) {
  std::vector<std::string> texts;
  if (answers.is_object()) return answer_texts(require<Json>(answers, "text", file), file);
  if (answers == "") return {};
  if (answers.is_string()) return {answers.get<std::string>()};
  if (!answers.is_array())
    throw file_error(file, "'answers' is not a list").found(describe(answers)).expected("a list of texts");
  for (const Json& answer : answers)
    texts.push_back(answer.is_object() ? require<std::string>(answer, "text", file)
                                       : json_as<std::string>(answer, "answers", file));
  return texts;
}

void read_squad(const std::string& file, std::vector<Question>& questions) {
  const data::QuestionSet set = data::read_questions(file);
  for (const data::MarkedQuestion& one : set.questions) {
    Question question{{file}, one.question, set.contexts[one.context].text, {}};
    for (const data::MarkedAnswer& answer : one.answers) question.answers.push_back(answer.text);
    questions.push_back(std::move(question));
  }
}

void read_table(const DataOptions& data, std::vector<Question>& questions) {
  data::TableReader table = open_table(data, {{"question", "context", "answers"}});
  const bool json = table.options().format == data::TableFormat::jsonl;
  for (data::TableRow row; table.next(row);) {
    Question question{row.place(), row.text(0), row.text(1), {}};
    if (json)
      question.answers = placed(row.place(), [&] { return answer_texts(row.json(2), ""); });
    else if (!row.text(2).empty())
      question.answers = {row.text(2)};
    questions.push_back(std::move(question));
  }
}

}  // namespace

std::vector<Question> read_questions(const DataOptions& data) {
  std::vector<Question> questions;
  const auto is_squad = [](std::filesystem::path file) {
    if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
    return file.extension() == ".json";
  };
  if (std::all_of(data.files.begin(), data.files.end(), is_squad)) {
    if (!data.columns.empty()) throw usage_error("a SQuAD file has no columns").remedy("Remove --columns");
    for (const std::string& file : data.files) read_squad(file, questions);
  } else {
    if (data::format_of(data.files.at(0), data::TableFormat::lines) == data::TableFormat::lines)
      throw usage_error("a file of this format cannot contain questions")
          .found(data.files[0])
          .expected("a SQuAD file (.json), or .jsonl, .tsv or .csv");
    read_table(data, questions);
  }
  if (questions.empty()) throw nothing_to_evaluate(data);
  return questions;
}

Evaluation question_answering(const Subject& subject, const DataOptions& data, tasks::AnswerOptions options) {
  const std::vector<Question> questions = read_questions(data);
  options.may_be_none = std::any_of(questions.begin(), questions.end(),
                                    [](const Question& question) { return question.answers.empty(); });
  options.count = 1, options.probe = subject.probe;
  tasks::Answerer answerer(subject.model, subject.pool, options);
  Evaluation result;
  result.task = "question-answering", result.row_score = "f1";
  std::vector<metrics::AnsweredQuestion> answered;
  Table exact, f1;
  for (const Question& question : questions) {
    const std::vector<tasks::Answer> answers = placed(
        question.place, [&] { return answerer.answer(answerer.read(question.question, question.text)); });
    answered.push_back({answers.empty() ? "" : answers[0].text, question.answers, 0});
    const metrics::AnswerScores score = metrics::score_of(answered.back());
    exact.push_back({static_cast<float>(score.exact / 100)}),
        f1.push_back({static_cast<float>(score.f1 / 100)});
    result.rows.push_back({question.place,
                           {{"question", question.question}, {"context", question.text}},
                           question.answers,
                           answered.back().predicted,
                           score.f1 / 100});
  }
  const metrics::SquadScores scores = metrics::squad_scores(answered);
  result.fact("questions", questions.size());
  result.scores = {{"exact_match", scores.all.exact, mean(std::move(exact), 100)},
                   {"f1", scores.all.f1, mean(std::move(f1), 100)}};
  result.line("questions    {}\nexact match  {:.2f}\nF1           {:.2f}", questions.size(), scores.all.exact,
              scores.all.f1);
  const auto part = [&](const char* name, const char* title,
                        const std::optional<metrics::AnswerScores>& one) {
    if (!one || !scores.no_answer) return;
    result.details[name] = {{"questions", one->questions}, {"exact_match", one->exact}, {"f1", one->f1}};
    result.line("{}: exact match {:.2f}, F1 {:.2f} ({})", title, one->exact, one->f1,
                counted(one->questions, "question"));
  };
  part("has_answer", "with an answer", scores.has_answer);
  part("no_answer", "without an answer", scores.no_answer);
  return result;
}

}  // namespace regard::evaluate
