#include "train/sounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/counted.h"
#include "base/hash.h"
#include "base/placed.h"
#include "base/plain_text.h"
#include "data/duplicates.h"
#include "data/sound.h"
#include "data/token_cache.h"
#include "train/corpora_tokens.h"
#include "train/sound_families.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

SoundRow row_of(const RecordReader& records) {
  SoundRow row;
  row.name = records.texts().at(0), row.text = records.texts().at(1), row.place = records.place();
  row.source = records.corpus();
  if (is_blank(row.name))
    throw file_error(row.place.file, "the row has no path of an audio file")
        .at(row.place)
        .remedy("Add the path, or remove the row");
  const fs::path path(row.name);
  row.file = path.is_absolute() ? path : fs::path(row.place.file).parent_path() / path;
  std::error_code ignored;
  if (!fs::is_regular_file(row.file, ignored))
    throw file_error(row.place.file, "the sound file does not exist")
        .at(row.place)
        .found("\"" + row.name + "\"")
        .remedy("Paths are relative to the folder of the table");
  return row;
}

// Append each row of `files` to `held_out` if data.valid_fraction assigns it to validation, otherwise to
// `kept`. Depending on data.malformed, a row without a sound file is an error, or skipped and counted.
data::CorpusReport read_rows(const RunConfig& config, const std::vector<std::string>& files,
                             std::vector<SoundRow>& kept, std::vector<SoundRow>& held_out) {
  RecordReader records(config, files);
  data::CorpusReport without_sound;
  while (records.next()) {
    const bool readable = without_sound.read_or_skip(faulty(config.data.malformed), records, [&] {
      SoundRow row = row_of(records);
      (records.held_out() ? held_out : kept).push_back(std::move(row));
    });
    if (!readable) --without_sound.records;  // the report of `records` counts the row too
  }
  data::CorpusReport report = records.report();
  report.add(without_sound);
  report.refuse_more_than(config.data.max_skipped, "data.max_skipped");
  return report;
}

// Return at most `most` + 1 samples of a sound, at `rate` samples per second.
std::vector<float> samples_of(const SoundRow& row, std::int64_t rate, std::size_t most) {
  return placed(row.place, [&] {
    data::SoundStream stream(row.file, rate);
    std::vector<float> sound, piece(std::size_t{1} << 15);
    for (std::size_t got = piece.size(); got == piece.size() && sound.size() <= most;) {
      got = stream.read(std::span(piece).first(std::min(piece.size(), most + 1 - sound.size())));
      sound.insert(sound.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
      if (sound.size() > most) break;
    }
    return sound;
  });
}

// Return the maximum number of samples of a sound.
std::size_t most_samples(const data::SoundProcessor& processor, const RunConfig& config) {
  const bool samples = processor.kind == data::SoundProcessor::Kind::samples;
  const double seconds = samples ? static_cast<double>(config.sound.seconds) : processor.most_seconds();
  return static_cast<std::size_t>(seconds * static_cast<double>(processor.rate));
}

// Return the number of samples of each sound, at most `most` + 1. Depending on data.malformed, a sound that
// cannot be read is an error, or its row is removed and counted.
std::vector<std::size_t> lengths_of(SoundRows& sounds, std::int64_t rate, std::size_t most,
                                    const RunConfig& config) {
  std::vector<std::size_t> lengths;
  std::vector<SoundRow> readable;
  for (SoundRow& row : sounds.rows) {
    try {
      lengths.push_back(samples_of(row, rate, most).size());
    } catch (const Error& error) {
      const bool unreadable = error.kind() == ErrorKind::bad_file || error.kind() == ErrorKind::io;
      if (faulty(config.data.malformed) != data::Faulty::skip || !unreadable) throw;
      --sounds.report.records;
      sounds.report.skip(data::SkipReason::malformed, row.place, error.message());
      continue;
    }
    readable.push_back(std::move(row));
  }
  sounds.rows = std::move(readable);
  sounds.report.refuse_more_than(config.data.max_skipped, "data.max_skipped");
  return lengths;
}

// Return a hash of everything on which the features of the rows depend.
std::uint64_t content_of(const std::vector<SoundRow>& rows, const data::SoundProcessor& processor,
                         std::size_t most, TooLong too_long) {
  std::uint64_t hash = xxh3(Json{
      {"processor", processor.to_json()},
      {"most", most},
      {"skip", too_long == TooLong::skip},
      {"sounds", rows.size()}}.dump());
  for (const SoundRow& row : rows)
    hash = hash * 3 + placed(row.place, [&] { return data::content_hash(row.file); });
  return hash;
}

std::string duplicates_of(const SoundSplit& split) {
  const auto keys_of = [](const SoundRow& row) {
    return std::array{row.file.lexically_normal().string(), row.text};
  };
  data::SplitDuplicates duplicates;
  for (const SoundRow& row : split.valid.rows) duplicates.add_validation(keys_of(row), row.place);
  for (const SoundRow& row : split.train.rows) duplicates.check_training(keys_of(row), row.place);
  return duplicates.text();
}

fs::path cache_folder(const RunConfig& config, std::uint64_t key) {
  return fs::path(config.output.folder).parent_path() / "feature-cache" / hex(key);
}

}  // namespace

SoundSplit read_sounds(const RunConfig& config) {
  SoundSplit split;
  split.train.report = split.valid.report =
      read_rows(config, config.data.train, split.train.rows, split.valid.rows);
  if (config.data.valid.empty()) return split;
  split.valid.report = read_rows(config, config.data.valid, split.valid.rows, split.valid.rows);
  split.duplicates = duplicates_of(split);
  return split;
}

void check_sounds(const RunConfig& config, const char* columns) {
  for (const auto* files : {&config.data.train, &config.data.valid}) {
    if (files->empty()) continue;
    const bool table = data::has_columns(corpus_format(config, files->front()));
    const std::size_t count = table ? corpus_columns(config, files->front()).size() : files->size();
    if (count != 2)
      throw usage_error(
          fmt::format("the data of the task '{}' must have two parts: {}", config.task, columns))
          .found(counted(count, table ? "column" : "file"))
          .expected(table ? "2 columns, such as columns = [1, 2]" : "2 line-aligned files");
  }
}

void refuse_feature_masks(const SoundConfig& sound) {
  if (sound.mask_frames > 0.0 || sound.mask_bins > 0.0)
    throw usage_error(
        "'sound.mask_frames' and 'sound.mask_bins' cannot be used with a model that reads samples")
        .found("wav2vec2")
        .expected("a model that reads mel features");
}

SoundInput::SoundInput(const RunConfig& config) {
  using Kind = data::SoundProcessor::Kind;
  const SoundConfig& sound = config.sound;
  const std::string& family = config.model.family;
  processor_.kind = family == "wav2vec2"                        ? Kind::samples
                    : family == "audio-spectrogram-transformer" ? Kind::ast
                                                                : Kind::whisper;
  processor_.bins = processor_.kind == Kind::samples ? 1 : sound.bins;
  processor_.samples = sound.seconds * processor_.rate;
  processor_.frames = sound.seconds * kMelFramesPerSecond;
  processor_.normalise = processor_.kind != Kind::whisper;
}

void SoundInput::take(const formats::ModelFolder& folder, const InputSpec& spec) {
  spec.require(InputKind::features);
  processor_ = data::SoundProcessor::open(folder.path, spec.shape[0], spec.shape[1]);
  using Kind = data::SoundProcessor::Kind;
  const std::int64_t frames = processor_.kind == Kind::whisper ? processor_.samples / processor_.hop
                              : processor_.kind == Kind::ast   ? processor_.frames
                                                               : 0;  // no limit on the number of frames
  if (frames == spec.shape[0] && processor_.bins == spec.shape[1]) return;
  throw usage_error("the feature size in preprocessor_config.json differs from that of the model")
      .found(fmt::format("{} frames of {} bins", frames, processor_.bins))
      .expected(fmt::format("{} frames of {} bins", spec.shape[0], spec.shape[1]));
}

std::vector<std::pair<std::string, std::string>> SoundInput::files() const {
  return {{"preprocessor_config.json", processor_.to_json().dump(2) + "\n"}};
}

void Sounds::load(SoundRows sounds, const SoundInput& input, const RunConfig& config, TooLong too_long,
                  ThreadPool& pool, std::vector<std::string>& notes) {
  const data::SoundProcessor& processor = input.processor();
  const std::size_t most = most_samples(processor, config);
  // Read every sound, because the cache contains neither the lengths of the sounds nor a list of the sounds
  // that are left out.
  const std::vector<std::size_t> lengths = lengths_of(sounds, processor.rate, most, config);
  const std::uint64_t key = content_of(sounds.rows, processor, most, too_long);
  report_ = std::move(sounds.report);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0 || (lengths[i] > most && too_long == TooLong::skip)) {
      ++left_out_;
      continue;
    }
    SoundRow& row = sounds.rows[i];
    fingerprint_ = fingerprint_ * 3 + xxh3(row.text);
    seconds_.push_back(static_cast<double>(std::min(lengths[i], most)) / static_cast<double>(processor.rate));
    rows_.push_back(std::move(row));
  }
  fingerprint_ = fingerprint_ * 3 + key;
  store_ = data::FeatureStore(processor.bins);
  const auto make = [&](auto& to) {
    for (const SoundRow& row : rows_) {
      std::vector<float> samples = samples_of(row, processor.rate, most);
      samples.resize(std::min(samples.size(), most));
      to.add(processor.apply(pool, samples));
    }
  };
  if (rows_.empty() || config.data.cache == "never" || config.output.folder.empty()) return make(store_);
  const fs::path folder = cache_folder(config, key);
  if (open(folder, key, notes)) return notes.push_back("features: read from " + folder.string());
  if (config.data.cache == kReadCache) return make(store_);
  if (fs::exists(folder)) remove_folder(folder);  // the cache is damaged, so remove it
  if (fs::exists(folder.parent_path())) remove_leftovers(folder.parent_path());
  data::FeatureCacheWriter writer(folder, key, processor.bins);
  make(writer);
  try {
    writer.commit();
  } catch (const Error& error) {
    // An error of kind usage means that another run has created the same cache in the meantime.
    if (error.kind() != ErrorKind::usage) throw;
  }
  if (!open(folder, key, notes))
    throw io_error(folder, "cannot open the cache of features that was just written", EIO);
  notes.push_back("features: written to " + folder.string());
}

// Read the cache if it exists and is not damaged.
bool Sounds::open(const fs::path& folder, std::uint64_t key, std::vector<std::string>& notes) {
  std::string fault;
  std::optional<data::FeatureStore> found =
      data::open_feature_cache(folder, key, store_.columns(), rows_.size(), fault);
  if (!fault.empty()) notes.push_back("features: the cache is damaged: " + fault);
  if (found) store_ = std::move(*found);
  return found.has_value();
}

Tensor Sounds::augmented(std::size_t i, const RunConfig& config, std::uint64_t epoch) const {
  Tensor features = store_.features(i);
  const SoundConfig& sound = config.sound;
  data::spec_augment(
      features,
      {.frames = {.share = sound.mask_frames, .length = sound.masked_frames},
       .bins = {.share = sound.mask_bins, .length = sound.masked_bins}},
      {static_cast<std::uint64_t>(config.seed), epoch * rows_.size() + i, place_of("sound.spec_augment")});
  return features;
}

}  // namespace regard::train
