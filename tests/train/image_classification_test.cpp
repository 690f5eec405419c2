// The task "image-classification": a step equal to transformers', runs from scratch and from folders, forms
// of the data, augmentation, wrong data.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "data/augment.h"
#include "data/picture_preview.h"
#include "run_case.h"
#include "support/throws.h"
#include "task_step.h"
#include "tiny_pictures.h"
#include "train/pictures.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

class ImageClassifying : public RunCase {
 protected:
  ImageClassifying() {
    testing_task::write_pictures(folder.path(), "train", 1, 160);
    testing_task::write_pictures(folder.path(), "valid", 2, 40);
    fs::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "image-classification"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
[images]
size = 12
patch_size = 4
[augmentation]
rotation = 10
shift = 0.05
[model]
family = "vit"
layers = 1
hidden_size = 32
heads = 2
feed_forward_size = 32
activation = "gelu"
dropout = 0.1
[training]
learning_rate = 3e-3
schedule = "constant"
batch_size = 8
accumulate = 2
max_steps = 40
[validation]
every_steps = 20
metrics = ["accuracy", "f1", "loss"]
[output]
folder = "run"
checkpoint_every_steps = 7
)");
  }
  RunConfig config(const std::vector<std::string>& overrides = {}) {
    return read_run((folder / "run.toml").string(), overrides);
  }
  double last_accuracy(const std::string& run) {
    double accuracy = -1;
    for (const Json& line : log(run))
      if (line.contains("validation")) accuracy = line["validation"]["accuracy"];
    return accuracy;
  }
};

TEST_F(ImageClassifying, AStepEqualsTransformers) {
  const regard::testing::Golden golden("hf-tiny", "vit");
  Batch batch;
  const Tensor pixels = golden.tensor("pixel_values"), labels = golden.tensor("labels");
  for (std::int64_t i = 0; i < pixels.shape()[0]; ++i) {
    batch.add_input(pixels.slice_rows(i, i + 1), 17, static_cast<std::uint64_t>(i));
    batch.labels.push_back(static_cast<std::int32_t>(labels.i64()[i]));
  }
  const RunConfig run = config();
  expect_step(*make_task(run), "hf-tiny", "vit", batch);
}

TEST_F(ImageClassifying, LearnsAndTheResultClassifies) {
  const ProgramResult result = train({"--set", "training.max_steps=120"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("next: regard classify"), std::string::npos) << result.err;
  EXPECT_GT(last_accuracy("run"), 0.95) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run/latest/tokenizer.json"));
  const Json processor = read_json((folder / "run/latest/preprocessor_config.json").string());
  EXPECT_EQ(processor["size"], (Json{{"height", 12}, {"width", 12}}));
  EXPECT_EQ(read_json((folder / "run/latest/config.json").string())["architectures"][0],
            "ViTForImageClassification");
  const std::vector<std::string> rows = regard::testing::lines_of(file_content(folder / "valid.tsv"));
  int right = 0;
  for (int i = 0; i < 8; ++i) {
    const ProgramResult classified =
        run_program({"classify", "run", "valid/" + std::to_string(i) + ".pgm"}, folder.path());
    ASSERT_EQ(classified.exit_code, 0) << classified.err;
    const std::string label =
        rows[static_cast<std::size_t>(i)].substr(rows[static_cast<std::size_t>(i)].find('\t') + 1);
    right += classified.out.starts_with(label + "\t") ? 1 : 0;
  }
  EXPECT_GE(right, 7);
  const ProgramResult evaluated =
      run_program({"evaluate", "run", "valid.tsv", "--columns", "1,2", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json scores = Json::parse(evaluated.out);
  EXPECT_EQ(scores["task"], "image-classification");
  int compared = 0;
  const std::int64_t best = linked("run", "best");
  for (const Json& line : log("run"))
    if (line.contains("validation") && line["step"] == best) {
      ++compared;
      EXPECT_EQ(scores["confusion"], line["validation"]["confusion"]["counts"]);
      EXPECT_NEAR(scores["accuracy"].get<double>(), line["validation"]["accuracy"].get<double>(), 1e-9)
          << evaluated.out;
    }
  EXPECT_GE(compared, 1) << "no validation of step " << best;
}

TEST_F(ImageClassifying, TablesHaveWeights) {
  expect_weighted_tables({"augmentation.rotation=0", "augmentation.shift=0", "training.max_steps=4"});
}

// data.weights has one weight for each folder of images and for each pair of IDX files.
TEST_F(ImageClassifying, FoldersAndPairsOfFilesHaveWeights) {
  for (const char* file : {"a/x/0.pgm", "a/y/1.pgm", "b/x/2.pgm", "c/y/3.pgm"})
    regard::testing::write_file(folder.path(), file,
                                file_content(folder / "train" / fs::path(file).filename()));
  std::vector<std::string> folders;
  for (const char* name : {"a", "b", "c"}) folders.push_back((folder / name).string());
  const auto sources = [](const std::vector<std::string>& files, data::TableFormat format) {
    std::vector<std::size_t> found;
    for (const data::PictureRow& row : data::read_picture_rows({.files = files, .format = format}).rows)
      found.push_back(row.source);
    return found;
  };
  EXPECT_EQ(sources(folders, data::TableFormat::lines), (std::vector<std::size_t>{0, 0, 1, 2}));
  const std::string images(
      "\0\0\x8\x3\0\0\0\x2\0\0\0\x1\0\0\0\x1"
      "ab",
      18),
      labels("\0\0\x8\x1\0\0\0\x2\0\x1", 10);
  regard::testing::write_file(folder.path(), "images", images);
  regard::testing::write_file(folder.path(), "labels", labels);
  const std::string image_file = (folder / "images").string(), label_file = (folder / "labels").string();
  EXPECT_EQ(sources({image_file, label_file, image_file, label_file}, data::TableFormat::lines),
            (std::vector<std::size_t>{0, 0, 1, 1}));
  RunConfig run = config();
  run.data.train = run.data.valid = {image_file, label_file, image_file, label_file};
  run.data.columns.clear();
  run.data.weights = {1.0, 2.0};
  check_run(run);
  run.data.weights = {1.0};
  EXPECT_REGARD_ERROR(check_run(run), ErrorKind::usage, "the length of 'data.weights' differs");
  run.data.train = run.data.valid = folders;
  run.data.weights = {1.0, 2.0, 0.5};
  check_run(run);
}

TEST_F(ImageClassifying, ThreadsDoNotChangeABit) {
  for (const char* threads : {"1", "2", "3"})
    ASSERT_EQ(train({"-t", threads, "--set", std::string("output.folder=") + threads}).exit_code, 0);
  EXPECT_EQ(weights("1"), weights("2"));
  EXPECT_EQ(weights("1"), weights("3"));
  // Negative controls: another seed, and no augmentation, give other bits.
  ASSERT_EQ(train({"-s", "2", "--set", "output.folder=other"}).exit_code, 0);
  EXPECT_NE(weights("1"), weights("other"));
  ASSERT_EQ(train({"--set", "augmentation.rotation=0", "--set", "augmentation.shift=0", "--set",
                   "output.folder=plain"})
                .exit_code,
            0);
  EXPECT_NE(weights("1"), weights("plain"));
}

TEST_F(ImageClassifying, ResumedAfterAKillEndsWithTheSameBits) {
  const std::vector<std::string> steps{"--set", "training.max_steps=200"};
  ASSERT_EQ(train({"--set", "training.max_steps=200", "--set", "output.folder=alone"}).exit_code, 0);
  const int code = train_until(steps, "run/log.jsonl", SIGKILL);
  EXPECT_TRUE(code == -SIGKILL || code == 0) << code;
  ASSERT_EQ(train({"--set", "training.max_steps=200", "--resume"}).exit_code, 0);
  EXPECT_EQ(weights("alone"), weights("run"));
}

TEST_F(ImageClassifying, AFolderGetsANewHeadAndKeepsItsProcessor) {
  ASSERT_EQ(train({"--set", "output.folder=base"}).exit_code, 0);
  std::string processor = file_content(folder / "base/latest/preprocessor_config.json");
  std::string other = file_content(folder / "train.tsv");
  for (std::size_t at = 0; (at = other.find("\tupper left", at)) != std::string::npos;)
    other.replace(at, 11, "\tx");
  regard::testing::write_file(folder.path(), "other.tsv", other);
  const std::string run = R"(task = "image-classification"
[data]
train = ["other.tsv"]
valid = ["other.tsv"]
columns = [1, 2]
[model]
from = "base"
[training]
max_steps = 5
[output]
folder = "tuned"
)";
  regard::testing::write_file(folder.path(), "tune.toml", run);
  const ProgramResult made = run_program({"train", "tune.toml"}, folder.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.err.find("newly initialised weights (not in"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("classifier.weight"), std::string::npos) << made.err;
  EXPECT_EQ(made.err.find("encoder.layer"), std::string::npos) << made.err;
  EXPECT_EQ(file_content(folder / "tuned/latest/preprocessor_config.json"), processor);
  fs::remove_all(folder / "base");
  EXPECT_EQ(run_program({"train", "tune.toml", "--resume", "--set", "training.max_steps=8"}, folder.path())
                .exit_code,
            0);
}

// The same pictures from a table of paths, a folder, IDX files and a table of pixels give the same inputs.
TEST_F(ImageClassifying, FormsOfTheDataGiveTheSamePictures) {
  RandomStream random({3, 0, 0});
  std::string idx("\0\0\x08\x03\0\0\0\x04\0\0\0\x0c\0\0\0\x0c", 16), labels("\0\0\x08\x01\0\0\0\x04", 8),
      table, paths;
  for (int corner = 0; corner < 4; ++corner) {
    const std::string pixels = testing_task::corner_pixels(corner, random),
                      label(1, static_cast<char>('0' + corner));
    idx += pixels;
    labels += static_cast<char>(corner);
    for (const char value : pixels) table += std::to_string(static_cast<unsigned char>(value)) + ",";
    table += label + "\n";
    regard::testing::write_file(folder.path(), "classes/" + label + "/a.pgm", "P5 12 12 255\n" + pixels);
    paths += "classes/" + label + "/a.pgm\t" + label + "\n";
  }
  regard::testing::write_file(folder.path(), "i.idx", idx);
  regard::testing::write_file(folder.path(), "l.idx", labels);
  regard::testing::write_file(folder.path(), "pixels.csv", table);
  regard::testing::write_file(folder.path(), "paths.tsv", paths);
  std::set<std::uint64_t> fingerprints;
  ThreadPool pool(1);
  for (const std::vector<std::string>& one :
       {std::vector<std::string>{"data.train=paths.tsv", "data.valid=paths.tsv"},
        {"data.train=classes", "data.valid=classes", "data.columns=[]"},
        {"data.train=[\"i.idx\", \"l.idx\"]", "data.valid=[\"i.idx\", \"l.idx\"]", "data.columns=[]"},
        {"data.train=pixels.csv", "data.valid=pixels.csv", "data.columns=[]", "images.highest=255"},
        {"data.train=pixels.csv", "data.valid=pixels.csv", "data.columns=[145]", "images.highest=255"}}) {
    std::vector<std::string> overrides = one;
    std::erase(overrides, "data.columns=[]");
    std::string text = file_content(folder / "run.toml");
    text.replace(text.find("columns = [1, 2]\n"), 17, "");
    regard::testing::write_file(folder.path(), "forms.toml", text);
    if (one[0] == "data.train=paths.tsv") overrides.emplace_back("data.columns=[1, 2]");
    const RunConfig run = read_run((folder / "forms.toml").string(), overrides);
    check_run(run);
    TrainingContext context(run, pool);
    fingerprints.insert(context.task->fingerprint());
    EXPECT_EQ(context.model->labels(), 4);
  }
  EXPECT_EQ(fingerprints.size(), 1u);
}

TEST_F(ImageClassifying, AugmentationDependsOnSeedEpochAndRow) {
  RunConfig run = config({"augmentation.flip=0.5", "augmentation.smallest_crop=0.5"});
  PictureInput input(run.images);
  input.set_spec({.kind = InputKind::pixels,
                  .shape = {1, 3, 12, 12},
                  .specials = 1,
                  .patch_rows = 3,
                  .patch_columns = 3});
  Pictures pictures;
  pictures.load(read_pictures(run).train, input, run);
  const auto bits = [&](std::size_t row, std::uint64_t epoch) {
    const Tensor pixels = pictures.augmented(row, run, epoch);
    return std::string(reinterpret_cast<const char*>(pixels.f32()), static_cast<std::size_t>(pixels.bytes()));
  };
  EXPECT_EQ(bits(0, 1), bits(0, 1));
  EXPECT_NE(bits(0, 1), bits(0, 2));
  const std::string before = bits(0, 1);
  run.seed = 9;
  EXPECT_NE(bits(0, 1), before);
  run.augmentation = {};
  EXPECT_EQ(bits(0, 1), bits(0, 2));
  const std::string plain = bits(1, 1);
  fs::remove_all(folder / "train");
  EXPECT_EQ(bits(1, 1), plain) << "small pictures remain in memory";
}

TEST_F(ImageClassifying, DryRunShowsPicturesAndWritesNothing) {
  const ProgramResult result = train({"--dry-run", "--set", "data.preview=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("training: 160 images"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  label "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("@"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("vocabulary"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(PicturePreview, IsBrightWhereThePictureIs) {
  const Tensor pixels = Tensor::zeros({1, 1, 4, 4});
  pixels.f32()[3] = pixels.f32()[7] = 1.0f;
  EXPECT_EQ(data::picture_preview(pixels), "   @\n\n");
}

TEST(PicturePreview, HasTheMeanOfAllChannels) {
  const Tensor pixels = Tensor::zeros({1, 2, 4, 2});
  pixels.f32()[2 * 2] = 0.5f;          // channel 0, row 2, column 0
  pixels.f32()[1 * 4 * 2 + 1] = 1.0f;  // channel 1, row 0, column 1
  EXPECT_EQ(data::picture_preview(pixels), " @\n+\n");
  EXPECT_EQ(data::picture_preview(pixels, 1), "\n") << "one cell has no contrast";
}

TEST(Warp, EqualsTorchGridSample) {
  const Json golden = read_json(regard::testing::golden("pictures/warp.json").string());
  const auto picture = golden["picture"].get<std::vector<float>>();
  const float fill[] = {0.0f, 0.0f};
  for (const Json& one : golden["cases"]) {
    const auto map = one["map"].get<std::vector<double>>();
    std::vector<float> sampled(picture.size());
    data::warp(picture.data(), {2, 5, 7}, {map[0], map[1], map[2], map[3], map[4], map[5]}, fill,
               sampled.data());
    const auto expected = one["sampled"].get<std::vector<float>>();
    for (std::size_t i = 0; i < sampled.size(); ++i)
      EXPECT_NEAR(sampled[i], expected[i], 2e-6) << one["name"] << " " << i;
  }
}

struct WrongPictures {
  const char* rows;
  std::vector<std::string> overrides;
  const char* message;
};

class WrongImages : public ImageClassifying, public ::testing::WithParamInterface<WrongPictures> {};

TEST_P(WrongImages, AreRefusedWithFileAndLine) {
  regard::testing::write_file(folder.path(), "bad.tsv", GetParam().rows);
  regard::testing::write_file(folder.path(), "cut.pgm", "P5 12 12 255\nabc");
  std::vector<std::string> arguments{"--set", "data.valid=bad.tsv", "--set", "training.max_steps=2"};
  for (const std::string& one : GetParam().overrides) arguments.insert(arguments.end(), {"--set", one});
  const ProgramResult result = train(arguments);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongImages,
    ::testing::Values(
        WrongPictures{"valid/0.pgm\tupper left\nvalid/no.pgm\tupper left\n", {}, "bad.tsv:2"},
        WrongPictures{"valid/no.pgm\tupper left\n", {}, "the image file does not exist"},
        WrongPictures{"cut.pgm\tupper left\n", {}, "cut.pgm"},
        WrongPictures{"cut.pgm\tupper left\n", {"data.malformed=skip"}, "no data is left to validate on"},
        WrongPictures{"valid/0.pgm\tupper lift\n", {}, "Did you mean 'upper left'?"},
        WrongPictures{"valid/0.pgm\t\n", {}, "the text of the image is empty"},
        WrongPictures{"valid/0.pgm\n", {}, "bad.tsv:1"},
        WrongPictures{"train.tsv\tupper left\n", {}, "train.tsv"},
        WrongPictures{
            "valid/0.pgm\tupper left\n", {"data.columns=[1, 2, 3]"}, "the path of an image and its label"},
        WrongPictures{
            "", {"data.valid=valid", "data.train=train"}, "there is no labelled image in the folder"},
        WrongPictures{"", {"data.train=[\"train.tsv\", \"train\"]"}, "have different formats"},
        WrongPictures{"", {"images.highest=16", "data.columns=[3]"}, "train.tsv:1"},
        WrongPictures{"valid/0.pgm\tupper left\n", {"images.mean=[0.5]"}, "expected 3 numbers"},
        WrongPictures{"valid/0.pgm\tupper left\n", {"images.patch_size=13"}, "'images.patch_size' exceeds"},
        WrongPictures{"valid/0.pgm\tupper left\n", {"model.family=bert"}, "'model.family' does not fit"},
        WrongPictures{
            "valid/0.pgm\tupper left\n", {"tokenizer.vocab_size=99"}, "'tokenizer.vocab_size' has no effect"},
        WrongPictures{"valid/0.pgm\tupper left\n", {"augmentation.flip=2"}, "augmentation.flip"}));

TEST_F(ImageClassifying, ImagesAfterADamagedOneAreRead) {
  regard::testing::write_file(folder.path(), "cut.pgm", "P5 12 12 255\nabc");
  regard::testing::write_file(folder.path(), "bad.tsv",
                              "valid/0.pgm\tupper left\ncut.pgm\tupper left\nvalid/1.pgm\tupper left\n");
  const auto with = [](const std::string& skipped) {
    return std::vector<std::string>{"--dry-run",           "--set", "data.valid=bad.tsv",         "--set",
                                    "data.malformed=skip", "--set", "data.max_skipped=" + skipped};
  };
  const ProgramResult result = train(with("0.34"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("read 2 records; 1 malformed skipped"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("bad.tsv:2)"), std::string::npos) << result.out;
  const ProgramResult limited = train(with("0.33"));
  EXPECT_EQ(limited.exit_code, 3) << limited.err;
  EXPECT_NE(limited.err.find("1 of 3 rows"), std::string::npos) << limited.err;
}

}  // namespace
}  // namespace regard::train
