// Line processing shared by commands: lines that have already arrived are batched, results keep the input
// order, errors name the line.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "cli/bad_lines.h"
#include "cli/verb.h"

namespace regard::cli {

struct LineWork {
  // Function that reads a line and returns its number of tokens. An error without a location gets the
  // location of the line.
  std::function<std::int64_t(std::string& line)> take;
  // Function that runs the lines read since the last call and writes their results.
  std::function<void()> run;
  // Function that writes the result of a skipped line. Called after the results of the preceding lines have
  // been written.
  std::function<void(const Error& error)> skip;
};

// Process the lines of `input`, a path or "-" (see LineReader), until the end of the input or a stop signal.
// If the input cannot be read, or take() throws and bad_lines does not skip the line, the results of the
// preceding lines are written and the error is rethrown.
void work_on_lines(const std::string& input, const LineWork& work, BadLines& bad_lines);

// Escape line ends as \n and \r, so that a result is one line.
std::string on_one_line(const std::string& text);

// Formats the result of one input: a JSON object, or fields separated by tabs.
class ResultLine {
 public:
  explicit ResultLine(Json about) : json_(std::move(about)) {}
  Json& json() { return json_; }
  void field(const std::string& text);
  void scored(const std::string& text, double score);  // append a text and its score
  void print(bool as_json) const;

 private:
  Json json_;
  std::string text_;
  bool started_ = false;
};

}  // namespace regard::cli
