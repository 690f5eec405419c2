// regard demo, trained for a few steps: the demo's actions are tested, not its translation quality.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

using testing::run_program;

TEST(Demo, TrainsOnceAndThenOnlyTranslates) {
  testing::TemporaryFolder folder;
  const auto first = run_program({"demo", "--steps", "3", "--json", "-t", "2"}, folder.path());
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto json = nlohmann::json::parse(first.out);
  EXPECT_EQ(json["translations"][0]["text"], "The exam was a piece of cake.");
  for (const char* kind : {"idiom", "literal", "other"}) EXPECT_GE(json["held_out"][kind]["of"], 30) << kind;
  EXPECT_TRUE(std::filesystem::exists(folder / "runs/demo/best/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "runs/demo.data/held-out.hi"));
  const auto log = testing::file_content(folder / "runs/demo/log.jsonl");

  EXPECT_GE(json["held_out"]["articles"]["of"], 30);
  std::size_t scored = 0;
  for (const char* kind : {"idiom", "literal", "other"})
    scored += json["held_out"][kind]["of"].get<std::size_t>();
  EXPECT_EQ(scored, testing::lines_of(testing::file_content(folder / "runs/demo.data/held-out.en")).size());

  const auto named = run_program({"translate", "runs/demo", "--json", "--max-new", "4"}, folder.path(),
                                 "The exam was easy.\nThe zebra was easy, Zebra!\nTHE Exam was easy 😎.\n");
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_NE(named.err.find("not seen in training: zebra\n"), std::string::npos) << named.err;
  EXPECT_NE(named.err.find("hint"), std::string::npos) << named.err;
  const auto lines = testing::lines_of(named.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_FALSE(nlohmann::json::parse(lines[0]).contains("not_seen_in_training"));
  EXPECT_EQ(nlohmann::json::parse(lines[1])["not_seen_in_training"], nlohmann::json::array({"zebra"}));
  EXPECT_NE(named.err.find("not seen in training: 😎\n"), std::string::npos) << named.err;
  EXPECT_EQ(named.err.find("only in another case"), std::string::npos) << named.err;
  EXPECT_FALSE(nlohmann::json::parse(lines[2]).contains("seen_in_other_case"));

  const auto second = run_program({"demo", "--steps", "3", "-t", "2"}, folder.path());
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.err.find("already trained"), std::string::npos) << second.err;
  EXPECT_NE(second.out.find("idioms"), std::string::npos) << second.out;
  EXPECT_NE(second.out.find("cross-attention, layer"), std::string::npos) << second.out;
  EXPECT_EQ(testing::file_content(folder / "runs/demo/log.jsonl"), log);
}

// The demo's tokenizer makes no difference between upper and lower case.
TEST(Demo, TitlesAndCapitalsAreTheSameText) {
  testing::TemporaryFolder folder;
  ASSERT_EQ(run_program({"demo", "--steps", "3", "-q", "-t", "2"}, folder.path()).exit_code, 0);
  const auto result = run_program({"translate", "runs/demo", "-q", "--max-new", "4"}, folder.path(),
                                  "the river grows.\nThe River Grows.\nTHE RIVER GROWS.\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = testing::lines_of(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], lines[0]);
  EXPECT_EQ(lines[2], lines[0]);
}

TEST(Demo, ExportedPhrasebookTrainsWithCaseToo) {
  testing::TemporaryFolder folder;
  ASSERT_EQ(run_program({"demo", "--export", "book", "-q"}, folder.path()).exit_code, 0);
  const auto trained =
      run_program({"train", "book/run.toml", "-q", "-t", "2", "--set", "tokenizer.lower_case=false", "--set",
                   "training.max_steps=3", "--set", "training.warmup_steps=1", "--set",
                   "validation.metrics=[\"loss\"]", "--set", "output.folder=run"},
                  folder.path());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto named =
      run_program({"translate", "run", "--json", "--max-new", "4"}, folder.path(), "THE Exam was easy 😎.\n");
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_NE(named.err.find("only in another case: THE (The), Exam (exam)\n"), std::string::npos) << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["seen_in_other_case"], nlohmann::json::array({"THE", "Exam"}));
}

TEST(Demo, RemovesNothingThatItDidNotMake) {
  testing::TemporaryFolder folder;
  testing::write_file(folder.path() / "mine", "letters.txt", "dear");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"demo", "--folder", "mine", "--retrain"}, {"demo", "--folder", "mine"}}) {
    const auto result = run_program(arguments, folder.path());
    EXPECT_EQ(result.exit_code, 2) << result.err;
  }
  EXPECT_EQ(testing::file_content(folder / "mine/letters.txt"), "dear");
}

}  // namespace
}  // namespace regard::testing
