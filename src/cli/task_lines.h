// What the verbs that read lines share: lines as they come, those already there run together, results in
// order, errors that name the line.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "cli/bad_lines.h"
#include "cli/verb.h"

namespace regard::cli {

struct LineWork {
  // Takes a line; says how many tokens it is to be run with. Errors are given the line's place.
  std::function<std::int64_t(std::string& line)> take;
  // Runs what was taken and writes the results.
  std::function<void()> run;
  // The result of a line that is skipped, after those of the lines before it: error says what is wrong with
  // it.
  std::function<void(const Error& error)> skip;
};

// `input` as LineReader has it. A line that cannot be taken is skipped if bad_lines skip it, and else ends
// the work with its error, after the results of the lines before it.
void work_on_lines(const std::string& input, const LineWork& work, BadLines& bad_lines);

// A result is one line, whatever the text holds: line ends become \n and \r.
std::string on_one_line(const std::string& text);

// The result of one input: a JSON line, or what it names with scores, all with tabulators between.
class ResultLine {
 public:
  explicit ResultLine(Json about) : json_(std::move(about)) {}
  Json& json() { return json_; }
  void field(const std::string& text);
  void scored(const std::string& text, double score);  // two fields
  void print(bool as_json) const;

 private:
  Json json_;
  std::string text_;
  bool started_ = false;
};

}  // namespace regard::cli
