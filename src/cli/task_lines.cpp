#include "cli/task_lines.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <utility>

#include "base/json_text.h"
#include "base/line_reader.h"
#include "base/placed.h"
#include "cli/output.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

// Maximum tokens and lines collected before run(), which may divide them into smaller batches.
constexpr std::int64_t kTokensTogether = 1 << 14;
constexpr int kLinesTogether = 1 << 12;

void take_line(const LineReader& reader, const LineWork& work, std::string& line, std::int64_t& tokens) {
  placed({reader.name(), reader.line_number(), -1}, [&] {
    BadLines::check(reader);
    tokens += work.take(line);
  });
}

}  // namespace

void work_on_lines(const std::string& input, const LineWork& work, BadLines& bad_lines) {
  catch_signals();
  LineReader reader(input, bad_lines.policy());
  reader.end_when([] { return stop_signal() != 0; });
  std::exception_ptr failure;
  std::string line;
  for (bool more = true; more && stop_signal() == 0;) {
    std::int64_t tokens = 0;
    int lines = 0;
    std::optional<Error> skipped;
    while (more && !skipped && lines < kLinesTogether && tokens < kTokensTogether) {
      bool was_read = false;  // true if an error concerns the content of the line, or the file that it names
      try {
        if (lines > 0 && !reader.ready()) break;
        more = reader.next(line);
        if (!more) break;
        was_read = true;
        take_line(reader, work, line, tokens);
        ++lines;
      } catch (const Error& error) {
        if (was_read && bad_lines.skips(error)) {
          skipped = error;
          continue;
        }
        failure = std::current_exception();
        more = false;
      } catch (...) {
        failure = std::current_exception();
        more = false;
      }
    }
    if (lines > 0) work.run();
    if (skipped) work.skip(*skipped);
    flush_results();
  }
  if (failure) std::rethrow_exception(failure);
}

std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char letter : text) {
    if (letter == '\n')
      line += "\\n";
    else if (letter == '\r')
      line += "\\r";
    else
      line += letter;
  }
  return line;
}

void ResultLine::field(const std::string& text) {
  if (std::exchange(started_, true)) text_ += '\t';
  text_ += text;
}

void ResultLine::scored(const std::string& text, double score) {
  field(text);
  field(fmt::format("{:.6f}", score));
}

void ResultLine::print(bool as_json) const {
  print_result("{}\n", as_json ? json_text(json_) : on_one_line(text_));
}

}  // namespace regard::cli
