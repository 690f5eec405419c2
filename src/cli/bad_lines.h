// --skip-bad: lines that cannot be read are counted and answered by an empty line, so that line n of the
// results stays the result of line n; without it the first of them ends the verb.
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

  // How a reader has to treat lines that are not UTF-8: refused, or flagged for check().
  BadUtf8 policy() const { return skip_ ? BadUtf8::flag : BadUtf8::refuse; }
  // Throws bad_file where the reader's last line is not UTF-8.
  static void check(const LineReader& reader);
  // Whether the line of which `error` tells is skipped: kind bad_file, with --skip-bad. It is counted.
  bool skips(const Error& error);
  // Says on stderr how many lines were skipped, if any were.
  void report(bool quiet) const;

 private:
  bool skip_;
  std::int64_t count_ = 0;
  std::string first_;  // the first one's error
};

// The result of a skipped line: an empty line; as JSON {"line": N, "error": "…"}.
std::string skipped_result(bool json, std::int64_t line, const Error& error);

}  // namespace regard::cli
