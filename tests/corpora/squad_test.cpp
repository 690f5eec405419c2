// Read questions and answer spans from SQuAD files; wrong answers are refused or skipped.
#include "data/squad.h"

#include <gtest/gtest.h>

#include "support/compress.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

class Questions : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  // Write a SQuAD file with one article of one paragraph, and return its path. `questions` are its questions
  // as JSON objects.
  std::string squad(const std::string& questions) {
    return file(
        "q.json",
        "{\"version\": \"2\", \"data\": [{\"title\": \"T\", \"paragraphs\": [{\"context\": \"\u00E9t\u00E9 1 "
        "and 2\", \"qas\": [" +
            questions + "]}]}]}");
  }
  testing::TemporaryFolder folder;
};

constexpr const char* kGood =
    "{\"id\": \"a\", \"question\": \"Which?\", \"answers\": [{\"text\": \"1\", \"answer_start\": 4}, "
    "{\"text\": "
    "\"1 and\", \"answer_start\": 4}]}";
constexpr const char* kNone =
    "{\"id\": \"b\", \"question\": \"Why?\", \"answers\": [], \"is_impossible\": true, "
    "\"plausible_answers\": []}";

TEST_F(Questions, AnswersCountCodePoints) {
  const QuestionSet set = read_questions(squad(std::string(kGood) + "," + kNone));
  ASSERT_EQ(set.contexts.size(), 1u);
  EXPECT_EQ(set.contexts[0].title, "T");
  ASSERT_EQ(set.questions.size(), 2u);
  EXPECT_EQ(set.questions[0].id, "a");
  ASSERT_EQ(set.questions[0].answers.size(), 2u);
  EXPECT_EQ(set.questions[0].answers[1].text, "1 and");
  EXPECT_EQ(set.questions[0].answers[1].start, 4);
  EXPECT_TRUE(set.questions[1].answers.empty());
  EXPECT_EQ(set.report.records, 2);
}

TEST_F(Questions, WrongAnswersAreRefusedWithTheirPathOrSkipped) {
  const auto refused = [this](const std::string& question, const std::string& message) {
    EXPECT_REGARD_ERROR(read_questions(squad(std::string(kGood) + "," + question)), ErrorKind::bad_file,
                        message);
    const QuestionSet set =
        read_questions(squad(std::string(kGood) + "," + question), {.malformed = Faulty::skip});
    EXPECT_EQ(set.questions.size(), 1u);
    EXPECT_EQ(set.report.count(SkipReason::malformed), 1);
  };
  const auto answer = [](const std::string& text, int start) {
    return "{\"question\": \"Q\", \"answers\": [{\"text\": \"" + text +
           "\", \"answer_start\": " + std::to_string(start) + "}]}";
  };
  refused(answer("1", 5),
          "q.json: data[0].paragraphs[0].qas[1]: the context does not contain the answer at 'answer_start'");
  refused(answer("1", 5), "(expected \"1\" at character 5, found \" \")");
  refused(answer("1", 90), "found a context of 11 characters");
  refused(answer("1", -1), "expected \"1\" at character -1");
  refused(answer("2 and more", 10), "the context does not contain the answer at 'answer_start'");
  refused(answer("", 1), "an answer is empty");
  refused("{\"answers\": []}", "question");
  refused("{\"question\": \"Q\"}", "there is no list 'answers'");
  refused("7", "qas[1]");
}

TEST_F(Questions, OtherJsonIsRefused) {
  EXPECT_REGARD_ERROR(read_questions(file("q.json", "[1]")), ErrorKind::bad_file, "there is no list 'data'");
  EXPECT_REGARD_ERROR(read_questions(file("q.json", "{\"data\": [{}]}")), ErrorKind::bad_file,
                      "q.json: data[0]: there is no list 'paragraphs'");
  EXPECT_REGARD_ERROR(read_questions(file("q.json", "{\"other\": 1}")), ErrorKind::bad_file,
                      "found an object");
  EXPECT_REGARD_ERROR(read_questions(file("q.json", "{\"data\": \"text\"}")), ErrorKind::bad_file,
                      "found the string \"text\"");
  EXPECT_REGARD_ERROR(read_questions(file("q.json", "{\"data\": [")), ErrorKind::bad_file,
                      "unexpected end of JSON");
}

TEST_F(Questions, RowsShareContexts) {
  const std::string row =
      "{\"id\": \"a\", \"title\": \"T\", \"context\": \"one two\", \"question\": \"Q\", \"answers\": "
      "{\"text\": "
      "[\"two\"], \"answer_start\": [4]}}\n";
  const QuestionSet set = read_questions(
      file("q.jsonl", row + row + "{\"context\": \"c\", \"question\": \"R\", \"answers\": null}\n"));
  EXPECT_EQ(set.questions.size(), 3u);
  EXPECT_EQ(set.contexts.size(), 2u);
  EXPECT_EQ(set.questions[1].context, 0u);
  EXPECT_EQ(set.questions[2].id, "2");
  EXPECT_TRUE(set.questions[2].answers.empty());
  EXPECT_REGARD_ERROR(read_questions(file("q.jsonl",
                                          "{\"context\": \"c\", \"question\": \"R\", \"answers\": "
                                          "{\"text\": [\"c\"], \"answer_start\": []}}\n")),
                      ErrorKind::bad_file, "q.jsonl:1: column 'answers': 'text' and 'answer_start'");
}

// Rows that are not JSON and rows with a wrong answer are listed in the order of the file.
TEST_F(Questions, SkippedRowsAreListedInOrder) {
  const std::string good = "{\"context\": \"c\", \"question\": \"Q\"}\n";
  const std::string wrong =
      "{\"context\": \"c\", \"question\": \"Q\", \"answers\": {\"text\": [\"x\"], \"answer_start\": [0]}}\n";
  const QuestionSet set =
      read_questions(file("q.jsonl", good + "no JSON\n" + wrong + good), {.malformed = Faulty::skip});
  EXPECT_EQ(set.questions.size(), 2u);
  const std::string name = (folder / "q.jsonl").string();
  EXPECT_EQ(set.report.text(), "2 records; 2 malformed skipped (first: " + name + ":2)");
  ASSERT_EQ(set.report.skipped().size(), 2u);
  EXPECT_EQ(set.report.skipped()[1].place.line, 3);
}

TEST_F(Questions, CompressedFilesAreRead) {
  const std::string packed = testing::gzip(testing::file_content(squad(kGood)));
  if (packed.empty()) GTEST_SKIP() << "this build cannot read gzip";
  EXPECT_EQ(read_questions(file("q.json.gz", packed)).questions.size(), 1u);
}

}  // namespace
}  // namespace regard::data
