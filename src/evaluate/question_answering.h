// Extractive question answering: exact match and F1, computed as in SQuAD's script.
#pragma once

#include "evaluate/evaluation.h"
#include "tasks/answer.h"

namespace regard::evaluate {

// A question, a text, and the acceptable answers. An empty list of answers means that the text does not
// contain an answer.
struct Question {
  Place place;
  std::string question, text;
  std::vector<std::string> answers;
};

// Read a SQuAD file (.json: "data", "paragraphs", "qas"), or a table (.jsonl, .tsv, .csv) with the columns
// question, context, answers. In JSONL, `answers` is a list of texts, an object with "text", or one text. In
// TSV and CSV, it is one text. An empty list, or an empty text outside a list, means no answer. Throws
// bad_file with the file and the position of the error.
std::vector<Question> read_questions(const DataOptions& data);

// Predict an answer to every question and compare it with the reference answers; scores are in percent. If
// any question of the data has no answer, "no answer" is a candidate for every question.
Evaluation question_answering(const Subject& subject, const DataOptions& data, tasks::AnswerOptions options);

}  // namespace regard::evaluate
