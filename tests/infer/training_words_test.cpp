#include "infer/training_words.h"

#include <gtest/gtest.h>

#include "regard/error.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::infer {
namespace {

using Words = std::vector<std::string>;

class TrainingWordsFile : public ::testing::Test {
 protected:
  TrainingWords of(const Words& lines) {
    testing::write_file(folder_.path(), kTrainingWordsFile,
                        training_words_text(text::lines_of(lines), nullptr));
    return TrainingWords::open(folder_.path()).value();
  }
  testing::TemporaryFolder folder_;
};

TEST_F(TrainingWordsFile, CountsWordsAndSigns) {
  const Words lines{"The exam was easy.", "the boy, the girl: 2 of them!"};
  EXPECT_EQ(training_words_text(text::lines_of(lines), nullptr),
            "!\t1\n,\t1\n.\t1\n2\t1\n:"
            "\t1\nThe\t1\nboy\t1\neasy\t1\nexam\t1\ngirl\t1\nof\t1\nthe\t2\nthem\t1\nwas\t1\n");
}

TEST_F(TrainingWordsFile, NamesUnseenWordsInTheOrderOfTheText) {
  const TrainingWords words = of({"The exam was a piece of cake.", "Ravi ate é."});
  EXPECT_EQ(words.unseen("The test was a piece of cake, exam!"), Words{"test"});
  EXPECT_EQ(words.unseen("zebra was THE apple; zebra ravi"), (Words{"zebra", "apple"}));
  EXPECT_EQ(words.unseen("e\xCC\x81"), Words{});  // decomposed é
  EXPECT_EQ(words.unseen("?! ... —"), Words{});
  EXPECT_EQ(words.unseen(""), Words{});
}

TEST_F(TrainingWordsFile, FindsWordsOnlyAtWordBoundaries) {
  const TrainingWords words = of({"exam"});
  EXPECT_EQ(words.unseen("cat bird a ir"), (Words{"cat", "bird", "a", "ir"}));
  EXPECT_EQ(words.unseen("cafe\xCC\x81 bird e\xCC\x81 a"), (Words{"café", "bird", "é", "a"}));
  // 30,000 different words: if every word were compared with every other word, the test would take minutes.
  Words many;
  std::string text;
  for (int i = 0; i < 30000; ++i) text += many.emplace_back("w" + std::to_string(i * 7919 % 30000)) + " ";
  EXPECT_EQ(words.unseen(text), many);
}

TEST_F(TrainingWordsFile, NamesUnseenSymbolsButNoPunctuation) {
  const TrainingWords words = of({"Tea costs 5 € here 😀😀!"});
  EXPECT_EQ(words.unseen("Tea 😀, 😎❤️; 5 € + 5 $ (here)…"), (Words{"😎", "❤", "+", "$"}));
  const std::string text = "😎 tea 😀";
  EXPECT_EQ(words.unseen_places(text), (std::vector<std::pair<std::size_t, std::size_t>>{{0, 4}}));
  // Earlier versions did not count symbols, so with their files no symbol is reported.
  testing::write_file(folder_.path(), kTrainingWordsFile, "tea\t1\n");
  EXPECT_EQ(TrainingWords::open(folder_.path())->unseen("tea 😎 coffee"), Words{"coffee"});
}

TEST_F(TrainingWordsFile, NamesWordsThatItHasInOtherCaseOnly) {
  const TrainingWords words = of({"Hello, the man!", "The man beats the boy.", "US US us"});
  using Respelled = TrainingWords::Respelled;
  EXPECT_EQ(words.in_other_case("THE Man, hello! Us MOON the"),
            (std::vector<Respelled>{{"THE", "the"}, {"Man", "man"}, {"hello", "Hello"}, {"Us", "US"}}));
  EXPECT_TRUE(words.in_other_case("The man, the US; us").empty());
}

TEST_F(TrainingWordsFile, PlacesEveryUnseenWord) {
  const TrainingWords words = of({"The exam was a piece of cake."});
  const std::string text = "Zebra, the ZEBRA: é केक cake zebra";
  std::vector<std::string> found;
  for (const auto& [begin, end] : words.unseen_places(text)) found.push_back(text.substr(begin, end - begin));
  EXPECT_EQ(found, (Words{"Zebra", "ZEBRA", "é", "केक", "zebra"}));
  EXPECT_TRUE(words.unseen_places("").empty());
  EXPECT_TRUE(words.unseen_places("\xFF\xFE ?! THE Cake").empty());
}

TEST_F(TrainingWordsFile, IsFoundFromACheckpointOfTheRun) {
  of({"a"});
  std::filesystem::create_directories(folder_.path() / "checkpoints" / "5");
  EXPECT_TRUE(TrainingWords::of_model(folder_.path()).has_value());
  EXPECT_TRUE(TrainingWords::of_model(folder_.path() / "checkpoints" / "5").has_value());
  EXPECT_FALSE(TrainingWords::of_model(folder_.path() / "checkpoints").has_value());
}

TEST_F(TrainingWordsFile, IsOptionalAndChecked) {
  EXPECT_FALSE(TrainingWords::open(folder_.path()).has_value());
  for (const char* content : {"word\n", "\t3\n", "word\tmany\n", "word\t0\n", "word\t3 \n"}) {
    testing::write_file(folder_.path(), kTrainingWordsFile, content);
    try {
      (void)TrainingWords::open(folder_.path());
      FAIL() << content;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(error.place().line, 1);
    }
  }
}

}  // namespace
}  // namespace regard::infer
