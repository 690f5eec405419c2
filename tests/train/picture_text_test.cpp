// The tasks "captioning" and "contrastive": steps equal to transformers', learning, equal bits, resuming, use
// of the results.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <sstream>

#include "run_case.h"
#include "task_step.h"
#include "tiny_pictures.h"
#include "train/training_context.h"
#include "train/validator.h"

namespace regard::train {
namespace {

class PicturesAndTexts : public RunCase, public ::testing::WithParamInterface<const char*> {
 protected:
  PicturesAndTexts() {
    testing_task::write_pictures(folder.path(), "train", 1, 160);
    testing_task::write_pictures(folder.path(), "valid", 2, 24);
    // Use four pairs with distinct texts, because validation searches pictures by texts.
    RandomStream random({5, 0, 0});
    std::string rows;
    for (int corner = 0; corner < 4; ++corner) {
      const std::string file = "four/" + std::to_string(corner) + ".pgm";
      regard::testing::write_file(folder.path(), file,
                                  "P5 12 12 255\n" + testing_task::corner_pixels(corner, random));
      rows += file + "\t" + testing_task::kCorners[corner] + "\n";
    }
    regard::testing::write_file(folder.path(), "four.tsv", rows);
  }
  void write(const std::string& task) {
    const bool captions = task == "captioning";
    fs::remove(folder / "run.toml");
    regard::testing::write_file(
        folder.path(), "run.toml",
        "task = \"" + task + R"("
[data]
train = ["train.tsv"]
columns = [1, 2]
max_length = 8
)" + (captions ? "valid = [\"valid.tsv\"]\n" : "valid = [\"four.tsv\"]\n") +
            R"(
[tokenizer]
type = "word"
[images]
size = 12
patch_size = 4
[augmentation]
shift = 0.05
[model]
hidden_size = 32
heads = 2
feed_forward_size = 32
activation = "gelu"
)" +
            (captions ? "family = \"vision-encoder-decoder\"\nencoder_layers = 1\ndecoder_layers = 1\n"
                      : "family = \"clip\"\nlayers = 1\n") +
            R"([training]
learning_rate = 3e-3
schedule = "constant"
batch_size = 8
accumulate = 2
max_steps = 30
[validation]
every_steps = 15
metrics = [)" +
            (captions ? "\"exact_match\", \"bleu\", \"loss\"" : "\"recall_at_1\", \"mrr\", \"loss\"") +
            R"(]
[output]
folder = "run"
checkpoint_every_steps = 7
log_every_steps = 5
)");
  }
  RunConfig config() { return read_run((folder / "run.toml").string()); }
  double last(const std::string& metric) {
    double value = -1;
    for (const Json& line : log("run"))
      if (line.contains("validation")) value = line["validation"][metric];
    return value;
  }
};

TEST_P(PicturesAndTexts, ThreadsDoNotChangeABit) {
  write(GetParam());
  for (const char* threads : {"1", "2", "3"}) {
    const ProgramResult result = train({"-t", threads, "--set", std::string("output.folder=") + threads});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(weights("1"), weights("2"));
  EXPECT_EQ(weights("1"), weights("3"));
  ASSERT_EQ(train({"-s", "2", "--set", "output.folder=other"}).exit_code, 0);
  EXPECT_NE(weights("1"), weights("other"));
}

TEST_P(PicturesAndTexts, TablesHaveWeights) {
  write(GetParam());
  expect_weighted_tables({"augmentation.shift=0", "training.max_steps=4"});
}

TEST_P(PicturesAndTexts, ResumedAfterAKillEndsWithTheSameBits) {
  write(GetParam());
  const std::vector<std::string> steps{"--set", "training.max_steps=120"};
  ASSERT_EQ(train({"--set", "training.max_steps=120", "--set", "output.folder=alone"}).exit_code, 0);
  const int code = train_until(steps, "run/log.jsonl", SIGKILL);
  EXPECT_TRUE(code == -SIGKILL || code == 0) << code;
  ASSERT_EQ(train({"--set", "training.max_steps=120", "--resume"}).exit_code, 0);
  EXPECT_EQ(weights("alone"), weights("run"));
}

TEST_P(PicturesAndTexts, AFolderIsTrainedFurtherAndResumedWithoutIt) {
  write(GetParam());
  ASSERT_EQ(train({"--set", "output.folder=base", "--set", "training.max_steps=4"}).exit_code, 0);
  regard::testing::write_file(folder.path(), "tune.toml", std::string("task = \"") + GetParam() + R"("
[data]
train = ["train.tsv"]
valid = ["four.tsv"]
columns = [1, 2]
max_length = 8
[model]
from = "base"
[training]
max_steps = 3
[output]
folder = "tuned"
)");
  const ProgramResult tuned = run_program({"train", "tune.toml"}, folder.path());
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_NE(weights("base"), weights("tuned"));
  fs::remove_all(folder / "base");
  const ProgramResult resumed =
      run_program({"train", "tune.toml", "--resume", "--set", "training.max_steps=6"}, folder.path());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_P(PicturesAndTexts, DryRunShowsThePictureWithItsText) {
  write(GetParam());
  const ProgramResult result = train({"--dry-run", "--set", "data.preview=1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("training: 160 images"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("upper"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("@"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

INSTANTIATE_TEST_SUITE_P(Tasks, PicturesAndTexts, ::testing::Values("captioning", "contrastive"),
                         [](const auto& one) { return std::string(one.param); });

using Captioning = PicturesAndTexts;
using Contrasting = PicturesAndTexts;

TEST_F(Captioning, StepsEqualTransformers) {
  write("captioning");
  const RunConfig run = config();
  for (const auto& [name, positions] : {std::pair("vit-trocr", 5), std::pair("deit-bart", 6)}) {
    const regard::testing::Golden golden("hf-tiny", name);
    const Tensor pixels = golden.tensor("pixel_values"), labels = golden.tensor("labels");
    Batch batch;
    for (std::int64_t i = 0; i < pixels.shape()[0]; ++i) {
      batch.add_source_input(pixels.slice_rows(i, i + 1), positions, static_cast<std::uint64_t>(i));
      std::vector<std::int32_t> ids;
      for (std::int64_t t = 0; t < labels.shape()[1]; ++t)
        ids.push_back(static_cast<std::int32_t>(labels.i64()[i * labels.shape()[1] + t]));
      batch.add_target(ids, 2, static_cast<std::uint64_t>(i));
    }
    expect_step(*make_task(run), "hf-tiny", name, batch);
  }
}

// Each "left" is one token, and the end token follows the words.
TEST_F(Captioning, CaptionsWithTooManyTokensAreSkipped) {
  write("captioning");
  std::string rows;
  for (const int words : {8, 7, 1}) {
    rows += "four/0.pgm\t";
    for (int word = 0; word < words; ++word) rows += word > 0 ? " left" : "left";
    rows += "\n";
  }
  regard::testing::write_file(folder.path(), "long.tsv", rows);
  const ProgramResult result = train({"--dry-run", "--set", "data.valid=long.tsv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("validation: 2 images, 10 tokens of captions; read 2 records; 1 with too many "
                            "tokens skipped (first: "),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("long.tsv:1)"), std::string::npos) << result.out;
  const ProgramResult limited =
      train({"--dry-run", "--set", "data.valid=long.tsv", "--set", "data.max_skipped=0.3"});
  EXPECT_EQ(limited.exit_code, 3) << limited.err;
  EXPECT_NE(limited.err.find("too many rows are skipped"), std::string::npos) << limited.err;
}

// A validation shows as many captions as validation.samples, but not more than there are.
TEST_F(Captioning, AValidationShowsTheFirstCaptions) {
  write("captioning");
  for (const int samples : {0, 2, 9}) {
    const std::string number = std::to_string(samples);
    const ProgramResult result =
        train({"-q", "--set", "data.valid=four.tsv", "--set", "training.max_steps=1", "--set",
               "validation.samples=" + number, "--set", "output.folder=" + number});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> captions;
    for (const Json& line : log(number))
      if (line.contains("samples"))
        for (const Json& sample : line["samples"]) captions.push_back(sample["reference"]);
    const int shown = std::min(samples, 4);
    EXPECT_EQ(captions, std::vector<std::string>(testing_task::kCorners, testing_task::kCorners + shown));
  }
}

TEST_F(Captioning, LearnsAndTheResultWritesCaptions) {
  write("captioning");
  const ProgramResult result =
      train({"--set", "training.max_steps=150", "--set", "validation.every_steps=50"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("next: regard caption"), std::string::npos) << result.err;
  EXPECT_GT(last("exact_match"), 0.9) << result.err;
  const ProgramResult written = run_program({"caption", "run", "four/2.pgm"}, folder.path());
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "lower left\n");
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json scores = Json::parse(evaluated.out);
  EXPECT_EQ(scores["task"], "captioning");
  int compared = 0;
  const std::int64_t best = linked("run", "best");
  for (const Json& line : log("run"))
    if (line.contains("validation") && line["step"] == best) {
      ++compared;
      EXPECT_NEAR(scores["exact_match"].get<double>(), line["validation"]["exact_match"].get<double>(), 1e-9);
      EXPECT_NEAR(scores["bleu"].get<double>(), line["validation"]["bleu"].get<double>(), 1e-9);
    }
  EXPECT_GE(compared, 1) << "no validation of step " << best;
}

TEST_F(Contrasting, AStepEqualsTransformers) {
  write("contrastive");
  const regard::testing::Golden golden("hf-more", "clip-first-end");
  Batch batch = batch_of(golden);
  batch.types.clear();
  const Tensor pixels = golden.tensor("pixel_values");
  for (std::int64_t i = 0; i < pixels.shape()[0]; ++i) {
    batch.add_source_input(pixels.slice_rows(i, i + 1), 10, static_cast<std::uint64_t>(i));
    batch.labels.push_back(static_cast<std::int32_t>(i));
  }
  const RunConfig run = config();
  expect_step(*make_task(run), "hf-more", "clip-first-end", batch);
}

// The loss of five pairs is the mean over micro-batches of three and two pairs, weighted by their sizes.
TEST_F(Contrasting, TheValidationLossIsTheMeanOverThePairs) {
  write("contrastive");
  std::istringstream rows(file_content(folder / "valid.tsv"));
  std::string first, last;
  for (int i = 0; i < 5; ++i) {
    std::string row;
    std::getline(rows, row);
    (i < 3 ? first : last) += row + "\n";
  }
  const auto loss_of = [&](const std::string& table) {
    regard::testing::write_file(folder.path(), "table.tsv", table);
    const RunConfig run =
        read_run((folder / "run.toml").string(), {"data.valid=[\"table.tsv\"]", "training.batch_size=3"});
    ThreadPool pool(1);
    TrainingContext context(run, pool);
    return validate(context).loss;
  };
  const double of_three = loss_of(first), of_two = loss_of(last);
  EXPECT_GT(of_two, 0.0);
  EXPECT_GT(std::abs(of_three - of_two), 0.05);
  EXPECT_NEAR(loss_of(first + last), (3 * of_three + 2 * of_two) / 5, 1e-6);
}

TEST_F(Contrasting, LearnsAndTheResultFindsPictures) {
  write("contrastive");
  const ProgramResult result = train({"--set", "training.max_steps=250", "--set", "validation.every_steps=50",
                                      "--set", "training.learning_rate=1e-3", "--set",
                                      "training.batch_size=16", "--set", "training.accumulate=1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(last("recall_at_1"), 1.0) << result.err;
  const ProgramResult evaluated = run_program({"evaluate", "run", "four.tsv", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json scores = Json::parse(evaluated.out);
  EXPECT_EQ(scores["task"], "contrastive");
  EXPECT_EQ(scores["recall_at_1"], 1.0);
  EXPECT_EQ(scores["text_recall_at_1"], 1.0);
  const ProgramResult classified =
      run_program({"classify", "run", "four/3.pgm", "--labels",
                   "upper left,upper right,lower left,lower right", "--pattern", "{}", "--top", "1"},
                  folder.path());
  ASSERT_EQ(classified.exit_code, 0) << classified.err;
  EXPECT_TRUE(classified.out.starts_with("lower right\t")) << classified.out;
}

}  // namespace
}  // namespace regard::train
