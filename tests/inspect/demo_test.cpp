// regard demo, trained for a few steps: the demo's actions are tested, not its translation quality.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard {
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

  const auto second = run_program({"demo", "--steps", "3", "-t", "2"}, folder.path());
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.err.find("already trained"), std::string::npos) << second.err;
  EXPECT_NE(second.out.find("idioms"), std::string::npos) << second.out;
  EXPECT_NE(second.out.find("cross-attention, layer"), std::string::npos) << second.out;
  EXPECT_EQ(testing::file_content(folder / "runs/demo/log.jsonl"), log);
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
}  // namespace regard
