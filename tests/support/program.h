// Runs the program as a user would: in a folder of its own, with its own standard streams.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace regard::testing {

// Where the program is, for tests that run it in ways of their own.
const char* program_path();

struct ProgramResult {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
};

// The regard program with `arguments`, in `folder`, with `input` on standard input. Ends it after `seconds`
// (exit code 124).
ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                          const std::string& input = "", int seconds = 120);

// The same, but the program is sent a signal after a while. `interrupted`, if given, says whether it was
// still running then.
struct Interruption {
  int signal = 0;
  std::chrono::microseconds after{0};
};
ProgramResult run_interrupted(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                              const Interruption& interruption, const std::string& input = "",
                              bool* interrupted = nullptr);

// Writes FOLDER/NAME, making folders on the way.
std::filesystem::path write_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& content);

std::string file_content(const std::filesystem::path& path);

// What was printed, a line each.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace regard::testing
