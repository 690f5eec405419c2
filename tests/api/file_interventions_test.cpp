// Interventions that take values from an image or sound file (file=, files=).
#include <gtest/gtest.h>

#include <filesystem>

#include "regard/pictures.h"
#include "regard/regard.h"
#include "regard/run.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::golden;

// A model and two inputs of one row each. The second input is also written to a file.
class OtherRun {
 public:
  OtherRun(const std::string& family, const std::string& input) : runner(golden("hf-tiny/" + family)) {
    const testing::HfFolder folder(family);
    const Tensor& all = folder.inputs.at(input);
    for (const std::int64_t row : {0, 1}) inputs.push_back({{input, all.slice_rows(row, row + 1).clone()}});
    if (const auto ids = folder.inputs.find("decoder_input_ids"); ids != folder.inputs.end())
      for (NamedTensors& one : inputs) one["decoder_input_ids"] = ids->second.slice_rows(0, 1).clone();
    write_tensors(place / "other.safetensors", {{input, inputs[1].at(input)}});
  }

  std::string file() const { return "file=" + (place / "other.safetensors").string(); }
  // Return one output of input `row` (0 or 1) under `interventions`.
  Tensor output(const std::string& name, const std::vector<std::string>& interventions = {},
                std::size_t row = 0) const {
    return runner.run(inputs[row], {.capture = {name}, .interventions = interventions}).at(name);
  }

  testing::TemporaryFolder place;
  Runner runner;
  std::vector<NamedTensors> inputs;
};

// Expect `found` [1, positions, features] to have the bits of `other` at `position` and of `own` elsewhere.
void expect_patched(const Tensor& found, const Tensor& own, const Tensor& other, std::int64_t position) {
  ASSERT_EQ(found.shape(), own.shape());
  const std::int64_t features = found.shape()[2];
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < found.elements(); ++i) {
    EXPECT_EQ(found.f32()[i], (i / features == position ? other : own).f32()[i]) << i;
    different += own.f32()[i] != other.f32()[i] ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(FileIntervention, PatchHasTheBitsOfTheOtherRunAtItsPositions) {
  const OtherRun vit("vit", "pixel_values"), sound("wav2vec2", "input_values");
  for (const OtherRun* one : {&vit, &sound}) {
    const std::string patch = "patch encoder.0.residual positions=3 " + one->file(), name = "hidden_states.1";
    expect_patched(one->output(name, {patch}), one->output(name), one->output(name, {}, 1), 3);
    // If all positions are patched, the later layers compute the same values as for the other input.
    const std::vector<std::string> whole{"patch encoder.0.residual " + one->file()};
    for (const char* last : {"last_hidden_state", "logits"}) {
      const NamedTensors found = one->runner.run(one->inputs[0], {.interventions = whole}),
                         other = one->runner.run(one->inputs[1]);
      ASSERT_EQ(found.count(last), other.count(last));
      if (found.count(last) != 0) {
        EXPECT_TRUE(equal_bits(found.at(last), other.at(last))) << last;
      }
    }
    EXPECT_TRUE(equal_bits(one->output("hidden_states.0", whole), one->output("hidden_states.0")));
  }
}

TEST(FileIntervention, FromNamesAnotherPositionOfTheFile) {
  const OtherRun vit("vit", "pixel_values");
  const Tensor found = vit.output("hidden_states.1",
                                  {"patch encoder.0.residual positions=5 from=2 " + vit.file()}),
               other = vit.output("hidden_states.1", {}, 1);
  EXPECT_TRUE(std::equal(found.row(5), found.row(6), other.row(2)));
}

TEST(FileIntervention, WeightsAndMeansComeFromTheFile) {
  const OtherRun vit("vit", "pixel_values");
  const std::string name = "attentions.1";
  const Tensor own = vit.output(name), other = vit.output(name, {}, 1),
               found = vit.output(name, {"replace encoder.1.2 " + vit.file()});
  const std::int64_t head = own.elements() / own.shape()[1];
  for (std::int64_t i = 0; i < own.elements(); ++i)
    EXPECT_EQ(found.f32()[i], (i / head == 2 ? other : own).f32()[i]) << i;
  // The mean over all positions of two files, computed here in double.
  const Tensor first = vit.output("hidden_states.1"), second = vit.output("hidden_states.1", {}, 1);
  write_tensors(vit.place / "first.safetensors", vit.inputs[0]);
  testing::write_file(vit.place.path(), "list.txt",
                      (vit.place / "first.safetensors").string() + "\n\n" +
                          (vit.place / "other.safetensors").string() + "\n");
  const std::string list = "files=" + (vit.place / "list.txt").string();
  const Tensor mean = vit.output("hidden_states.1", {"mean encoder.0.residual " + list});
  const std::int64_t rows = first.shape()[1], features = first.shape()[2];
  for (std::int64_t i = 0; i < features; ++i) {
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      sum += static_cast<double>(first.row(row)[i]) + static_cast<double>(second.row(row)[i]);
    EXPECT_NEAR(static_cast<double>(mean.row(rows - 1)[i]), sum / static_cast<double>(2 * rows), 1e-6);
  }
  // minus= also reads a file.
  const std::string same = "add encoder.0.residual " + vit.file() + " minus=" + vit.file().substr(5);
  EXPECT_TRUE(equal_bits(vit.output("hidden_states.1", {same}), first));
  EXPECT_FALSE(equal_bits(vit.output("hidden_states.1", {"add encoder.0.residual " + vit.file()}), first));
}

TEST(FileIntervention, EncoderDecodersTakeTheFileIntoEitherSide) {
  const OtherRun whisper("whisper", "input_features");
  const std::string patch = "patch encoder.output " + whisper.file();
  EXPECT_TRUE(equal_bits(whisper.output("logits", {patch}), whisper.output("logits", {}, 1)));
  std::string ids;
  const Tensor& read = whisper.inputs[0].at("decoder_input_ids");
  for (std::int64_t i = 0; i < read.elements(); ++i)
    ids += (ids.empty() ? "" : ",") + std::to_string(read.i64()[i]);
  const std::string cross = "patch decoder.0.residual positions=2 " + whisper.file(),
                    name = "decoder_hidden_states.1";
  expect_patched(whisper.output(name, {cross + " target_ids=" + ids}), whisper.output(name),
                 whisper.output(name, {}, 1), 2);
  EXPECT_REGARD_ERROR(whisper.output(name, {cross}), ErrorKind::usage, "target_ids=");
}

// The preprocessing of an image file in an intervention equals that of the input image.
TEST(FileIntervention, ReadsAnImageAsTheModelsFolderSpecifies) {
  const std::string model = golden("hf-more/clip-words").string(),
                    one = golden("pictures/turned1.jpg").string(), two = golden("pictures/deep.png").string();
  const ImageTextEncoder plain(load(model)),
      patched(load(model), {.interventions = {"patch vision.encoder.output file=\"" + two + "\""}});
  EXPECT_TRUE(equal_bits(patched.embed_images(one), plain.embed_images(two)));
  EXPECT_FALSE(equal_bits(plain.embed_images(one), plain.embed_images(two)));
  EXPECT_TRUE(equal_bits(patched.embed("a cat"), plain.embed("a cat")));
}

TEST(FileIntervention, WhatDoesNotFitIsRefused) {
  const OtherRun vit("vit", "pixel_values"), sound("wav2vec2", "input_values");
  const testing::TemporaryFolder place;
  const Tensor& samples = sound.inputs[1].at("input_values");
  write_tensors(place / "short.safetensors", {{"input_values", samples.slice_columns(0, 300).clone()}});
  write_tensors(place / "two.safetensors", {{"pixel_values", Tensor::zeros({2, 3, 16, 16})}});
  const std::string cut = "file=" + (place / "short.safetensors").string();
  const auto fails = [](const OtherRun& one, const std::string& intervention, ErrorKind kind,
                        const char* part) {
    EXPECT_REGARD_ERROR(one.runner.run(one.inputs[0], {.interventions = {intervention}}), kind, part);
    EXPECT_REGARD_ERROR(one.runner.attend(one.inputs[0], {.interventions = {intervention}}), kind, part);
  };
  for (const char* start : {"patch encoder.0.residual ", "replace encoder.0.0 "})
    fails(sound, start + cut, ErrorKind::usage, "different numbers of positions");
  fails(sound, "patch encoder.0.residual positions=900 " + cut, ErrorKind::usage, "outside the other input");
  fails(vit, "patch encoder.0.residual file=none.png", ErrorKind::io, "none.png");
  fails(vit, "patch encoder.0.residual file=" + golden("page/tiny.wav").string(), ErrorKind::bad_file,
        "tiny.wav");
  fails(vit, "patch encoder.0.residual " + cut, ErrorKind::invalid_input, "pixel_values");
  fails(vit, "patch encoder.0.residual file=" + (place / "two.safetensors").string(),
        ErrorKind::invalid_input, "wrong number of rows");
  fails(vit, "patch encoder.0.residual text=word", ErrorKind::usage, "reads images, not text");
  fails(vit, "patch encoder.0.residual ids=1,2", ErrorKind::usage, "file=FILE");
  fails(vit, "mean encoder.0.residual texts=list.txt", ErrorKind::usage, "reads images, not text");
  fails(vit, "patch encoder.0.residual target=word " + vit.file(), ErrorKind::usage, "encoder-decoder");
  fails(sound, "mean encoder.0.residual text=word", ErrorKind::usage, "reads sounds, not text");
  fails(sound, "patch encoder.0.residual file=" + golden("pictures/deep.png").string(), ErrorKind::bad_file,
        "deep.png");
  const testing::HfFolder bert("bert");
  for (const char* text : {"patch encoder.0.residual file=a.png", "mean encoder.0 files=list.txt"})
    EXPECT_REGARD_ERROR(Runner(bert.path).run(bert.inputs, {.interventions = {text}}), ErrorKind::usage,
                        "reads text, not files");
  EXPECT_REGARD_ERROR(ImageTextEncoder(load(golden("hf-more/clip-words")),
                                       {.interventions = {"patch text.encoder.output file=" +
                                                          golden("pictures/deep.png").string()}}),
                      ErrorKind::usage, "no values in the text encoder");
}

}  // namespace
}  // namespace regard::testing
