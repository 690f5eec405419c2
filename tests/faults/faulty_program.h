// Run the program with one failing file call (fault_shim.c), and choose the calls to try.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/namespaces.h"
#include "support/program.h"

namespace regard::testing {

// Sets environment variables of this process and of the programs that it starts. The destructor unsets them.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
      ::setenv(name.c_str(), value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> names_;
};

// `fault`: a value of REGARD_FAULT (fault_shim.c).
inline ProgramResult run_with_fault(const std::vector<std::string>& arguments,
                                    const std::filesystem::path& folder, const std::string& fault) {
  const Environment environment({{"LD_PRELOAD", REGARD_FAULT_SHIM},
                                 {"REGARD_FAULT_FOLDER", std::filesystem::canonical(folder)},
                                 {"REGARD_FAULT", fault}});
  return run_program(arguments, folder);
}

// Return the number of file calls of a run without faults, which must succeed.
inline std::size_t count_calls(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                               const std::filesystem::path& log) {
  const Environment environment({{"LD_PRELOAD", REGARD_FAULT_SHIM},
                                 {"REGARD_FAULT_FOLDER", std::filesystem::canonical(folder)},
                                 {"REGARD_FAULT_LOG", log}});
  const ProgramResult result = run_program(arguments, folder);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return lines_of(file_content(log)).size();
}

// Return the calls to try, numbered from 1 to `count`: all if REGARD_FAULTS=all (make faults), else at most
// `most`, evenly spread. If the calls are divided among several tests, which ctest runs in parallel, `part`
// of `parts` gets every parts-th of them.
inline std::vector<std::size_t> chosen_calls(std::size_t count, std::size_t most, std::size_t part = 0,
                                             std::size_t parts = 1) {
  const char* wanted = std::getenv("REGARD_FAULTS");
  const bool all = (wanted != nullptr && std::string(wanted) == "all") || count <= most;
  std::vector<std::size_t> calls;
  for (std::size_t i = part; i < (all ? count : most); i += parts)
    calls.push_back(all ? i + 1 : i * count / most + 1);
  return calls;
}

inline std::vector<std::string> leftovers(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (is_leftover(entry.path())) found.push_back(entry.path().string());
  return found;
}

// Expect that the program was killed (KIND "kill"), reported an I/O error (exit code 4), or succeeded.
inline void expect_clean_ending(const ProgramResult& result, const std::string& fault) {
  const int expected = fault.starts_with("kill") ? 128 + 9 : 4;
  EXPECT_TRUE(result.exit_code == expected || result.exit_code == 0)
      << result.exit_code << ": " << result.err;
}

}  // namespace regard::testing
