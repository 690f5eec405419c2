// Standard streams of the program: results go to standard output, where a failed write is an error, and
// messages to standard error, where failed writes are ignored.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace regard::cli {

// Call this first. Closed standard streams are opened on /dev/null, so that no file opened later gets the
// descriptor 0, 1 or 2; using a closed standard input or output still fails with EBADF. SIGPIPE and SIGXFSZ
// are ignored: a write to a closed pipe fails with EPIPE, a write beyond the file size limit (ulimit -f) with
// EFBIG.
void prepare_standard_streams();

// Write to standard output, buffered. Throws io, ClosedPipe if the reader closed the pipe, and Stopped if a
// stop signal interrupted the write.
void write_result(std::string_view text);
void flush_results();
// Call this last. Flushes and closes standard output. Throws the errors of write_result(), including the
// errors of earlier writes.
void finish_results();

// Terminate the process with SIGPIPE, like a program that does not handle it.
[[noreturn]] void end_by_closed_pipe();

void write_message(std::string_view text) noexcept;

template <class... Values>
void print_result(fmt::format_string<Values...> format, Values&&... values) {
  write_result(fmt::format(format, std::forward<Values>(values)...));
}

// Print a warning, if there is one. -q does not suppress warnings, because a warning changes the meaning of a
// result: for example, a checkpoint is damaged and another one is used.
void print_warning(std::string_view warning) noexcept;

template <class... Values>
void print_message(fmt::format_string<Values...> format, Values&&... values) {
  write_message(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace regard::cli
