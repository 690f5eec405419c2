// Speech recognition leaves out texts that are too long for 'data.max_length', or for the sound.
#include <gtest/gtest.h>

#include <cmath>

#include "run_case.h"
#include "support/wav.h"

namespace regard::train {
namespace {

class SpeechLabels : public RunCase {
 protected:
  SpeechLabels() {
    write_sound("short.wav", 1600);  // 4 frames of wav2vec 2.0
    write_sound("long.wav", 16000);
    regard::testing::write_file(folder.path(), "valid.tsv", "long.wav\tab\n");
  }

  void write_sound(const std::string& name, int count) {
    std::vector<std::int16_t> samples;
    for (int i = 0; i < count; ++i) samples.push_back(static_cast<std::int16_t>(15000 * std::sin(i)));
    regard::testing::write_file(folder.path(), name, regard::testing::wav_file(samples));
  }
  void write_run(const std::string& family, const std::string& rows) {
    regard::testing::write_file(folder.path(), "train.tsv", rows);
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "speech-recognition"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
[model]
hidden_size = 16
heads = 2
feed_forward_size = 32
activation = "gelu"
)" + family + R"(
[training]
max_steps = 2
[output]
folder = "run"
)");
  }
  // Expect the numbers of sounds of train.tsv that are used and skipped.
  void expect_sounds(int max_length, int used, int skipped) {
    const ProgramResult result =
        train({"--dry-run", "--set", "data.max_length=" + std::to_string(max_length)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::string note = "training: " + std::to_string(used) + (used == 1 ? " sound" : " sounds") + "; read " +
                       std::to_string(used + skipped) + (used + skipped == 1 ? " record" : " records");
    note += skipped > 0 ? "; skipped " + std::to_string(skipped) + " with a text" : "\n";
    EXPECT_NE((result.out + result.err).find(note), std::string::npos) << note << result.out << result.err;
  }
};

// A label needs a frame, and a label that equals the one before it needs two.
TEST_F(SpeechLabels, OfCtcFitTheFramesAndTheLimit) {
  write_run("family = \"wav2vec2\"\nlayers = 1\n[sound]\nseconds = 1\nchannels = 8",
            "short.wav\tabcd\nshort.wav\taab\nshort.wav\tabcde\nshort.wav\taabb\nlong.wav\tabcde\n");
  expect_sounds(4, 2, 3);
  expect_sounds(5, 3, 2);
}

// Whisper's labels contain five special tokens.
TEST_F(SpeechLabels, OfWhisperFitTheLimit) {
  write_run(
      "family = \"whisper\"\nencoder_layers = 1\ndecoder_layers = 1\n[sound]\nseconds = 1\nbins = 16\n"
      "vocabulary = 270",
      "long.wav\tab\nlong.wav\tcdefghijklmnopq\n");
  expect_sounds(7, 1, 1);
  expect_sounds(19, 1, 1);
  expect_sounds(20, 2, 0);
}

}  // namespace
}  // namespace regard::train
