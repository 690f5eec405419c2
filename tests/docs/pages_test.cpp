// Every figure in the documentation is the output of a command in it. `REGARD_UPDATE_DOCS=1` rewrites the
// pages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/console_blocks.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Pages, TheAttentionPageIsCurrent) {
  const std::filesystem::path path = source_folder() / "docs" / "attention.md";
  const std::string page = read(path);
  ASSERT_GE(console_blocks(page).size(), 8u);
  if (std::getenv("REGARD_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << refreshed(page);
    return;
  }
  for (const ConsoleBlock& block : console_blocks(page)) {
    const std::string difference = compare_outputs(block.output, run_command(block.command));
    EXPECT_EQ(difference, "") << "docs/attention.md:" << block.line << ": $ " << block.command
                              << "\nREGARD_UPDATE_DOCS=1 ctest -R Pages writes the page anew";
  }
}

TEST(Pages, TheFiguresAreCurrent) {
  const std::filesystem::path folder = source_folder() / "docs";
  const std::string page = read(folder / "attention.md");
  ASSERT_GE(figures(page).size(), 3u);
  for (const Figure& figure : figures(page)) {
    EXPECT_NE(page.find("(" + figure.file + ")"), std::string::npos) << figure.file << " is not shown";
    const std::string drawn = run_command(figure.command);
    if (std::getenv("REGARD_UPDATE_DOCS") != nullptr) {
      std::ofstream(folder / figure.file) << drawn;
      continue;
    }
    const std::string difference = compare_outputs(read(folder / figure.file), drawn);
    EXPECT_EQ(difference, "") << "docs/attention.md:" << figure.line << ": $ " << figure.command;
  }
}

TEST(CompareOutputs, ForgivesTheLastDigitOnly) {
  EXPECT_EQ(compare_outputs("a 0.250 b", "a 0.251 b"), "");
  EXPECT_NE(compare_outputs("a 0.250 b", "a 0.260 b"), "");
  EXPECT_NE(compare_outputs("18000 inputs", "18001 inputs"), "");
  EXPECT_NE(compare_outputs("same", "same and more"), "");
  EXPECT_NE(compare_outputs("same and more", "same"), "");
}

}  // namespace
}  // namespace regard::testing
