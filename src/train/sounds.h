// The sounds of a run: rows of the data, each with a path and a text, and the model input computed from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "data/feature_cache.h"
#include "data/sound_processor.h"
#include "data/sound_rows.h"
#include "data/spec_augment.h"
#include "formats/model_folder.h"
#include "models/model_input.h"
#include "train/corpora.h"
#include "train/run_config.h"

namespace regard::train {

using data::SoundRow;

struct SoundRows {
  std::vector<SoundRow> rows;
  data::CorpusReport report;  // report on the files that contain the rows
};

struct SoundSplit {
  SoundRows train, valid;  // the reports are equal if data.valid is not set
  // message about rows of data.valid whose sound file and text are also in the training data; may be ""
  std::string duplicates;
};
// Read data.train and data.valid. Without data.valid, data.valid_fraction of the sounds is held out by a hash
// of their path. Throws as RecordReader does. A row without a path, or whose sound file does not exist, is
// treated as data.malformed says: it is skipped and counted, or bad_file is thrown.
SoundSplit read_sounds(const RunConfig& config);

// Throws usage if data.train or data.valid does not have two columns (or two line-aligned files). `columns`
// describes the expected columns for messages.
void check_sounds(const RunConfig& config, const char* columns);

// Check the configuration of a model that reads samples instead of mel features. Throws usage if the masks of
// SpecAugment are set.
void refuse_feature_masks(const SoundConfig& sound);

// Sound preprocessing of a run. A new model uses the settings in [sound]; any other model uses the settings
// in its model folder.
class SoundInput {
 public:
  explicit SoundInput(const RunConfig& config);
  // Use the folder's preprocessor_config.json. Throws usage if the model does not read sound, or if the file
  // and the model have different feature sizes.
  void take(const formats::ModelFolder& folder, const InputSpec& spec);

  const data::SoundProcessor& processor() const { return processor_; }
  // Return names and contents of the files to save in checkpoints: preprocessor_config.json.
  std::vector<std::pair<std::string, std::string>> files() const;

 private:
  data::SoundProcessor processor_;
};

// Treatment of a sound that is longer than the model's window or than sound.seconds.
enum class TooLong { cut, skip };

// The features of the training or validation sounds. They are computed once and cached next to the run folder
// (data.cache).
class Sounds {
 public:
  // Compute the features or read them from the cache, and append messages to `notes`. Sounds without samples
  // are left out; with TooLong::skip, sounds that are too long are left out as well. A sound that cannot be
  // read is skipped and counted if data.malformed is "skip"; otherwise, throws io or bad_file with the
  // sound's path. Throws bad_file if too many rows are skipped (data.max_skipped).
  void load(SoundRows sounds, const SoundInput& input, const RunConfig& config, TooLong too_long,
            ThreadPool& pool, std::vector<std::string>& notes);

  std::size_t size() const { return rows_.size(); }
  std::int64_t frames(std::size_t i) const { return store_.rows(i); }
  const SoundRow& row(std::size_t i) const { return rows_[i]; }
  Tensor features(std::size_t i) const { return store_.features(i); }  // [frames, bins]
  // Return the features after SpecAugment. The result depends only on the features, [sound], the seed, the
  // epoch and i.
  Tensor augmented(std::size_t i, const RunConfig& config, std::uint64_t epoch) const;
  double seconds(std::size_t i) const { return seconds_[i]; }  // length of the sound in seconds
  // hash of the sound files, their texts and the settings of the preprocessing
  std::uint64_t fingerprint() const { return fingerprint_; }
  // number of rows that were left out, because they have no samples or are too long
  std::int64_t left_out() const { return left_out_; }
  // report on the files that contain the rows, including rows whose sound cannot be read
  const data::CorpusReport& report() const { return report_; }

 private:
  bool open(const std::filesystem::path& folder, std::uint64_t key, std::vector<std::string>& notes);

  std::vector<SoundRow> rows_;
  std::vector<double> seconds_;
  data::FeatureStore store_;
  std::uint64_t fingerprint_ = 0;
  std::int64_t left_out_ = 0;
  data::CorpusReport report_;
};

}  // namespace regard::train
