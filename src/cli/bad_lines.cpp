#include "cli/bad_lines.h"

#include "base/counted.h"
#include "base/json.h"
#include "base/json_text.h"
#include "cli/output.h"

namespace regard::cli {

void add_skip_bad(CLI::App& verb, bool& skip) {
  verb.add_flag("--skip-bad", skip,
                "Write an empty result for each line that cannot be read (not UTF-8, too long, …), and "
                "report the number of such lines. Default: stop with an error that names the line");
}

void BadLines::check(const LineReader& reader) {
  if (!reader.valid()) throw reader.fault();
}

bool BadLines::skips(const Error& error) {
  const bool content = error.kind() == ErrorKind::bad_file || error.kind() == ErrorKind::invalid_input;
  if (!skip_ || !content) return false;
  if (count_++ == 0) first_ = error.what();
  return true;
}

void BadLines::report(bool quiet) const {
  if (count_ == 0 || quiet) return;
  print_message("regard: {} skipped, with empty results; first error: {}\n",
                counted(count_, "line was", "lines were"), first_);
}

std::string skipped_result(bool json, std::int64_t line, const Error& error) {
  if (!json) return "\n";
  return json_text(Json{{"line", line}, {"error", error.what()}}) + "\n";
}

}  // namespace regard::cli
