// Training of a wav2vec 2.0 folder whose output has fewer frames than its encoder has positions
// (add_adapter).
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/bf16.h"
#include "models/weights.h"
#include "ops/ctc_loss.h"
#include "ops/tape.h"
#include "run_case.h"
#include "support/shared_data.h"
#include "support/wav.h"
#include "tensor/arena.h"

namespace regard::train {
namespace {

class DownsampledSpeech : public RunCase {
 protected:
  DownsampledSpeech() {
    const auto from = regard::testing::golden("hf-tiny/wav2vec2-downsampled-ctc");
    fs::create_directory(folder / "model");
    for (const char* file : {"config.json", "model.safetensors", "preprocessor_config.json"})
      fs::copy(from / file, folder / "model" / file);
    for (const double pitch : {250.0, 800.0}) {
      std::vector<std::int16_t> samples;
      for (int i = 0; i < 3200; ++i)
        samples.push_back(static_cast<std::int16_t>(9000.0 * std::sin(2.0 * M_PI * pitch * i / 16000.0)));
      regard::testing::write_file(folder.path(), pitch < 500.0 ? "low.wav" : "high.wav",
                                  regard::testing::wav_file(samples));
    }
    std::string rows;
    for (int i = 0; i < 4; ++i) rows += "low.wav\tlow\nhigh.wav\thigh\n";
    // 3200 samples give 319 positions and 107 frames, too few for 150 labels
    std::string text;
    for (int i = 0; i < 75; ++i) text += "lo";
    regard::testing::write_file(folder.path(), "train.tsv", rows + "low.wav\t" + text + "\n");
    regard::testing::write_file(folder.path(), "valid.tsv", rows);
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "speech-recognition"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
max_length = 200
[model]
from = "model"
[training]
learning_rate = 3e-3
batch_size = 4
max_steps = 4
[validation]
every_steps = 2
metrics = ["loss", "cer"]
[output]
folder = "run"
)");
  }
};

TEST_F(DownsampledSpeech, TrainsWithTheSameBitsForAnyNumberOfThreads) {
  const ProgramResult first = train({"-t", "1"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.err.find("training: 8 sounds"), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("skipped 1 with a text that is empty, or too long for the sound"),
            std::string::npos)
      << first.err;
  const ProgramResult second = train({"-t", "3", "--set", "output.folder=other"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(weights("run"), weights("other"));
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["rows"], 8) << evaluated.out;
}

TEST_F(DownsampledSpeech, RecomputedLayersGiveTheSameBits) {
  ASSERT_EQ(train().exit_code, 0);
  const ProgramResult recomputed =
      train({"--set", "training.gradient_checkpointing=true", "--set", "output.folder=recomputed"});
  ASSERT_EQ(recomputed.exit_code, 0) << recomputed.err;
  EXPECT_EQ(weights("run"), weights("recomputed"));
}

// The emulation of the bf16 instructions runs on every machine.
TEST_F(DownsampledSpeech, TheLossInBf16IsNear) {
  const auto model = load_model(formats::ModelFolder::open(folder / "model"));
  model->set_trainable(true);
  ThreadPool pool(2);
  Arena arena;
  const auto loss = [&](kernels::Precision precision) {
    Tape tape(pool, arena);
    model->clear_gradients();
    tape.begin({.record = true, .training = true, .precision = precision});
    Tensor samples = Tensor::empty({400, 1});
    for (int i = 0; i < 400; ++i) samples.f32()[i] = static_cast<float>(std::sin(0.3 * i));
    InputBuffer buffer;
    const ModelInput input(samples);
    buffer.add(input, model->input_spec().length_of(input), 0);
    const InputBatch batch = buffer.batch();
    Var logits = model->head(tape, model->encode(tape, batch), batch);
    const std::vector<std::int32_t> labels{3, 4, 5}, ends{0, 3};
    Var sum = ops::ctc_loss(tape, logits, model->output_shape(tape, batch.shape).offsets, labels, ends, {});
    tape.backward(sum);
    return static_cast<double>(sum->value.f32()[0]);
  };
  const double expected = loss(kernels::Precision::f32);
  kernels::set_bf16_path(kernels::Bf16Path::emulated);
  const double rounded = loss(kernels::Precision::bf16);
  kernels::reset_bf16_path();
  EXPECT_NE(rounded, expected);
  EXPECT_NEAR(rounded, expected, 0.03 * expected);
}

}  // namespace
}  // namespace regard::train
