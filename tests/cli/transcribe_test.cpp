// regard transcribe and classify with sounds, called as by a user.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class TranscribeCommand : public ::testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"transcribe", model_});
    return run_program(arguments, folder_.path(), input);
  }
  std::string model_ = golden("sound/whisper-small").string();
  std::string short_ = golden("sound/whisper-small/short.wav").string();
  std::string long_ = golden("sound/whisper-small/long.wav").string();
  // Decode at temperature 0 only, and treat no window as silence, because the weights are random.
  std::vector<std::string> steady_{"--no-fallback", "--no-speech", "1"};
  TemporaryFolder folder_;

  std::vector<std::string> with(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), steady_.begin(), steady_.end());
    return arguments;
  }
};

TEST_F(TranscribeCommand, JsonHasTheTokensOfTransformers) {
  const Json goldens = read_json(golden("sound/whisper-small/transcripts.json").string());
  const auto expect = [&](const char* name, const char* language, std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const ProgramResult result = run(with(std::move(arguments)));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json json = parse_json(result.out, "stdout"), &wanted = goldens[name]["segments"];
    EXPECT_EQ(json["language"], language);
    ASSERT_EQ(json["segments"].size(), wanted.size()) << name;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(json["segments"][i]["tokens"], wanted[i]["tokens"]) << name;
      EXPECT_NEAR(json["segments"][i]["end"].get<double>(), wanted[i]["end"].get<double>(), 1e-6) << name;
    }
  };
  expect("times", "de", {short_, "--language", "de", "--task", "translate", "--no-previous-text"});
  expect("long", "de", {long_, "--no-previous-text"});
  expect("previous", "fr", {long_, "--language", "fr"});
}

TEST_F(TranscribeCommand, TheDurationIsThatOfTheSound) {
  const ProgramResult result = run(with({short_, "--language", "de", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NEAR(parse_json(result.out, "stdout")["duration"].get<double>(), 1.4, 1e-9);
}

TEST_F(TranscribeCommand, EveryFormatHasTheSameSegments) {
  const auto lines = [&](const char* format) {
    const ProgramResult result = run(with({long_, "--format", format}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return lines_of(result.out);
  };
  const std::size_t segments = lines("text").size();
  ASSERT_GT(segments, 3u);
  EXPECT_EQ(lines("tsv").size(), segments + 1);
  EXPECT_EQ(lines("srt").size(), 4 * segments);
  EXPECT_EQ(lines("vtt").size(), 3 * segments + 2);
  EXPECT_EQ(lines("vtt")[0], "WEBVTT");
}

TEST_F(TranscribeCommand, AFileThePipeAndAFolderGiveTheSame) {
  const ProgramResult file = run(with({short_, "--format", "srt"}));
  ASSERT_EQ(file.exit_code, 0) << file.err;
  EXPECT_EQ(run(with({"-", "--format", "srt"}), file_content(short_)).out, file.out);
  EXPECT_EQ(run(with({short_, "--format", "srt", "-o", "one.srt"})).exit_code, 0);
  EXPECT_EQ(file_content(folder_ / "one.srt"), file.out);
  EXPECT_EQ(run(with({short_, long_, "--format", "srt", "--output-folder", "all"})).exit_code, 0);
  EXPECT_EQ(file_content(folder_ / "all/short.srt"), file.out);
  EXPECT_TRUE(fs::exists(folder_ / "all/long.srt"));
}

TEST_F(TranscribeCommand, ANameThatIsNotUtf8IsWrittenWithReplacements) {
  fs::copy(short_, folder_ / "s\xE9.wav");
  const ProgramResult result = run(with({"s\xE9.wav", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "stdout")["file"], "s\uFFFD.wav");
}

// Interventions change the passes of the encoder and the decoder, and the passes for word timestamps.
TEST_F(TranscribeCommand, InterventionsChangeThePasses) {
  const auto out = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {short_, "--json", "--word-times", "--language", "de"});
    const ProgramResult result = run(with(std::move(more)));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string whole = out({});
  EXPECT_EQ(out({"--intervene", "scale encoder.0.0 by=1", "--intervene", "scale cross.1.0 by=1"}), whole);
  EXPECT_NE(out({"--intervene", "zero encoder.0"}), whole);
  EXPECT_NE(out({"--intervene", "zero decoder.1"}), whole);
  EXPECT_EQ(out({"--ablate", "encoder.0.0"}), out({"--intervene", "zero encoder.0.0"}));
  EXPECT_EQ(run({short_, "--intervene", "zero decoder.9"}).exit_code, 2);
}

TEST_F(TranscribeCommand, ErrorsNameTheFileAndTheRemedy) {
  const auto expect = [&](const std::vector<std::string>& arguments, int code, const char* what) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(what), std::string::npos) << result.err;
  };
  expect({"none.wav"}, 4, "none.wav");
  expect({short_, long_, "--format", "srt"}, 2, "--output-folder");
  expect({short_, short_, "--format", "srt", "--output-folder", "all"}, 2, "the same output file");
  EXPECT_FALSE(fs::exists(folder_ / "all"));
  expect({short_, "--language", "xx"}, 2, "de, en, fr");
  expect({short_, "--format", "doc"}, 2, "doc");
  write_file(folder_.path(), "cut.wav", file_content(short_).substr(0, 2001));
  expect({"cut.wav"}, 3, "cut.wav");
  write_file(folder_.path(), "empty.wav", "");
  expect({"empty.wav", "-o", "never"}, 3, "the file is empty");
  EXPECT_FALSE(fs::exists(folder_ / "never"));
  model_ = golden("hf-tiny/bert").string();
  expect({short_}, 2, "expected text, found feature input");
}

TEST(ClassifySounds, ByNameAndAsAList) {
  const TemporaryFolder folder;
  const std::string model = golden("hf-tiny/ast").string(),
                    one = golden("sound/whisper-small/short.wav").string(),
                    two = golden("sound/whisper-small/long.wav").string();
  const ProgramResult named =
      run_program({"classify", model, one, two, "--json", "--top", "0"}, folder.path());
  ASSERT_EQ(named.exit_code, 0) << named.err;
  const std::vector<std::string> results = lines_of(named.out);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(parse_json(results[0], "stdout")["labels"].size(), 5u);
  const ProgramResult listed =
      run_program({"classify", model, "--json", "--top", "0"}, folder.path(), one + "\n" + two + "\n");
  EXPECT_EQ(listed.out, named.out);
}

}  // namespace
}  // namespace regard::testing
