// Results of `regard evaluate`: scores, rows and comparisons as text, JSON or files.
#pragma once

#include <string>

#include "evaluate/comparison.h"

namespace regard::cli {

Json to_json(const evaluate::Evaluation& evaluation);

// Write each row as one line of a file; line ends and, in TSV, tabs are escaped. The suffix selects the
// format: a JSON object (.jsonl); FILE:LINE, input, expected output and output (.tsv); otherwise only the
// output.
void write_rows(const std::string& path, const evaluate::Evaluation& evaluation);

struct ComparisonOutput {
  const evaluate::Evaluation& first;
  const evaluate::Evaluation& second;
  const evaluate::ModelComparison& comparison;
  std::string names[2], test;
  std::size_t rows = 10;  // maximum number of rows shown
};
Json to_json(const ComparisonOutput& output);
void print_text(const ComparisonOutput& output);

}  // namespace regard::cli
