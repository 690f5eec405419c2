// An intervention that changes nothing is reported with the reason.
#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

class UnusedIntervention : public ::testing::Test {
 protected:
  // Run `arguments` with an intervention, and return the text of standard error. The command must succeed.
  std::string messages(std::vector<std::string> arguments, const std::string& intervention) const {
    arguments.insert(arguments.end(), {"-q", "--intervene", intervention});
    const ProgramResult result = run_program(arguments, place_.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  }
  static std::string warning(const std::string& intervention,
                             const std::string& reason = "no input has tokens at the given positions") {
    return "regard: warning: '" + intervention + "' changed nothing: " + reason + "\n";
  }

  TemporaryFolder place_;
};

TEST_F(UnusedIntervention, OfATextIsReported) {
  const std::vector<std::string> attend{"attend", golden("hf-more/bert-nli").string(), "Green and blue.",
                                        "--json"};
  for (const char* used : {"zero encoder.0.residual positions=1", "scale encoder.0.0 by=0.5 keys=1",
                           "uniform encoder.0.1 positions=0,99", "zero encoder.0"})
    EXPECT_EQ(messages(attend, used), "") << used;
  for (const char* unused : {"zero encoder.0.residual positions=99", "uniform encoder.0.1 positions=98-99",
                             "scale encoder.0.0 by=0.5 positions=99 keys=99"})
    EXPECT_EQ(messages(attend, unused), warning(unused));
  const std::string keys = "scale encoder.0.0 by=0.5 keys=99";
  EXPECT_EQ(messages(attend, keys), warning(keys, "no input has tokens at the given keys"));
}

TEST_F(UnusedIntervention, OfAPictureIsReported) {
  const std::string model = golden("hf-tiny/vit-patch16").string(),
                    picture = golden("pictures/deep.png").string();
  const std::string used = "zero encoder.0.residual positions=1",
                    unused = "zero encoder.0.residual positions=9999";
  for (const char* command : {"classify", "attend"}) {
    EXPECT_EQ(messages({command, model, picture, "--json"}, used), "") << command;
    EXPECT_EQ(messages({command, model, picture, "--json"}, unused), warning(unused)) << command;
  }
}

// `embed` runs one of the two encoders of CLIP.
TEST_F(UnusedIntervention, OfAnEncoderThatDoesNotRunIsReported) {
  const std::string model = golden("hf-more/clip-words").string();
  write_file(place_.path(), "texts", "a cat\n");
  const std::string text = "zero text.encoder.0.0", vision = "zero vision.encoder.0.0",
                    weights = "uniform vision.encoder.0.0";
  EXPECT_EQ(messages({"embed", model, "texts"}, text), "");
  for (const std::string& unused : {vision, weights})
    EXPECT_EQ(messages({"embed", model, "texts"}, unused),
              warning(unused, "no pass computes the values at this place"));
}

TEST_F(UnusedIntervention, OfZeroShotLabelsAndOfASoundIsReported) {
  const std::string clip = golden("hf-more/clip-words").string(), end = ".residual positions=3000";
  const std::vector<std::string> labels{"classify", clip, golden("pictures/deep.png").string(), "--labels",
                                        "a cat,a dog"};
  EXPECT_EQ(messages(labels, "zero text.encoder.0" + end), warning("zero text.encoder.0" + end));
  EXPECT_EQ(messages(labels, "zero text.encoder.0.residual positions=1"), "");
  const std::string whisper = golden("sound/whisper-small").string();
  EXPECT_EQ(messages({"transcribe", whisper, whisper + "/short.wav"}, "zero encoder.0" + end),
            warning("zero encoder.0" + end));
}

}  // namespace
}  // namespace regard::testing
