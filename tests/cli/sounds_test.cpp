// regard attend with sound models.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "support/json_schema.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

std::string whisper() {
  return golden("sound/whisper-small").string();
}

std::string sound(const std::string& name) {
  return golden("sound/whisper-small/" + name).string();
}

nlohmann::json capture_of(const std::vector<std::string>& arguments) {
  const TemporaryFolder place;
  std::vector<std::string> all{"attend"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--json", "-q"});
  const ProgramResult result = run_program(all, place.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto capture = nlohmann::json::parse(result.out);
  const auto schema =
      nlohmann::json::parse(read_file((source_folder() / "docs/capture.schema.json").string()));
  const std::vector<std::string> found = schema_violations(capture, schema);
  EXPECT_TRUE(found.empty()) << found.front();
  return capture;
}

// The tokens of the first window of short.wav equal case "plain" of transcripts.json, which transformers
// computed without timestamps.
TEST(AttendSound, GivesWhispersTranscriptAndTimes) {
  const auto capture = capture_of({whisper(), sound("short.wav")});
  const Json expected = read_json((golden("sound/whisper-small") / "transcripts.json").string())["plain"];
  std::vector<std::int32_t> ids;
  for (const Json& segment : expected["segments"])
    for (const Json& id : segment["tokens"]) ids.push_back(id.get<std::int32_t>());
  auto written = capture["tokens"]["written"]["ids"].get<std::vector<std::int32_t>>();
  ASSERT_GE(written.size(), 3u);
  if (written[0] == 305) {  // the language that transcripts.json names
    ASSERT_GE(written.size(), ids.size() + 3);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), written.begin() + 3));
  }
  EXPECT_EQ(written[1], 309);  // the token for the task "transcribe"
  EXPECT_EQ(written[2], 313);  // the token for "no timestamps"
  for (std::size_t i = 3; i < written.size(); ++i) EXPECT_LT(written[i], 313) << "no token of time";
  EXPECT_NEAR(capture["sound"]["seconds"].get<double>(), 1.4, 0.01);
  EXPECT_NEAR(capture["sound"]["time_step"].get<double>(), 0.02, 1e-6);
  EXPECT_EQ(capture["sound"]["first_time"], 0.0);
  EXPECT_EQ(capture["sound"]["spectrogram"]["rows"], 80);
  EXPECT_EQ(capture["sound"]["spectrogram"]["columns"], 140);
  EXPECT_EQ(capture["tokens"]["source"]["text"].size(), 100u);
  EXPECT_EQ(capture["tokens"]["source"]["text"][10], "0.20 s");
}

TEST(AttendSound, ReadsTheFirstWindowOfALongerSound) {
  const auto capture = capture_of({whisper(), sound("long.wav"), "--kind", "cross", "--generate", "4"});
  EXPECT_NEAR(capture["sound"]["seconds"].get<double>(), 2.0, 1e-6);
  EXPECT_NE(capture["left_out"].get<std::string>().find("the first 2.0 seconds"), std::string::npos);
}

TEST(AttendSound, NamesPatchesAndFrames) {
  const auto ast = capture_of({golden("hf-tiny/ast").string(), sound("short.wav")});
  EXPECT_EQ(ast["sound"]["specials"], 2);
  EXPECT_NEAR(ast["sound"]["first_time"].get<double>(), 0.0275, 1e-6);  // 1.5 frames of 10 ms + 25 ms / 2
  EXPECT_NEAR(ast["sound"]["time_step"].get<double>(), 0.04, 1e-6);
  EXPECT_EQ(ast["tokens"]["source"]["text"][0], "[CLS]");
  EXPECT_EQ(ast["tokens"]["source"]["text"][3], "0.07 s, band 0");
  const auto ctc = capture_of({golden("hf-tiny/wav2vec2").string(), golden("page/tiny.wav").string()});
  EXPECT_EQ(ctc["tokens"]["source"]["text"].size(), 74u);
  EXPECT_NEAR(ctc["sound"]["time_step"].get<double>(), 20.0 / 16000, 1e-9);
}

TEST(AttendSound, PrintsTimesAndRefusesWhatHasNoMeaning) {
  const TemporaryFolder place;
  const ProgramResult plain =
      run_program({"attend", whisper(), sound("short.wav"), "--target", "the fox"}, place.path());
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_NE(plain.out.find("cross-attention, layer"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find(" s "), std::string::npos) << plain.out;
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--svg", "a.svg"}, {"--pair", "b"}}) {
    std::vector<std::string> all{"attend", whisper(), sound("short.wav")};
    all.insert(all.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(run_program(all, place.path()).exit_code, 2) << wrong[0];
  }
  const ProgramResult text = run_program({"attend", whisper(), "no such file"}, place.path());
  EXPECT_NE(text.exit_code, 0);
  EXPECT_NE(text.err.find("no such file"), std::string::npos) << text.err;
}

}  // namespace
}  // namespace regard::testing
