// The run file: the configuration of `regard train` as structs with defaults. run_fields() is the only list
// of keys with units and meanings; --help-config prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/transformer.h"
#include "regard/error.h"
#include "train/field.h"
#include "train/lora_keys.h"
#include "train/optimization_config.h"
#include "train/sequence_keys.h"

namespace regard::train {

struct DataConfig {
  std::vector<std::string> train, valid;
  std::string format = "auto";
  std::vector<std::string> columns;
  double valid_fraction = 0.0;
  std::int64_t max_length = 256;
  std::string empty_lines = "skip", bad_utf8 = "refuse";
  bool header = false;
  bool normalize_whitespace = true;
  std::string delimiter, malformed = "refuse";
  double max_skipped = 1.0;
  std::vector<double> weights;
  // Format of the files of `valid`. "same" means the value of `format`.
  std::string valid_format = "same";
  std::vector<std::string> valid_columns;
  bool valid_header = false;
  std::string cache = "auto";
  std::int64_t preview = 0;
  std::string train_list;  // empty after read_run(), because data.train then contains the files of the list
  bool sharded = false;
  bool conversations = false;
  std::string chat_template;  // if empty: the chat template in the folder of model.from
};

struct TokenizerConfig {
  std::string type = "bpe";
  std::string file;
  std::int64_t vocab_size = 10000;
  bool joint = true;
  bool lower_case = false;
  std::int64_t min_frequency = 0, limit_alphabet = 0, max_piece_length = 0;
  double character_coverage = 1.0;
  std::string words = "auto";
};

struct ModelConfig {
  std::string family = "transformer";
  std::string from;
  std::string vectors;
  bool freeze_vectors = false;
  TransformerConfig transformer;
  SequenceKeys sequence;
};

struct LabelConfig {
  std::vector<std::string> names;
  std::string problem_type = "single_label_classification";
  std::string until;
  std::vector<double> weights;
  bool balance = false;
};

struct QuestionConfig {
  std::int64_t stride = 128, longest_answer = 30;
};

struct MaskingConfig {
  std::string unit = "word";
  double share = 0.15;
};

struct EmbeddingConfig {
  std::string loss = "ranking", distance = "euclidean", pooling = "mean";
  double scale = 20.0, margin = 5.0;
  bool normalize = true;
};

struct ImageConfig {
  std::int64_t size = 224, patch_size = 16;
  std::int64_t highest = 0;
  std::vector<double> mean{0.5, 0.5, 0.5}, deviation{0.5, 0.5, 0.5};
};

struct AugmentationConfig {
  double smallest_crop = 1.0, flip = 0.0, rotation = 0.0, zoom = 0.0, shift = 0.0, shear = 0.0;
};

struct SoundConfig {
  std::int64_t bins = 80, seconds = 30, patch_size = 16, patch_stride = 10, channels = 128, vocabulary = 320;
  double mask_frames = 0.0, mask_bins = 0.0;
  std::int64_t masked_frames = 10, masked_bins = 8;
};

struct TrainingConfig : OptimizationConfig {
  std::int64_t batch_tokens = 4096, batch_size = 12, context = 64;
  std::string bucketing = "length", windows = "random";
  std::int64_t accumulate = 1;
  std::string precision = "f32";
  bool gradient_checkpointing = false;
  std::int64_t max_steps = 0;
  double max_epochs = 0.0, max_minutes = 0.0;
  std::int64_t average_last = 0;
};

struct ValidationConfig {
  std::int64_t every_steps = 500;
  std::vector<std::string> metrics{"loss"};
  std::string best = "auto";
  std::int64_t patience = 0;
  std::int64_t beam = 4;
  double length_penalty = 1.0;
  std::int64_t max_sentences = 0;
  bool lower_case = false;
  std::int64_t samples = 3;
};

struct OutputConfig {
  std::string folder;
  std::int64_t checkpoint_every_steps = 0;
  std::int64_t keep = 2;
  std::int64_t log_every_steps = 50;
  bool tensorboard = false;
};

// Settings for several processes that train together (mpirun).
struct DistributedConfig {
  double timeout = 300.0;
  bool shard_optimizer = false;
};

struct RunConfig {
  std::string task = "translation";
  std::int64_t seed = 1;
  DataConfig data;
  TokenizerConfig tokenizer;
  ModelConfig model;
  LabelConfig labels;
  MaskingConfig masking;
  QuestionConfig questions;
  EmbeddingConfig embedding;
  ImageConfig images;
  AugmentationConfig augmentation;
  SoundConfig sound;
  TrainingConfig training;
  LoraKeys lora;
  ValidationConfig validation;
  OutputConfig output;
  DistributedConfig distributed;
  // `file` is the path of the run file. `given` contains each key that the file or an override sets, and its
  // location. Neither is saved.
  std::string file{};
  std::vector<GivenKey> given{};
  // For each file of data.train, the line of data.train_list that names the file; empty without a list. It is
  // not saved.
  std::vector<Place> train_places{};
  // Warnings about keys of the run file that have no effect because of an override, each with file and line.
  // They are not saved.
  std::vector<std::string> warnings{};

  bool wants(const std::string& metric) const;
  std::string best_metric() const;  // name of the metric that selects the best checkpoint
};

// Name of standard input in data.train and data.valid.
inline constexpr const char* kStandardInput = "-";

// Return the schema of run files. The targets of the fields point into `config`.
std::vector<Field> run_fields(RunConfig& config);

// Read a run file and apply overrides "section.key=value". If `path` is a run folder or its run.toml, set
// output.folder to this folder. Data paths are relative to the folder of the run file; output.folder is
// relative to the working directory. All paths in the result are absolute, and environment variables replace
// ${NAME} and ${NAME:-default}. Throws bad_file and usage as read_fields() and set_field() do. Throws
// bad_file if a variable has neither a value nor a default. Throws usage if an override has no effect, and
// bad_file if a key of the file has no effect. A key that has no effect because of an override is only a
// warning, and the keys of a run folder's run.toml are not checked.
RunConfig read_run(const std::string& path, const std::vector<std::string>& overrides = {});
// Prepare to resume a run of an earlier version: if its run.toml does not contain data.normalize_whitespace,
// set this key to false, because that version did not normalise white space.
void apply_older_rules(RunConfig& config, const std::string& run_toml);
// The same as read_run(), for the text of a run file; data paths are relative to the folder of `file`.
RunConfig parse_run(const std::string& text, const std::string& file,
                    const std::vector<std::string>& overrides = {});

// The files whose existence check_run() checks. `data`: only the data files, which is sufficient for a run
// that continues from a checkpoint; `all`: also tokenizer.file and model.vectors.
enum class RunFiles { all, data };
// Check the consistency of a configuration. Throws usage naming the key, and io if a file is missing or not a
// regular file.
void check_run(const RunConfig& config, RunFiles files = RunFiles::all);
// Throws io if file `index` of data.train is missing or not a regular file. With data.sharded, check_run()
// does not check these files, because a process needs only some of them.
void check_train_file(const RunConfig& config, std::size_t index);

// Return the location of the first key that an error message names in quotes (such as 'model.heads') and that
// the run file or an override sets. If there is no such key, return the run file.
Place place_of_key(const RunConfig& config, std::string_view message);
// Call work(). If it throws an Error without a file, add place_of_key() to the error and rethrow it.
template <class Work>
void with_place_of_key(const RunConfig& config, const Work& work) {
  try {
    work();
  } catch (Error& error) {
    if (error.file().empty()) error.at(place_of_key(config, error.what()));
    throw;
  }
}

// Throws usage if a sequence of the run may have more than `max_positions` tokens (0 means no limit). `whose`
// names the source of the limit in the message.
void check_positions(const RunConfig& config, std::int64_t max_positions, const std::string& whose);

std::string run_as_toml(const RunConfig& config);  // return the keys that have an effect, as TOML
// Return a commented run file of keys with their defaults: all keys, or those that named_fields() selects by
// `key`. Throws usage if there is no such key.
std::string help_config(const std::string& key = "");

// A key whose values differ between two configurations of a run; the values are in TOML syntax.
struct RunChange {
  std::string key, before, after;
  bool allowed = false;  // true if a resumed run may change this key

  std::string text() const { return key + " " + before + " → " + after; }
};
std::vector<RunChange> changes_between(const RunConfig& saved, const RunConfig& now);

}  // namespace regard::train
