// Sounds that are missing or damaged: an error, or left out and counted.
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"
#include "train/sounds.h"

namespace regard::train {
namespace {

class SkippedSounds : public ::testing::Test {
 protected:
  SkippedSounds() {
    const std::string sound = regard::testing::wav_file(std::vector<std::int16_t>(4000, 100));
    regard::testing::write_file(folder_.path(), "a.wav", sound);
    regard::testing::write_file(folder_.path(), "b.wav", sound);
    regard::testing::write_file(folder_.path(), "text.wav", "no sound");
    regard::testing::write_file(folder_.path(), "valid.tsv", "a.wav\tlow\n");
    config_.task = "audio-classification";
    config_.model.family = "audio-spectrogram-transformer";
    config_.data.train = {(folder_ / "train.tsv").string()};
    config_.data.valid = {(folder_ / "valid.tsv").string()};
    config_.data.columns = {"1", "2"};
    config_.data.cache = "never";
    config_.data.max_skipped = 0.5;
  }
  void write(const std::string& rows) { regard::testing::write_file(folder_.path(), "train.tsv", rows); }
  data::CorpusReport load() {
    ThreadPool pool(1);
    Sounds sounds;
    std::vector<std::string> notes;
    sounds.load(read_sounds(config_).train, SoundInput(config_), config_, TooLong::cut, pool, notes);
    EXPECT_EQ(static_cast<std::int64_t>(sounds.size()), sounds.report().records);
    return sounds.report();
  }

  regard::testing::TemporaryFolder folder_;
  RunConfig config_;
};

TEST_F(SkippedSounds, AreCountedIfAsked) {
  write("a.wav\tlow\nmissing.wav\thigh\nb.wav\tlow\ntext.wav\thigh\n");
  config_.data.malformed = "skip";
  const data::CorpusReport report = load();
  EXPECT_EQ(report.records, 2);
  EXPECT_EQ(report.count(data::SkipReason::malformed), 2);
  EXPECT_EQ(report.skipped().at(0).place.line, 2);
  EXPECT_EQ(report.skipped().at(1).place.line, 4);
  config_.data.max_skipped = 0.4;
  EXPECT_REGARD_ERROR(load(), ErrorKind::bad_file, "2 of 4 rows");
}

TEST_F(SkippedSounds, AreErrorsOtherwise) {
  write("a.wav\tlow\nmissing.wav\thigh\n");
  EXPECT_REGARD_ERROR(load(), ErrorKind::bad_file, "train.tsv:2: the sound file does not exist");
  write("a.wav\tlow\ntext.wav\thigh\n");
  EXPECT_REGARD_ERROR(load(), ErrorKind::bad_file, "text.wav");
}

}  // namespace
}  // namespace regard::train
