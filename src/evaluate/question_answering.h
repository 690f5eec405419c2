// Extractive question answering: exact match and F1 as SQuAD's script computes them.
#pragma once

#include "evaluate/evaluation.h"
#include "tasks/answer.h"

namespace regard::evaluate {

// A question, a text, and the acceptable answers; none if the text does not answer it.
struct Question {
  Place place;
  std::string question, text;
  std::vector<std::string> answers;
};

// Read a SQuAD file (.json: "data", "paragraphs", "qas"), or a table (.jsonl, .tsv, .csv) with the columns
// question, context, answers. answers: a list of texts, an object with "text", or, in TSV and CSV, one text
// (empty: no answer). Throws bad_file with file and the place in it.
std::vector<Question> read_questions(const DataOptions& data);

// Answer every question and compare with its answers. If a question has no answer, "no answer" is a candidate
// for all. Scores are percent.
Evaluation question_answering(const Subject& subject, const DataOptions& data, tasks::AnswerOptions options);

}  // namespace regard::evaluate
