// Tasks of sound: a step compared with transformers' classes, and runs from files to a model.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "run_case.h"
#include "support/golden.h"
#include "support/wav.h"
#include "task_step.h"
#include "train/task.h"
#include "train/training_context.h"
#include "train/validator.h"

namespace regard::train {
namespace {

using regard::testing::Golden;

// Return row `row` of the golden file's padded features as [frames, bins].
Tensor features_of(const Tensor& all, std::int64_t row, bool bins_first) {
  const std::int64_t rank = all.shape().rank(), a = all.shape()[1], b = rank == 2 ? 1 : all.shape()[2];
  Tensor one = bins_first ? Tensor::empty({b, a}) : Tensor::empty({a, b});
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t k = 0; k < b; ++k)
      (bins_first ? one.row(k)[i] : one.row(i)[k]) = all.f32()[(row * a + i) * b + k];
  return one;
}

std::unique_ptr<Network> model_of(const std::string& name) {
  return load_model(formats::ModelFolder::open(regard::testing::golden("hf-tiny/" + name)));
}

TEST(SoundStep, AudioClassificationIsThatOfTransformers) {
  RunConfig config;
  config.task = "audio-classification";
  const auto task = make_task(config);
  const auto model = model_of("ast");
  const Golden golden("hf-tiny", "ast");
  Batch batch;
  for (std::int64_t row = 0; row < 3; ++row) {
    const Tensor features = features_of(golden.tensor("input_values"), row, false);
    batch.add_input(features, model->input_spec().length_of(features), static_cast<std::uint64_t>(row));
    batch.labels.push_back(static_cast<std::int32_t>(golden.tensor("labels").i64()[row]));
  }
  expect_step(*task, *model, golden, batch);
}

TEST(SoundStep, WhispersLossIsThatOfTransformers) {
  RunConfig config;
  config.task = "speech-recognition";
  const auto task = make_task(config);
  const auto model = model_of("whisper");
  const Golden golden("hf-tiny", "whisper");
  const Tensor labels = golden.tensor("labels"), inputs = golden.tensor("decoder_input_ids");
  Batch batch;
  for (std::int64_t row = 0; row < 2; ++row) {
    const Tensor features = features_of(golden.tensor("input_features"), row, true);
    batch.add_source_input(features, model->input_spec().length_of(features),
                           static_cast<std::uint64_t>(row));
    std::vector<std::int32_t> target;
    for (std::int64_t i = 0; i < labels.shape()[1]; ++i)
      target.push_back(static_cast<std::int32_t>(labels.i64()[row * labels.shape()[1] + i]));
    batch.add_target(target, static_cast<std::int32_t>(inputs.i64()[row * inputs.shape()[1]]),
                     static_cast<std::uint64_t>(row));
  }
  for (std::int64_t i = 0; i < inputs.elements(); ++i)
    batch.ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(inputs.i64()[i]);
  expect_step(*task, *model, golden, batch);
}

std::string wav_of(const std::vector<double>& samples) {
  std::vector<std::int16_t> values;
  for (const double sample : samples) values.push_back(static_cast<std::int16_t>(30000.0 * sample));
  return regard::testing::wav_file(values);
}

// Write tones of three pitches; each pitch has a word.
void write_tones(const fs::path& folder, const std::string& name, int rows, int most_words) {
  constexpr const char* kWords[] = {"low", "mid", "high"};
  constexpr double kPitches[] = {250.0, 800.0, 2600.0};
  RandomStream random({3, static_cast<std::uint64_t>(rows), 0});
  std::string table;
  for (int row = 0; row < rows; ++row) {
    std::vector<double> samples;
    std::string text;
    for (std::uint64_t left = 1 + random.next_below(static_cast<std::uint64_t>(most_words)); left > 0;
         --left) {
      const std::size_t word = random.next_below(3);
      text += (text.empty() ? "" : " ") + std::string(kWords[word]);
      const double pitch = kPitches[word] * (0.9 + 0.2 * static_cast<double>(random.next_uniform()));
      for (int i = 0; i < 4000; ++i)
        samples.push_back((i < 3200 ? 0.5 * std::sin(2.0 * M_PI * pitch * i / 16000.0) : 0.0) +
                          0.01 * random.next_normal());
    }
    const std::string file = name + std::to_string(row) + ".wav";
    regard::testing::write_file(folder, file, wav_of(samples));
    table += file + "\t" + text + "\n";
  }
  regard::testing::write_file(folder, name + ".tsv", table);
}

class SoundRun : public RunCase {
 protected:
  void write(const std::string& task, const std::string& model, int most_words) {
    write_tones(folder.path(), "train", 24, most_words);
    write_tones(folder.path(), "valid", 6, most_words);
    regard::testing::write_file(folder.path(), "run.toml", "task = \"" + task + R"("
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
[model]
hidden_size = 16
heads = 2
feed_forward_size = 32
activation = "gelu"
dropout = 0.1
)" + model + R"(
[training]
learning_rate = 3e-3
batch_size = 6
accumulate = 2
max_steps = 12
[validation]
every_steps = 6
[output]
folder = "run"
checkpoint_every_steps = 3
)");
  }

  // Expect the same weights for several numbers of threads, and after a kill and a resume.
  void expect_bits() {
    ASSERT_EQ(train({"-t", "1"}).exit_code, 0);
    for (const char* threads : {"2", "3"}) {
      const ProgramResult result = train({"-t", threads, "--set", std::string("output.folder=t") + threads});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_NE(result.err.find("features: read from"), std::string::npos) << result.err;
      EXPECT_EQ(weights("run"), weights(std::string("t") + threads)) << threads;
    }
    const std::vector<std::string> killed{"--set", "output.folder=killed"};
    train_until(killed, "killed/log.jsonl", SIGKILL);
    const ProgramResult resumed = run_program({"train", "--resume", "killed"}, folder.path());
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(weights("run"), weights("killed"));
  }
};

TEST_F(SoundRun, AudioClassification) {
  write("audio-classification", R"(family = "audio-spectrogram-transformer"
layers = 1
[sound]
seconds = 1
bins = 32
patch_size = 16
patch_stride = 16
mask_frames = 0.2
mask_bins = 0.2)",
        1);
  expect_bits();
  const ProgramResult learned =
      train({"--set", "output.folder=long", "--set", "training.max_steps=120", "--set",
             "validation.metrics=[\"loss\", \"accuracy\"]", "--set", "validation.every_steps=0"});
  ASSERT_EQ(learned.exit_code, 0) << learned.err;
  const ProgramResult evaluated = run_program({"evaluate", "long", "valid.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json scores = Json::parse(evaluated.out);
  EXPECT_EQ(scores["accuracy"], 1.0) << evaluated.out;
  const ProgramResult classified = run_program({"classify", "long", "valid0.wav"}, folder.path());
  ASSERT_EQ(classified.exit_code, 0) << classified.err;
  const std::string table = file_content(folder / "valid.tsv");
  EXPECT_NE(classified.out.find(table.substr(11, table.find('\n') - 11)), std::string::npos)
      << classified.out;
  expect_weighted_tables({"sound.mask_frames=0", "sound.mask_bins=0", "training.max_steps=4"});
  // Start from the model with a new head for other labels, without a cache.
  const ProgramResult from = train({"--set", "model.from=long", "--set", "output.folder=from", "--set",
                                    "data.cache=never", "--set", "training.max_steps=2"});
  ASSERT_EQ(from.exit_code, 0) << from.err;
}

TEST_F(SoundRun, AudioClassificationOverTheSamples) {
  write("audio-classification", R"(family = "wav2vec2"
layers = 1
[sound]
seconds = 1
channels = 8)",
        1);
  expect_bits();
  EXPECT_EQ(read_json((folder / "run/latest/config.json").string())["architectures"],
            Json{"Wav2Vec2ForSequenceClassification"});
  const ProgramResult classified = run_program({"classify", "run", "valid0.wav"}, folder.path());
  ASSERT_EQ(classified.exit_code, 0) << classified.err;
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_TRUE(Json::parse(evaluated.out).contains("accuracy")) << evaluated.out;
  const std::vector<std::string> again{"--set", "model.from=run",      "--set", "output.folder=from",
                                       "--set", "training.max_steps=2"};
  const ProgramResult from = train(again);
  ASSERT_EQ(from.exit_code, 0) << from.err;
  std::vector<std::string> masked = again;
  masked.insert(masked.end(), {"--set", "sound.mask_frames=0.2", "--set", "output.folder=masked"});
  const ProgramResult refused = train(masked);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("expected a model that reads mel features"), std::string::npos) << refused.err;
}

// The longest sound, not the first one, determines how many sounds a validation computes at once.
TEST_F(SoundRun, AShortFirstSoundDoesNotIncreaseTheMemoryOfAValidation) {
  write("audio-classification", R"(family = "wav2vec2"
layers = 1
[sound]
seconds = 3
channels = 8)",
        1);
  std::vector<double> samples(48000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 0.5 * std::sin(static_cast<double>(i));
  regard::testing::write_file(folder.path(), "long.wav", wav_of(samples));
  samples.resize(1600);
  regard::testing::write_file(folder.path(), "short.wav", wav_of(samples));
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += "long.wav\tlow\n";
  const std::string short_row = "short.wav\tlow\n";
  ThreadPool pool(2);
  std::vector<std::size_t> touched;
  for (const std::string& table : {short_row + rows, rows + short_row, rows + rows}) {
    fs::remove(folder / "valid.tsv");
    regard::testing::write_file(folder.path(), "valid.tsv", table);
    const RunConfig config = read_run((folder / "run.toml").string(), {"data.cache=never"});
    TrainingContext context(config, pool);
    validate(context, {});
    touched.push_back(context.trainer->arena().touched());
  }
  EXPECT_NEAR(static_cast<double>(touched[0]) / static_cast<double>(touched[1]), 1.0, 0.1);
  EXPECT_NEAR(static_cast<double>(touched[2]) / static_cast<double>(touched[1]), 1.0, 0.1);
}

TEST_F(SoundRun, SpeechRecognitionByWhisper) {
  write("speech-recognition", R"(family = "whisper"
encoder_layers = 1
decoder_layers = 1
[sound]
seconds = 1
bins = 16
vocabulary = 270
mask_frames = 0.1)",
        3);
  expect_bits();
  const ProgramResult result =
      run_program({"transcribe", "run", "valid0.wav", "--format", "tsv", "--no-fallback", "--no-speech", "1"},
                  folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("start\tend\ttext\n")) << result.out;
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_TRUE(Json::parse(evaluated.out).contains("wer")) << evaluated.out;
  const ProgramResult from =
      train({"--set", "model.from=run", "--set", "output.folder=from", "--set", "training.max_steps=2"});
  ASSERT_EQ(from.exit_code, 0) << from.err;
}

TEST_F(SoundRun, SpeechRecognitionByCtc) {
  write("speech-recognition", R"(family = "wav2vec2"
layers = 1
[sound]
seconds = 1
channels = 8)",
        2);
  expect_bits();
  const ProgramResult result = run_program({"transcribe", "run", "valid0.wav"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.tsv"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_NE(evaluated.out.find("CER"), std::string::npos) << evaluated.out;
  const ProgramResult from = train({"--set", "model.from=run", "--set", "output.folder=from", "--set",
                                    "training.label_smoothing=0.1", "--set", "validation.beam=2"});
  ASSERT_EQ(from.exit_code, 0) << from.err;
  for (const char* key : {"'training.label_smoothing' has no effect", "'validation.beam' has no effect"})
    EXPECT_NE((from.out + from.err).find(key), std::string::npos) << from.out << from.err;
  expect_weighted_tables({"training.max_steps=4"});
}

TEST_F(SoundRun, SoundsOfBothSplitsAreReported) {
  for (const char* task : {"audio-classification", "speech-recognition"}) {
    write(task, "family = \"wav2vec2\"\nlayers = 1\n[sound]\nseconds = 1\nchannels = 8", 1);
    EXPECT_EQ(train({"--dry-run"}).err.find("duplicates"), std::string::npos) << task;
    const std::string table = file_content(folder / "train.tsv");
    const std::string row = "./" + table.substr(0, table.find('\n') + 1);
    regard::testing::write_file(folder.path(), "valid.tsv", file_content(folder / "valid.tsv") + row);
    const ProgramResult result = train({"--set", "training.max_steps=1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("duplicates: 1 of 7 validation records are also in the training data"),
              std::string::npos)
        << result.err;
    std::filesystem::remove_all(folder / "run");
  }
}

// The base model is needed to start a run, not to resume it.
TEST_F(SoundRun, AFineTunedRunGoesOnWithoutTheModelItBeganWith) {
  for (const char* model : {"family = \"wav2vec2\"\nlayers = 1\n[sound]\nseconds = 1\nchannels = 8",
                            "family = \"whisper\"\nencoder_layers = 1\ndecoder_layers = 1\n[sound]\n"
                            "seconds = 1\nbins = 16\nvocabulary = 270"}) {
    for (const char* name : {"run", "long", "base"}) fs::remove_all(folder / name);
    write("speech-recognition", model, 2);
    const auto tune = [&](const std::string& name, const char* steps) {
      return train({"--set", "model.from=base", "--set", "output.folder=" + name, "--set",
                    std::string("training.max_steps=") + steps});
    };
    ASSERT_EQ(train({"--set", "output.folder=base", "--set", "training.max_steps=2"}).exit_code, 0);
    ASSERT_EQ(tune("run", "2").exit_code, 0);
    ASSERT_EQ(tune("long", "4").exit_code, 0);
    fs::remove_all(folder / "base");
    const ProgramResult result =
        run_program({"train", "--resume", "run", "--set", "training.max_steps=4"}, folder.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(weights("run"), weights("long"));
    EXPECT_EQ(file_content(folder / "run/latest/tokenizer_config.json"),
              file_content(folder / "long/latest/tokenizer_config.json"));
  }
}

TEST_F(SoundRun, BadDataIsNamedWithItsRow) {
  write("audio-classification", R"(family = "audio-spectrogram-transformer"
layers = 1
[sound]
seconds = 1
bins = 32)",
        1);
  regard::testing::write_file(folder.path(), "train.tsv", "train0.wav\tlow\nmissing.wav\thigh\n");
  ProgramResult result = train();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("train.tsv:2: the sound file does not exist (found \"missing.wav\")"),
            std::string::npos)
      << result.err;
  regard::testing::write_file(folder.path(), "text.wav", "no sound");
  regard::testing::write_file(folder.path(), "train.tsv", "train0.wav\tlow\ntext.wav\thigh\n");
  result = train();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("text.wav"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// The CTC loss of a batch equals the loss in transformers with the reduction "sum", also with convolutions
// after the encoder.
class CtcStep : public SoundRun, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Folders, CtcStep, ::testing::Values("wav2vec2", "wav2vec2-downsampled-ctc"));

TEST_P(CtcStep, LossIsThatOfTransformers) {
  write_tones(folder.path(), "train", 2, 1);
  RunConfig config;
  config.task = "speech-recognition";
  config.model.family = "wav2vec2";
  config.data.train = config.data.valid = {(folder / "train.tsv").string()};
  config.data.columns = {"1", "2"};
  const auto task = make_task(config);
  task->read();
  const auto model = model_of(GetParam());
  const Golden golden("hf-tiny", GetParam());
  const Tensor labels = golden.tensor("labels");
  Batch batch;
  for (std::int64_t row = 0; row < 2; ++row) {
    const Tensor features = features_of(golden.tensor("input_values"), row, false);
    batch.add_input(features, model->input_spec().length_of(features), static_cast<std::uint64_t>(row));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < labels.shape()[1]; ++i)
      if (const auto label = labels.i64()[row * labels.shape()[1] + i]; label >= 0)
        batch.labels.push_back(static_cast<std::int32_t>(label)), ++count;
    batch.source.add(count, static_cast<std::uint64_t>(row));
  }
  model->set_trainable(true);
  model->clear_gradients();
  ThreadPool pool(2);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  Var loss = task->loss(*model, tape, batch, {});
  const float expected = golden.tensor("loss").f32()[0];
  EXPECT_NEAR(loss->value.f32()[0], expected, 1e-5 * static_cast<double>(expected));
  tape.backward(loss);
  std::map<std::string, const Parameter*> parameters;
  for (const Parameter* parameter : model->parameters()) parameters[parameter->name] = parameter;
  std::size_t compared = 0;
  for (const auto& entry : golden.entries()) {
    if (!entry.name.starts_with("grad.")) continue;
    const auto found = parameters.find(entry.name.substr(5));
    ASSERT_NE(found, parameters.end()) << entry.name;
    regard::testing::expect_gradient(found->second->gradient(), golden.tensor(entry.name), entry.name);
    ++compared;
  }
  EXPECT_GE(compared, 40u);
}

}  // namespace
}  // namespace regard::train
