// Every command in README.md and docs/*.md is run from a clean folder, and prints what the page shows.
// `REGARD_UPDATE_DOCS=1` rewrites the pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "docs/document_case.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

class Commands : public ::testing::TestWithParam<DocumentGroup> {};

TEST_P(Commands, PrintWhatThePageShows) {
  check_documents(GetParam(), false);
}

INSTANTIATE_TEST_SUITE_P(Documents, Commands, ::testing::ValuesIn(document_groups()),
                         [](const auto& group) { return group.param.name; });

TEST(Commands, EveryPageIsInAGroup) {
  std::vector<std::string> tested;
  for (const DocumentGroup& group : document_groups())
    tested.insert(tested.end(), group.pages.begin(), group.pages.end());
  for (const std::string& page : all_pages()) {
    const bool has_commands = page != "docs/attention.md" && !document_commands(read_page(page)).empty();
    EXPECT_EQ(std::ranges::count(tested, page), has_commands ? 1 : 0) << page;
  }
}

TEST(Links, LeadToFilesAndHeadings) {
  int checked = 0;
  for (const std::string& page : all_pages()) {
    const std::filesystem::path folder = (source_folder() / page).parent_path();
    for (const Link& link : links(read_page(page))) {
      if (link.target.find("://") != link.target.npos) continue;
      ++checked;
      const std::size_t hash = link.target.find('#');
      const std::string file = link.target.substr(0, hash);
      const std::filesystem::path target = file.empty() ? source_folder() / page : folder / file;
      ASSERT_TRUE(std::filesystem::exists(target)) << page << ":" << link.line << ": " << link.target;
      if (hash == link.target.npos) continue;
      const auto anchors = heading_anchors(read_file(target));
      EXPECT_TRUE(std::ranges::count(anchors, link.target.substr(hash + 1)) > 0)
          << page << ":" << link.line << ": no heading for " << link.target;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(DocumentOutput, MasksTimesOnly) {
  EXPECT_EQ(compare_document_output("loss 0.50 (1.2 s)\n", "loss 0.50 (3.4 s)\n", false), "");
  EXPECT_NE(compare_document_output("loss 0.50\n", "loss 0.60\n", false), "");
  EXPECT_EQ(compare_document_output("stopped at step 12\n", "stopped at step 9\n", true), "");
  EXPECT_NE(compare_document_output("stopped at step 12\n", "ended at step 12\n", true), "");
}

TEST(DocumentOutput, GapsStandForLinesAndForText) {
  EXPECT_EQ(compare_document_output("a\n…\nd\n", "a\nb\nc\nd\n", false), "");
  EXPECT_NE(compare_document_output("a\n…\nd\n", "a\nb\nc\n", false), "");
  EXPECT_NE(compare_document_output("a\n…\nd\n", "a\nd\ne\n", false), "");
  EXPECT_EQ(compare_document_output("one … three\n", "one two three\n", false), "");
  EXPECT_NE(compare_document_output("one … three\n", "one two\n", false), "");
}

TEST(DocumentCommands, AreReadWithTheirMode) {
  const auto commands = document_commands(
      "text\n```sh\nmkdir x\ncd x\n```\n<!-- test: varies -->\n```console\n$ one\n1\n$ two\n2\n```\n");
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].text, "mkdir x\ncd x\n");
  EXPECT_FALSE(commands[0].compared);
  EXPECT_EQ(commands[2].line, 10);
  EXPECT_EQ(commands[2].output, "2\n");
  EXPECT_TRUE(commands[2].mode == DocumentCommand::Mode::varies);
}

TEST(HeadingAnchors, AreGitHubs) {
  EXPECT_EQ(heading_anchors("# A title: `x`, y\n```\n# no\n```\n## Step 2\n"),
            (std::vector<std::string>{"a-title-x-y", "step-2"}));
}

}  // namespace
}  // namespace regard::testing
