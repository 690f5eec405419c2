// --skip-bad: write an empty result for each line that cannot be read, and report the number of these lines.
// Line n of the results still belongs to line n of the input. Default: the first such line is an error.
#pragma once

#include <cstdint>
#include <string>

#include "base/line_reader.h"
#include "cli/verb.h"
#include "regard/error.h"

namespace regard::cli {

void add_skip_bad(CLI::App& verb, bool& skip);

class BadLines {
 public:
  explicit BadLines(bool skip) : skip_(skip) {}

  // Return the policy for the LineReader: with --skip-bad, flag lines that are not UTF-8 or too long, so that
  // check() reports them; otherwise refuse them.
  BadUtf8 policy() const { return skip_ ? BadUtf8::flag_long : BadUtf8::refuse; }
  // Throw bad_file if the line that the reader returned last is not UTF-8 or too long.
  static void check(const LineReader& reader);
  // Return true if the line that caused `error` is skipped, and count the line. Only errors of kind bad_file
  // and invalid_input are skipped, and only with --skip-bad.
  bool skips(const Error& error);
  // Print the number of skipped lines to stderr, unless it is zero or `quiet` is set.
  void report(bool quiet) const;

 private:
  bool skip_;
  std::int64_t count_ = 0;
  std::string first_;  // error message of the first skipped line
};

// Return the output for a skipped line, with a line end: an empty line or, if `json` is set, {"line": N,
// "error": "…"}.
std::string skipped_result(bool json, std::int64_t line, const Error& error);

}  // namespace regard::cli
