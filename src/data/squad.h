// Reads questions about texts, with marked answers, from SQuAD's JSON format (versions 1 and 2) or from JSONL
// with one SQuAD question per line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_report.h"

namespace regard::data {

struct MarkedAnswer {
  std::string text;
  std::int64_t start = 0;  // offset in the context, in code points
};

struct MarkedQuestion {
  std::string id, question;
  std::size_t context = 0;            // index of the context in QuestionSet::contexts
  std::vector<MarkedAnswer> answers;  // marked answers; empty if the context has no answer
};

struct MarkedContext {
  std::string text;
  std::string title;         // title of the article; may be empty
  std::int64_t article = 0;  // index of the article that contains the context
};

struct QuestionSet {
  std::vector<MarkedContext> contexts;
  std::vector<MarkedQuestion> questions;
  RowReport report;  // numbers of questions read and skipped
};

struct QuestionOptions {
  // treatment of questions with missing keys, or with an answer that is not in the context
  Faulty malformed = Faulty::refuse;
};

// Read a file. A JSON file has the form {"data": [{"title", "paragraphs": [{"context", "qas": [{"id",
// "question", "answers": [{"text", "answer_start"}], "is_impossible"}]}]}]}. A file .jsonl or .ndjson has one
// question per line: {"id", "title", "context", "question", "answers": {"text": […], "answer_start": […]}}.
// Compressed files are decompressed. Without "id", the index of the question (from 0) is its id. Throws io,
// and bad_file with the path to the value ("data[3].paragraphs[0].qas[2]") or the line.
QuestionSet read_questions(const std::string& file, const QuestionOptions& options = {});

}  // namespace regard::data
