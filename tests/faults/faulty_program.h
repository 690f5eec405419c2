// Run the program with one failing file call (fault_shim.c), and choose the calls to try.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/environment.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"

namespace regard::testing {

// Path of the library that makes file calls fail (fault_shim.c).
inline std::filesystem::path fault_shim() {
  return build_folder() / "lib/libfault_shim.so";
}

// `fault`: a value of REGARD_FAULT (fault_shim.c).
inline ProgramResult run_with_fault(const std::vector<std::string>& arguments,
                                    const std::filesystem::path& folder, const std::string& fault) {
  const Environment environment({{"LD_PRELOAD", fault_shim()},
                                 {"REGARD_FAULT_FOLDER", std::filesystem::canonical(folder)},
                                 {"REGARD_FAULT", fault}});
  return run_program(arguments, folder);
}

// A run of the program in which a file call fails.
struct Trial {
  std::string fault;            // a value of REGARD_FAULT; "none:0" for no fault
  std::filesystem::path place;  // the folder of the run
  int exit_code = -1;
};

// Run all trials in one process that forks before its first file call, for programs that compute long before
// they write (REGARD_FAULT_LIST, fault_shim.c). `folder` has the same content as the folders of the trials;
// `scratch` is a folder for the list and the results.
inline void run_forked(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                       std::vector<Trial>& trials, const std::filesystem::path& scratch) {
  constexpr int kForkedSeconds = 1200;
  std::string list;
  for (const Trial& trial : trials)
    list += trial.fault + " " + std::filesystem::canonical(trial.place).string() + "\n";
  write_file(scratch, "faults", list);
  const Environment environment({{"LD_PRELOAD", fault_shim()},
                                 {"REGARD_FAULT_FOLDER", std::filesystem::canonical(folder)},
                                 {"REGARD_FAULT_LIST", scratch / "faults"},
                                 {"REGARD_FAULT_ENDINGS", scratch / "endings"}});
  const ProgramResult result = run_program(arguments, folder, "", kForkedSeconds);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> endings = lines_of(file_content(scratch / "endings"));
  ASSERT_EQ(endings.size(), trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].exit_code = std::stoi(endings[i]);
}

// Return the number of file calls of a run without faults, which must succeed.
inline std::size_t count_calls(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                               const std::filesystem::path& log) {
  const Environment environment({{"LD_PRELOAD", fault_shim()},
                                 {"REGARD_FAULT_FOLDER", std::filesystem::canonical(folder)},
                                 {"REGARD_FAULT_LOG", log}});
  const ProgramResult result = run_program(arguments, folder);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return lines_of(file_content(log)).size();
}

// Return true if tests try all file calls (REGARD_FAULTS=all, set by `make faults`).
inline bool tries_all_calls() {
  const char* wanted = std::getenv("REGARD_FAULTS");
  return wanted != nullptr && std::string(wanted) == "all";
}

// Return the numbers, from 1 to `count`, of the file calls to try: all with `make faults`, else at most
// `most`, evenly spread. If several tests divide the calls, return those of test `part` of `parts`. They are
// consecutive, because consecutive calls often leave equal states.
inline std::vector<std::size_t> chosen_calls(std::size_t count, std::size_t most, std::size_t part = 0,
                                             std::size_t parts = 1) {
  const bool all = tries_all_calls() || count <= most;
  const std::size_t chosen = all ? count : most;
  std::vector<std::size_t> calls;
  for (std::size_t i = part * chosen / parts; i < (part + 1) * chosen / parts; ++i)
    calls.push_back(all ? i + 1 : i * count / most + 1);
  return calls;
}

// Return the content of a file (key "") or of every file of a folder; empty if `path` does not exist.
inline std::map<std::string, std::string> content_of(const std::filesystem::path& path) {
  std::map<std::string, std::string> content;
  if (std::filesystem::is_regular_file(path)) content[""] = file_content(path);
  if (!std::filesystem::is_directory(path)) return content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      content[std::filesystem::relative(entry.path(), path).string()] = file_content(entry.path());
  return content;
}

// Return a description of the whole folder, including temporary files, to recognise equal states. Numbers in
// text files, such as times and checksums, are masked; weights and token ids are compared exactly.
inline std::string state_of(const std::filesystem::path& folder) {
  std::string state;
  for (const auto& [name, content] : content_of(folder)) {
    state += name + "\n";
    if (name.ends_with(".safetensors") || name.ends_with(".ids")) {
      state += content;
      continue;
    }
    const auto in_number = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '.';
    };
    for (std::size_t i = 0; i < content.size(); ++i) {
      if (!in_number(content[i]))
        state += content[i];
      else if (i == 0 || !in_number(content[i - 1]))
        state += '#';
    }
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name =
        std::filesystem::relative(entry.path().parent_path(), folder) / entry.path().filename();
    if (entry.is_symlink())
      state += name + " -> " + std::filesystem::read_symlink(entry.path()).string() + "\n";
    else if (entry.is_directory())
      state += name + "/\n";
  }
  return state;
}

inline std::vector<std::string> leftovers(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (is_leftover(entry.path())) found.push_back(entry.path().string());
  return found;
}

// Expect exit code 0, or the code of the fault: 4 for an I/O error, 128 + 9 if the fault kills the program.
inline void expect_clean_ending(int exit_code, const std::string& fault, const std::string& error = "") {
  const int expected = fault.starts_with("kill") ? 128 + 9 : 4;
  EXPECT_TRUE(exit_code == expected || exit_code == 0) << fault << ": " << exit_code << ": " << error;
}
inline void expect_clean_ending(const ProgramResult& result, const std::string& fault) {
  expect_clean_ending(result.exit_code, fault, result.err);
}

}  // namespace regard::testing
