// regard study with bad weights, short texts, and state files that were changed.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using testing::file_content;
using testing::ProgramResult;
using testing::write_file;

class StudyRobustness : public ::testing::Test {
 protected:
  StudyRobustness() {
    testing::write_text_model(folder_ / "gpt", "gpt", 64);
    write_file(folder_.path(), "lines.txt", "the quick fox\nan apple a day\n");
  }
  ProgramResult study(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "study");
    return testing::run_program(arguments, folder_.path());
  }
  void expect_error(const std::vector<std::string>& arguments, int exit_code, const std::string& part) {
    const ProgramResult result = study(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  // Overwrite the last weights of the model file with `value`.
  void spoil(float value) {
    std::string file = file_content(folder_ / "gpt/model.safetensors");
    for (std::size_t i = 1; i <= 32; ++i)
      std::memcpy(file.data() + file.size() - i * sizeof(float), &value, sizeof(float));
    write_file(folder_.path(), "gpt/model.safetensors", file);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(StudyRobustness, TextsOfOneTokenHaveNothingToPredict) {
  write_file(folder_.path(), "short.txt", "t\nq\n");
  expect_error({"gpt", "short.txt"}, 3, "no token to predict");
  write_file(folder_.path(), "empty.txt", "\n  \n");
  expect_error({"gpt", "empty.txt"}, 3, "no texts");
}

TEST_F(StudyRobustness, WeightsThatAreNotANumberAreReported) {
  spoil(std::numeric_limits<float>::quiet_NaN());
  expect_error({"gpt", "lines.txt", "--state", "state"}, 5, "not finite");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state")) << "the state of a sweep without a result";
  // Views without a loss succeed, with NaN in their tables.
  for (const char* view : {"kinds", "induction", "rollout"})
    EXPECT_EQ(study({"gpt", "--view", view, "--text", "the quick fox"}).exit_code, 0) << view;
}

TEST_F(StudyRobustness, AStateOfAChangedModelIsRefusedAndKept) {
  ASSERT_EQ(study({"gpt", "lines.txt", "--state", "state"}).exit_code, 0);
  std::string state = file_content(folder_ / "state");
  state.resize(state.find('\n', state.find('\n') + 1) + 1);  // one head is finished
  write_file(folder_.path(), "state", state);
  expect_error({"gpt", "lines.txt", "--off", "0.1", "--state", "state"}, 2,
               "(expected ablated heads decoder.0.1, found ablated heads: none)");
  write_file(folder_.path(), "one.txt", "the quick fox\n");
  expect_error({"gpt", "one.txt", "--state", "state"}, 2, "(expected data of 1 examples");
  expect_error({"gpt", "--view", "patch", "--text", "a", "--other", "b", "--answer", "a", "--state", "state"},
               2, "(expected study patch, found study heads)");
  spoil(0.25f);
  expect_error({"gpt", "lines.txt", "--state", "state"}, 2, "found a model with the loss");
  EXPECT_EQ(file_content(folder_ / "state"), state);
}

TEST_F(StudyRobustness, AKillInTheFirstLineOfTheStateDoesNoHarm) {
  const ProgramResult whole = study({"gpt", "lines.txt", "--state", "state", "--json"});
  const std::string state = file_content(folder_ / "state");
  for (const std::size_t bytes : {0, 1, 12}) {
    write_file(folder_.path(), "state", state.substr(0, bytes));
    const ProgramResult again = study({"gpt", "lines.txt", "--state", "state", "--json"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.out, whole.out);
    EXPECT_EQ(file_content(folder_ / "state"), state);
  }
}

TEST_F(StudyRobustness, AStateMayEndWithinACharacter) {
  const std::vector<std::string> arguments{"gpt",
                                           "lines.txt",
                                           "--state",
                                           "state",
                                           "--json",
                                           "--intervene",
                                           "mean decoder.0.1 text=\"the d\u00F6g\""};
  const ProgramResult whole = study(arguments);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string state = file_content(folder_ / "state");
  const std::size_t letter = state.find("\u00F6");
  ASSERT_NE(letter, state.npos);
  write_file(folder_.path(), "state", state.substr(0, letter + 1));
  const ProgramResult again = study(arguments);
  EXPECT_EQ(again.out, whole.out) << again.err;
  EXPECT_EQ(file_content(folder_ / "state"), state);
}

TEST_F(StudyRobustness, AStateMayHaveOtherLineEnds) {
  const std::vector<std::string> arguments{"gpt", "lines.txt", "--state", "state", "--json"};
  const ProgramResult whole = study(arguments);
  const std::string state = file_content(folder_ / "state");
  const std::size_t first = state.find('\n'), second = state.find('\n', first + 1);
  const std::string kept =
      state.substr(0, first) + "\r\n" + state.substr(first + 1, second - first - 1) + "\r\n";
  write_file(folder_.path(), "state", kept + state.substr(second + 1, 5));
  const ProgramResult again = study(arguments);
  EXPECT_EQ(again.out, whole.out) << again.err;
  EXPECT_EQ(file_content(folder_ / "state"), kept + state.substr(second + 1));
}

// A killed study may leave any prefix of its state file. A study that continues from the prefix gives the
// same table and state file.
TEST_F(StudyRobustness, EveryStudyContinuesFromAnyPrefixOfItsState) {
  const std::vector<std::string> both{"--text", "the fox", "--answer", "a", "--instead", "b"};
  for (const std::string view : {"heads", "sets", "flip", "patch", "path"}) {
    std::vector<std::string> arguments{"gpt",   "--view", view,          "--state",
                                       "state", "--json", "--intervene", "uniform decoder.0.1"};
    if (view == "sets" || view == "flip") arguments.insert(arguments.end(), {"--most", "2"});
    if (view == "heads" || view == "sets")
      arguments.emplace_back("lines.txt");
    else
      arguments.insert(arguments.end(), both.begin(), both.end());
    if (view == "patch" || view == "path") arguments.insert(arguments.end(), {"--other", "the fig"});
    std::filesystem::remove(folder_ / "state");
    const ProgramResult whole = study(arguments);
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const std::string state = file_content(folder_ / "state");
    for (std::size_t bytes = 1; bytes < state.size(); bytes += 1 + state.size() / 9) {
      write_file(folder_.path(), "state", state.substr(0, bytes));
      const ProgramResult again = study(arguments);
      EXPECT_EQ(again.out, whole.out) << view << " " << bytes << again.err;
      EXPECT_EQ(file_content(folder_ / "state"), state) << view << " " << bytes;
    }
  }
}

TEST_F(StudyRobustness, OtherFilesAreNotOverwritten) {
  for (const std::string content : {"my notes", "my notes\n", "{\"a\": 1}\n", "{\"sweep\": 3}"}) {
    write_file(folder_.path(), "notes", content);
    EXPECT_NE(study({"gpt", "lines.txt", "--state", "notes"}).exit_code, 0) << content;
    EXPECT_EQ(file_content(folder_ / "notes"), content);
  }
  expect_error({"gpt", "lines.txt", "--state", "/dev/null"}, 2, "regular file");
}

TEST_F(StudyRobustness, SizesAreBounded) {
  expect_error({"gpt", "--view", "induction", "--length", "1000000000"}, 2, "at most 2048 tokens");
  expect_error({"gpt", "--view", "induction", "--sequences", "1000000000"}, 2, "10000 sequences");
  expect_error({"gpt", "--view", "induction", "--text", "tttt"}, 2, "too few tokens");
  expect_error({"gpt", "--view", "lens", "--text", "the fox", "--position", "7"}, 2, "0 to 6");
}

TEST_F(StudyRobustness, InterventionsChangeEveryView) {
  const std::vector<std::string> tokens{"gpt",      "--view", "tokens",  "--text", "the fox",
                                        "--answer", "a",      "--steps", "10",     "--json"};
  std::vector<std::string> changed = tokens;
  changed.insert(changed.end(),
                 {"--intervene", "uniform decoder.0.1", "--intervene", "scale decoder.1.0 by=0.5"});
  const ProgramResult plain = study(tokens), edited = study(changed);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(edited.exit_code, 0) << edited.err;
  EXPECT_NE(plain.out, edited.out);
  const ProgramResult rollout =
      study({"gpt", "--view", "rollout", "--text", "the fox", "--intervene", "uniform decoder.0.1"});
  EXPECT_NE(rollout.out.find("Interventions in every pass: 'uniform decoder.0.1'."), std::string::npos)
      << rollout.out << rollout.err;
  expect_error({"gpt", "--view", "lens", "--text", "the fox", "--intervene", "zero decoder.output"}, 2,
               "decoder.output");
}

// `study` has no option --truncate, so its errors do not name it.
TEST_F(StudyRobustness, ATextThatIsTooLongHasARemedyThatStudyHas) {
  const ProgramResult result = study({"gpt", "--view", "lens", "--text", std::string(65, 'a')});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("Split the text"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("--truncate"), std::string::npos) << result.err;
}

TEST_F(StudyRobustness, AModelWithoutLogitsIsRefused) {
  for (const auto& [view, needed] : {std::pair{"tokens", "logits of tokens or classes"},
                                     {"direct", "a model that predicts the next token"}})
    expect_error(
        {testing::golden("hf-more/st-mean").string(), "--view", view, "--text", "A bank.", "--answer", "b"},
        2, needed);
}

}  // namespace
}  // namespace regard::testing
