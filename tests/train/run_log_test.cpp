// log.jsonl: which lines a resumed run keeps, and what it adds.
#include "train/run_log.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::train {
namespace {

TEST(RunLog, KeepsCompleteLinesUpToTheLastStep) {
  const regard::testing::TemporaryFolder folder;
  const std::string kept =
      "{\"step\":0,\"run\":{}}\n{\"step\":7,\"loss\":1}\n{\"step\":8,\"loss\":2}\n"
      "{\"step\":8,\"validation\":{}}\n";
  regard::testing::write_file(folder.path(), "log.jsonl",
                              "no JSON\n[8]\n{\"loss\":1}\n{\"step\":\"8\"}\n{\"step\":1.5}\n" + kept +
                                  "{\"step\":8,\"averaged\":true}\n{\"step\":9,\"loss\":3}\n\n"
                                  "{\"step\":8,\"loss\":4}");  // the last line has no end
  {
    RunLog log(folder / "log.jsonl", 8, true);
    EXPECT_EQ(regard::testing::file_content(folder / "log.jsonl"), kept);
    log.write({{"step", 9}});
  }
  const std::string text = regard::testing::file_content(folder / "log.jsonl");
  ASSERT_TRUE(text.starts_with(kept)) << text;
  ASSERT_TRUE(text.ends_with("\n")) << text;
  const Json added = Json::parse(text.substr(kept.size()));
  EXPECT_EQ(added["step"], 9);
  EXPECT_TRUE(added["time"].is_string()) << added;
  EXPECT_EQ(added.size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder / "tensorboard"));
}

TEST(RunLog, StartsANewFileOfEventsWithTheNextStep) {
  const regard::testing::TemporaryFolder folder;
  for (const int count : {1, 2}) {
    RunLog log(folder / "log.jsonl", 3, true, folder / "tensorboard");
    log.write({{"step", 4}, {"loss", 2.0}});
    const std::filesystem::directory_iterator files(folder / "tensorboard");
    EXPECT_EQ(std::distance(begin(files), end(files)), count);
  }
  EXPECT_EQ(regard::testing::lines_of(regard::testing::file_content(folder / "log.jsonl")).size(), 1u)
      << "a line of a later step is removed";
}

}  // namespace
}  // namespace regard::train
