// What the verbs that read lines share: lines as they come, those already there run together, results in
// order, errors that name the line.
#pragma once

#include <functional>
#include <string>

#include "cli/verb.h"

namespace regard::cli {

struct LineWork {
  // Takes a line; says how many tokens it is to be run with. Errors are given the line's place.
  std::function<std::int64_t(std::string& line)> take;
  // Runs what was taken and writes the results.
  std::function<void()> run;
};

// `input` as LineReader has it. A line that cannot be taken ends the work with its error, after the results
// of the lines before it.
void work_on_lines(const std::string& input, const LineWork& work);

// A result is one line, whatever the text holds: line ends become \n and \r.
std::string on_one_line(const std::string& text);

}  // namespace regard::cli
