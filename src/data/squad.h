// Questions about texts with marked answers: SQuAD's JSON (versions 1 and 2) and its rows as JSONL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_report.h"

namespace regard::data {

struct MarkedAnswer {
  std::string text;
  std::int64_t start = 0;  // in code points from the beginning of the context
};

struct MarkedQuestion {
  std::string id, question;
  std::size_t context = 0;            // index into QuestionSet::contexts
  std::vector<MarkedAnswer> answers;  // empty: there is no answer in the context
};

struct MarkedContext {
  std::string text;
  std::string title;         // of its article; may be empty
  std::int64_t article = 0;  // contexts of one article are about one subject
};

struct QuestionSet {
  std::vector<MarkedContext> contexts;
  std::vector<MarkedQuestion> questions;
  RowReport report;  // of the questions
};

struct QuestionOptions {
  Faulty malformed = Faulty::refuse;  // questions without their keys, or whose answer is not in the context
};

// Read a file: {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
// "answer_start"}], "is_impossible"}]}]}]}, or, if its name ends in .jsonl or .ndjson, one question a line:
// {"id", "title", "context", "question", "answers": {"text": […], "answer_start": […]}}. Compressed files are
// decompressed. Without "id" the number of the question is its id. Throws io, and bad_file with the path to
// the value ("data[3].paragraphs[0].qas[2]") or the line.
QuestionSet read_questions(const std::string& file, const QuestionOptions& options = {});

}  // namespace regard::data
