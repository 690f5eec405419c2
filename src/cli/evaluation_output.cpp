#include "cli/evaluation_output.h"

#include <cmath>

#include "base/file.h"
#include "base/json_text.h"
#include "cli/output.h"
#include "cli/task_lines.h"

namespace regard::cli {
namespace {

// Return a number as JSON; null if it is not finite.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// Return a value as text on one line: a string with its line ends escaped, other values as JSON.
std::string plain(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return on_one_line(value.get<std::string>());
  return json_text(value);
}

std::string without_tabs(const std::string& text) {
  std::string result;
  for (const char letter : text)
    if (letter == '\t')
      result += "\\t";
    else
      result += letter;
  return result;
}

Json row_json(const evaluate::EvaluatedRow& row) {
  Json json{{"file", row.place.file}};
  if (row.place.line > 0) json["line"] = row.place.line;
  json["input"] = row.input;
  json["expected"] = row.expected;
  return json;
}

}  // namespace

Json to_json(const evaluate::Evaluation& evaluation) {
  Json json = evaluation.facts;
  json["task"] = evaluation.task;
  for (const evaluate::Score& score : evaluation.scores) json[score.name] = number(score.value);
  for (const auto& [name, value] : evaluation.details.items()) json[name] = value;
  return json;
}

void write_rows(const std::string& path, const evaluate::Evaluation& evaluation) {
  const bool jsonl = path.ends_with(".jsonl"), tsv = path.ends_with(".tsv");
  std::string lines;
  for (const evaluate::EvaluatedRow& row : evaluation.rows) {
    if (jsonl) {
      Json json = row_json(row);
      json["output"] = row.output;
      if (!evaluation.row_score.empty()) json[evaluation.row_score] = number(row.score);
      lines += json_text(json);
    } else if (tsv) {
      lines +=
          fmt::format("{}:{}\t{}\t{}\t{}", row.place.file, row.place.line, without_tabs(plain(row.input)),
                      without_tabs(plain(row.expected)), without_tabs(plain(row.output)));
    } else {
      lines += plain(row.output);
    }
    lines += '\n';
  }
  write_file_atomically(path, lines);
}

Json to_json(const ComparisonOutput& output) {
  Json json{{"test", output.test}, {"models", {output.names[0], output.names[1]}}};
  json["first"] = to_json(output.first), json["second"] = to_json(output.second);
  json["scores"] = Json::object();
  for (const evaluate::ComparedScore& one : output.comparison.scores)
    json["scores"][one.name] = {{"first", number(one.comparison.first)},
                                {"second", number(one.comparison.second)},
                                {"difference", number(one.comparison.second - one.comparison.first)},
                                {"p", one.comparison.p}};
  json["different_rows"] = output.comparison.rows.size();
  json["rows"] = Json::array();
  for (std::size_t i = 0; i < std::min(output.rows, output.comparison.rows.size()); ++i) {
    const evaluate::DifferentRow& different = output.comparison.rows[i];
    Json row = row_json(output.first.rows[different.row]);
    row["first"] = output.first.rows[different.row].output;
    row["second"] = output.second.rows[different.row].output;
    if (!output.first.row_score.empty()) row[output.first.row_score + "_change"] = number(different.change);
    json["rows"].push_back(std::move(row));
  }
  return json;
}

void print_text(const ComparisonOutput& output) {
  print_result("first   {}\nsecond  {}\n\n{:<20} {:>10} {:>10} {:>11} {:>8}\n", output.names[0],
               output.names[1], "score", "first", "second", "difference", "p");
  for (const evaluate::ComparedScore& one : output.comparison.scores)
    print_result("{:<20} {:10.4f} {:10.4f} {:+11.4f} {:8.4f}\n", one.name, one.comparison.first,
                 one.comparison.second, one.comparison.second - one.comparison.first, one.comparison.p);
  print_result("p: {}\n\n{} of {} rows differ\n", output.test, output.comparison.rows.size(),
               output.first.rows.size());
  for (std::size_t i = 0; i < std::min(output.rows, output.comparison.rows.size()); ++i) {
    const evaluate::DifferentRow& different = output.comparison.rows[i];
    const evaluate::EvaluatedRow &first = output.first.rows[different.row],
                                 &second = output.second.rows[different.row];
    print_result("\n{}:{}", first.place.file, first.place.line);
    if (!output.first.row_score.empty() && std::isfinite(different.change))
      print_result("  {} {:+.4f}", output.first.row_score, different.change);
    print_result("\n  input     {}\n  expected  {}\n  first     {}\n  second    {}\n", plain(first.input),
                 plain(first.expected), plain(first.output), plain(second.output));
  }
}

}  // namespace regard::cli
