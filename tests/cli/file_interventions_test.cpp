// Every command on images and sounds takes values from another file: `--intervene 'patch … file=FILE'`.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

std::string picture_file(const std::string& name) {
  return golden("pictures/" + name).string();
}

std::string sound_file(const std::string& name) {
  return golden("sound/whisper-small/" + name).string();
}

class FileIntervention : public ::testing::Test {
 protected:
  // Return the output of a command, which is expected to succeed.
  std::string out(std::vector<std::string> arguments, const std::string& patch = "",
                  const std::string& input = "") const {
    if (!patch.empty()) arguments.insert(arguments.end(), {"--intervene", patch});
    const ProgramResult result = run_program(arguments, place_.path(), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  TemporaryFolder place_;
};

// If all states of the encoder come from the other file, the result equals the result of the other file.
TEST_F(FileIntervention, ClassifiesTheOtherImageOrSound) {
  const auto classified = [&](const std::string& family, const std::string& file, const std::string& patch) {
    return out({"classify", golden("hf-tiny/" + family).string(), file, "--top", "0"}, patch);
  };
  for (const auto& [family, one, two] :
       {std::tuple{"vit-patch16", picture_file("deep.png"), picture_file("turned1.jpg")},
        std::tuple{"ast", sound_file("short.wav"), sound_file("long.wav")}}) {
    const std::string own = classified(family, one, ""), other = classified(family, two, "");
    EXPECT_NE(own, other);
    EXPECT_EQ(classified(family, one, "patch encoder.0.residual file=" + two), other) << family;
    EXPECT_EQ(classified(family, one, "patch encoder.0.residual file=" + one), own) << family;
  }
}

TEST_F(FileIntervention, TranscribesTheOtherSound) {
  const auto text = [&](const std::string& file, const std::string& patch) {
    return out({"transcribe", golden("sound/whisper-small").string(), file, "--no-fallback", "--no-speech",
                "1", "--no-timestamps", "--language", "en"},
               patch);
  };
  const std::string own = text(sound_file("short.wav"), "");
  // The long sound has several windows, and the intervention uses its first window.
  const std::string patched =
      text(sound_file("short.wav"), "patch encoder.output file=" + sound_file("long.wav"));
  EXPECT_NE(patched, own);
  EXPECT_EQ(text(sound_file("long.wav"), "").substr(0, patched.size() - 1),
            patched.substr(0, patched.size() - 1));
  EXPECT_EQ(text(sound_file("short.wav"), "patch encoder.output file=" + sound_file("short.wav")), own);
  // Decoder values are taken from the transcript that the model generates for the file of the intervention.
  // Here, this file is also the input, so the transcript does not change.
  EXPECT_EQ(
      text(sound_file("short.wav"), "patch decoder.1.residual positions=0 file=" + sound_file("short.wav")),
      own);
}

TEST_F(FileIntervention, EmbedsTheOtherImage) {
  const auto vector = [&](const char* file, const std::string& patch) {
    return parse_json(out({"embed", golden("hf-more/clip-words").string(), "--images", "--json"}, patch,
                          picture_file(file) + "\n"),
                      "stdout")["embedding"];
  };
  const Json other = vector("turned1.jpg", "");
  EXPECT_NE(vector("deep.png", ""), other);
  EXPECT_EQ(vector("deep.png", "patch vision.encoder.output file=" + picture_file("turned1.jpg")), other);
}

// Every position gets the attention weights that position 1 has in the other image.
TEST_F(FileIntervention, FreezesThePatternOfTheOtherImage) {
  const std::string one = picture_file("deep.png"), two = picture_file("turned1.jpg");
  const auto classified = [&](const std::string& freeze) {
    return out({"classify", golden("hf-tiny/vit-patch16").string(), one, "--top", "0", "--json"}, freeze);
  };
  const std::string own = classified("freeze encoder.0.0 from=1 file=" + one);
  EXPECT_NE(classified("freeze encoder.0.0 from=1 file=" + two), own);
  EXPECT_NE(classified(""), own);
}

TEST_F(FileIntervention, CapturesNameTheFile) {
  const std::string patch = "patch encoder.0.residual positions=1-4 file=" + picture_file("turned1.jpg");
  const Json capture = parse_json(
      out({"attend", golden("hf-tiny/vit-patch16").string(), picture_file("deep.png"), "--json"}, patch),
      "stdout");
  ASSERT_EQ(capture["interventions"].size(), 1u);
  EXPECT_EQ(capture["interventions"][0]["kind"], "patch");
  EXPECT_EQ(capture["interventions"][0]["detail"], patch);
}

TEST_F(FileIntervention, ErrorsNameTheFile) {
  const auto expect = [&](const std::vector<std::string>& call, const std::string& patch, int code,
                          const std::string& part) {
    std::vector<std::string> arguments = call;
    arguments.insert(arguments.end(), {"--intervene", patch});
    const ProgramResult result = run_program(arguments, place_.path());
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  const std::vector<std::string> image{"classify", golden("hf-tiny/vit-patch16").string(),
                                       picture_file("deep.png")},
      noise{"attend", golden("hf-tiny/wav2vec2").string(), golden("page/tiny.wav").string()};
  expect(image, "patch encoder.0.residual file=none.png", 4, "none.png");
  expect(image, "patch encoder.0.residual file=" + sound_file("short.wav"), 3, "short.wav");
  expect(image, "patch encoder.0.residual text=word", 2, "file=FILE");
  expect(noise, "patch encoder.0.residual file=" + sound_file("short.wav"), 2,
         "different numbers of positions");
  expect(noise, "patch encoder.0.residual file=" + picture_file("deep.png"), 3, "deep.png");
}

}  // namespace
}  // namespace regard::testing
