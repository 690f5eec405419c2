// Run the regard program as a user would: in its own folder, with its own standard streams.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "support/namespaces.h"

namespace regard::testing {

// Path of the program, for tests that start it themselves.
const char* program_path();

// Replace a process made by fork() with the program, in `folder`. If the test program ends, even by SIGKILL,
// the system kills the process, so that a long training does not outlive it (Linux only).
[[noreturn]] void exec_program(const std::vector<std::string>& arguments,
                               const std::filesystem::path& folder);

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if a signal ended the program
  std::string out, err;
};

// Run the program with `arguments` in `folder`, with `input` on standard input. It is ended after `seconds`
// (exit code 124).
ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                          const std::string& input = "", int seconds = 120);

// Run the program like run_program(), and send it a signal after the time `after`. If `interrupted` is not
// null, it is set to true if the program was still running then, else to false.
struct Interruption {
  int signal = 0;
  std::chrono::microseconds after{0};
};
ProgramResult run_interrupted(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                              const Interruption& interruption, const std::string& input = "",
                              bool* interrupted = nullptr);

// Write FOLDER/NAME, creating missing folders, and return its path.
std::filesystem::path write_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& content);

std::string file_content(const std::filesystem::path& path);

// Split text into lines.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace regard::testing
