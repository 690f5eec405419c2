// Each command has exactly those of the common options (see CommonOptions) that have an effect on it.
#include <gtest/gtest.h>

#include <map>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

// Return the common options of each command of a group, as its help lists them.
std::map<std::string, std::string> common_options(const std::string& group) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments{group, "--help-all"};
  if (group.empty()) arguments.erase(arguments.begin());
  const ProgramResult result = run_program(arguments, folder.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::string> options;
  std::string* command = nullptr;
  bool lists = false;  // true after the heading of the list of commands
  for (const std::string& line : lines_of(result.out)) {
    lists = lists || line == "Subcommands:";
    if (lists && !line.empty() && line.find(' ') == line.npos && line != "Subcommands:")
      command = &options[line];
    for (const char* name : {"--quantize TEXT:{int8} ", "--precision TEXT:{f32,bf16} Excludes",
                             "-t,--threads ", "-s,--seed ", "--json ", "-q,--quiet "}) {
      if (command == nullptr || !line.starts_with("    " + std::string(name))) continue;
      const std::string option = name;
      const std::size_t begin = option.find("--") + 2;
      *command += (command->empty() ? "" : " ") + option.substr(begin, option.find(' ') - begin);
    }
  }
  return options;
}

constexpr const char* kRun = "threads json quiet";
constexpr const char* kRandom = "threads seed json quiet";
constexpr const char* kModel = "quantize precision threads json quiet";
constexpr const char* kRandomModel = "quantize precision threads seed json quiet";
using Expected = std::map<std::string, std::string>;

TEST(CommonOptions, OfTheBenchmarks) {
  EXPECT_EQ(common_options("bench"), Expected({{"peak", kRun},
                                               {"gemm", kRandom},
                                               {"attention", kRandom},
                                               {"recurrent", kRandom},
                                               {"train", kRun},
                                               {"decode", kRandom},
                                               {"embed", kModel},
                                               {"study", kRun},
                                               {"start", kRun},
                                               {"tokenize", kRun},
                                               {"transcribe", kRandomModel},
                                               {"features", kRandom},
                                               {"forward", kRandomModel},
                                               {"ctc", kRandom}}));
}

TEST(CommonOptions, OfTokenizersAndVectors) {
  EXPECT_EQ(common_options("tokenizer"),
            Expected({{"encode", kRun}, {"decode", kRun}, {"train", kRun}, {"info", "json quiet"}}));
  EXPECT_EQ(common_options("vectors"), Expected({{"info", kRun},
                                                 {"similar", kRun},
                                                 {"analogy", kRun},
                                                 {"evaluate", kRun},
                                                 {"attend", kRun},
                                                 {"train", kRandom}}));
}

TEST(CommonOptions, OfTheOtherCommands) {
  EXPECT_EQ(common_options(""), Expected({{"demo", kRandom},
                                          {"attend", kModel},
                                          {"context", kModel},
                                          {"explain", kRandom},
                                          {"train", kRandom},
                                          {"report", "json quiet"},
                                          {"runs", "json quiet"},
                                          {"prune", "json quiet"},
                                          {"translate", kRandomModel},
                                          {"transcribe", kRandomModel},
                                          {"generate", kRandomModel},
                                          {"caption", kRandomModel},
                                          {"embed", kModel},
                                          {"classify", kModel},
                                          {"answer", kModel},
                                          {"fill", kModel},
                                          {"tag", kModel},
                                          {"evaluate", kRandomModel},
                                          {"study", kRandomModel},
                                          {"run", "quantize precision threads seed quiet"},
                                          {"serve", "quantize precision threads quiet"},
                                          {"convert", "quiet"},
                                          {"quantize", "quiet"},
                                          {"info", kRun},
                                          {"help", ""},
                                          {"bench", ""},
                                          {"tokenizer", ""},
                                          {"vectors", ""}}));
}

}  // namespace
}  // namespace regard::testing
