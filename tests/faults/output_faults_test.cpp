// Output files and folders other than runs are complete or absent, whichever file call fails. The old file is
// kept until the new one is complete, and running the program again repairs everything.
#include <map>

#include "faults/faulty_program.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCallsTried = 12;  // calls tried for each kind of fault

struct OutputCase {
  std::string name;
  std::vector<std::string> arguments;  // of a program that runs in a folder with the file "text"
  bool replaces = true;                // true: the output replaces an old file; false: it is a new folder
};

void PrintTo(const OutputCase& row, std::ostream* out) {
  *out << row.name;
}

std::vector<OutputCase> cases() {
  const std::string bert = golden("hf-tiny/bert").string(), sentences = golden("hf-more/st-mean").string();
  return {{"Quantize", {"quantize", bert, "-o", "output", "-q"}, false},
          {"DemoExport", {"demo", "--export", "output", "-q"}, false},
          {"Convert", {"convert", sentences, "output", "--dtype", "bf16", "-q"}, false},
          {"Embed", {"embed", sentences, "text", "-o", "output", "-q"}},
          {"Transcribe",
           {"transcribe", golden("sound/whisper-small").string(),
            golden("sound/whisper-small/short.wav").string(), "-o", "output", "-q"}},
          {"Attend", {"embed", sentences, "text", "--attend", "output", "-q"}},
          {"Tokenizer", {"tokenizer", "train", "--type", "char", "-o", "output", "text", "-q"}},
          {"Vectors",
           {"vectors", "train", "text", "-o", "output", "--size", "4", "--min-count", "1", "-t", "1", "-q"}}};
}

// Return the content of a file (key "") or of every file of a folder; empty if `path` does not exist.
std::map<std::string, std::string> content_of(const fs::path& path) {
  std::map<std::string, std::string> content;
  if (fs::is_regular_file(path)) content[""] = file_content(path);
  if (!fs::is_directory(path)) return content;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      content[fs::relative(entry.path(), path).string()] = file_content(entry.path());
  return content;
}

class OutputFaults : public ::testing::TestWithParam<OutputCase> {
 protected:
  fs::path fresh(const std::string& name) const {
    const fs::path place = folder_ / name;
    fs::create_directory(place);
    write_file(place, "text", "one two three\none two\nthree\n");
    if (GetParam().replaces) write_file(place, "output", "old\n");
    return place;
  }
  TemporaryFolder folder_;
};

TEST_P(OutputFaults, LeaveTheOldOrTheNewAndRunningAgainMends) {
  const std::size_t count = count_calls(GetParam().arguments, fresh("alone"), folder_ / "log");
  ASSERT_GT(count, 3u);
  const auto whole = content_of(folder_ / "alone" / "output");
  for (const char* kind : {"kill", "io", "full"})
    for (const std::size_t call : chosen_calls(count, kCallsTried)) {
      const std::string fault = std::string(kind) + ":" + std::to_string(call);
      const fs::path place = fresh(fault);
      const auto old = content_of(place / "output");
      const ProgramResult result = run_with_fault(GetParam().arguments, place, fault);
      expect_clean_ending(result, fault);
      const auto left = content_of(place / "output");
      EXPECT_TRUE(left == old || left == whole) << fault;
      EXPECT_TRUE(result.exit_code != 0 || left == whole) << fault;
      // The program refuses to overwrite a complete folder.
      const bool again = GetParam().replaces || left.empty();
      EXPECT_TRUE(!again || run_program(GetParam().arguments, place).exit_code == 0) << fault;
      EXPECT_TRUE(content_of(place / "output") == whole) << fault;
      EXPECT_EQ(leftovers(place), std::vector<std::string>()) << fault;
      fs::remove_all(place);
      if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Each, OutputFaults, ::testing::ValuesIn(cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace regard::testing
