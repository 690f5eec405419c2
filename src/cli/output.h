// The program's standard streams. Results go to standard output, and a result that cannot be written is an
// error. Messages go to standard error, and nothing that happens there ends the program.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace regard::cli {

// Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed, so that no file opened later gets
// the number of a standard stream. Reading that standard input and writing that standard output fail with
// EBADF, as they did while closed. SIGPIPE and SIGXFSZ are ignored: a write to a closed pipe fails with
// EPIPE, one beyond the limit of a file's size (ulimit -f) with EFBIG, and what is half written can be
// removed. Call it first.
void prepare_standard_streams();

// Buffered. Throws io, ClosedPipe where the reader is gone, and Stopped where a signal interrupted the wait.
void write_result(std::string_view text);
void flush_results();
// Flushes and closes standard output; throws as write_result(), also for what failed earlier. Call it last.
void finish_results();

// Ends the process as a closed pipe ends a program that does not handle SIGPIPE.
[[noreturn]] void end_by_closed_pipe();

void write_message(std::string_view text) noexcept;

template <class... Values>
void print_result(fmt::format_string<Values...> format, Values&&... values) {
  write_result(fmt::format(format, std::forward<Values>(values)...));
}

template <class... Values>
void print_message(fmt::format_string<Values...> format, Values&&... values) {
  write_message(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace regard::cli
