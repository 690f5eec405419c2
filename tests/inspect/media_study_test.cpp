// Studies of models that read images and sounds: sweeps with reused values equal complete passes, and
// gradients equal derivatives with respect to the pixels. The attention weights of long sounds are captured
// in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "inspect/answer_pass.h"
#include "inspect/attention_view.h"
#include "inspect/gradients.h"
#include "inspect/head_pattern.h"
#include "inspect/head_sweep.h"
#include "inspect/media_reader.h"
#include "inspect/weight_parts.h"
#include "models/weights.h"
#include "ops/ctc_loss.h"
#include "ops/tape.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using inspect::Head;
using inspect::StudyExample;

// The model of a folder, with three random inputs and labels.
class MediaModel {
 public:
  explicit MediaModel(const std::filesystem::path& folder)
      : model_(load_model(formats::ModelFolder::open(folder))), pool_(2) {
    model_->prepare_for_inference(pool_);
    RandomStream stream({5, 0, place_of("media study")});
    for (const std::int64_t length : {4, 2, 5}) {
      StudyExample& one = examples_.emplace_back();
      one.text = std::to_string(length);
      one.input.source = values(stream, length);
      const bool writes = model_->kind() == ModelKind::encoder_decoder;
      const std::int64_t count = writes || model_->output() == Output::ctc ? length : 1;
      const std::int64_t classes = writes ? model_->vocabulary() : model_->labels();
      // label 0 is the blank of a CTC head
      for (std::int64_t i = 0; i < count; ++i)
        one.labels.push_back(
            static_cast<std::int32_t>(1 + stream.next_below(static_cast<std::uint64_t>(classes - 1))));
      if (writes) one.input.target = one.labels, std::ranges::reverse(one.input.target);
      if (writes) one.labels[0] = kIgnoredLabel;
    }
  }

  ModelInput values(RandomStream& stream, std::int64_t length) const {
    const InputSpec& spec = model_->input_spec();
    ModelInput input = spec.blank();
    if (spec.shape[0] == 0)  // the model reads sounds of any length
      input.values = Tensor::zeros({(8 + 4 * length) * spec.fewest_frames(), spec.shape[1]});
    for (std::int64_t i = 0; i < input.values.elements(); ++i)
      input.values.f32()[i] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f;
    return input;
  }

  // Return the loss of one example without the head, computed by a pass over this example alone.
  double loss_without(const StudyExample& one, const Head& head) {
    inspect::EditedPass edits;
    edits.add(inspect::ModelPoints::of(*model_, pool_).of_head(head));
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    tape.probe = &edits;
    InputBuffer sources;
    sources.add(one.input.source, model_->input_spec().length_of(one.input.source), 0);
    Memory memory;
    memory.shape = sources.batch().shape;
    memory.hidden = model_->encode(tape, sources.batch());
    if (model_->kind() == ModelKind::encoder_decoder) {
      RaggedBuffer shape;
      shape.add(std::ssize(one.input.target), 0);
      const Var hidden = model_->decode(tape, {one.input.target, shape.view()}, &memory, nullptr);
      return static_cast<double>(model_->loss(tape, hidden, one.labels, 0.0f, 1.0f)->value.f32()[0]);
    }
    const Var logits = model_->head(tape, memory.hidden, sources.batch());
    if (model_->output() == Output::ctc) {
      const std::int32_t ends[] = {0, static_cast<std::int32_t>(one.labels.size())};
      ops::CtcOptions options;
      options.blank = model_->config().value("pad_token_id", 0);
      return static_cast<double>(ops::ctc_loss(tape, logits, model_->output_shape(tape, memory.shape).offsets,
                                               one.labels, ends, options)
                                     ->value.f32()[0]);
    }
    const float* row = logits->value.row(0);
    double sum = 0;
    for (std::int64_t i = 0; i < logits->value.columns(); ++i) sum += std::exp(static_cast<double>(row[i]));
    return std::log(sum) - static_cast<double>(row[one.labels[0]]);
  }

  // If this fails, the sweep reuses a value that depends on the head, or counts other predictions.
  void expect_losses_of_whole_passes() {
    const inspect::HeadSweep sweep = inspect::sweep_heads(*model_, pool_, examples_);
    std::int64_t count = 0;
    for (const StudyExample& one : examples_)
      count += std::ranges::count_if(one.labels, [](std::int32_t label) { return label != kIgnoredLabel; });
    EXPECT_EQ(sweep.count, count);
    ASSERT_GE(sweep.heads.size(), 4u);
    std::size_t changed = 0;
    for (const inspect::HeadLoss& one : sweep.heads) {
      double expected = 0;
      for (const StudyExample& example : examples_) expected += loss_without(example, one.head);
      expected /= static_cast<double>(count);
      EXPECT_NEAR(one.loss, expected, 2e-6 * std::max(1.0, expected)) << one.head.text();
      changed += one.loss != sweep.loss ? 1 : 0;
    }
    EXPECT_GT(changed, sweep.heads.size() / 2);
  }

 protected:
  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  std::vector<StudyExample> examples_;
};

class MediaStudy : public ::testing::TestWithParam<std::string>, protected MediaModel {
 protected:
  MediaStudy() : MediaModel(testing::HfFolder(GetParam()).path) {}
};

TEST_P(MediaStudy, EveryLossIsThatOfAWholePass) {
  expect_losses_of_whole_passes();
}

// Write a copy of a wav2vec 2.0 folder of two layers that has a third layer, equal to the second.
void write_three_layers(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::copy(from, to);
  Json config = read_json((from / "config.json").string());
  config["num_hidden_layers"] = 3;
  write_file(to, "config.json", config.dump());
  std::vector<formats::NamedTensor> weights;
  const auto file = formats::SafetensorsFile::open(from / "model.safetensors");
  for (const auto& entry : file->entries()) {
    const std::string& name = entry.name;
    const Tensor value = file->tensor(name).clone();
    if (const std::size_t layer = name.find(".layers.1."); layer != name.npos)
      weights.push_back({std::string(name).replace(layer, 10, ".layers.2."), value});
    const bool sum = name == "layer_weights";
    weights.push_back({name, sum ? Tensor::zeros({4}) : value});
    if (sum) std::copy_n(value.f32(), value.elements(), weights.back().tensor.f32());
  }
  formats::write_safetensors(to / "model.safetensors", weights);
}

// The input of this model's classification head is a weighted sum of the outputs of all layers, so the sweep
// must keep the output of each layer.
TEST(MediaStudyWeightedSum, EveryLossIsThatOfAWholePass) {
  const TemporaryFolder folder;
  write_three_layers(testing::HfFolder("wav2vec2-weighted").path, folder.path());
  MediaModel(folder.path()).expect_losses_of_whole_passes();
}

// The sum of gradient × input is the derivative along the line from zeros to the input. This is exact in
// models with patches, because their embedding is an affine function of the pixels.
TEST_P(MediaStudy, GradientTimesInputIsTheDerivativeAlongTheRay) {
  const inspect::PassInput& input = examples_[0].input;
  const std::int64_t position = model_->kind() == ModelKind::encoder_decoder ? 1 : 0;
  const inspect::AnswerDifference answer{position, 2, 1};
  inspect::AttributionOptions options;
  options.steps = 1000, options.relative = true;
  options.baseline = inspect::blank_embedding(*model_, pool_, input);
  const inspect::TokenAttribution found = inspect::attribute_tokens(*model_, pool_, input, answer, options);
  const std::int64_t positions = model_->input_spec().length_of(input.source);
  ASSERT_EQ(std::ssize(found.gradient_input), positions);
  const auto at = [&](double share) {
    inspect::PassInput scaled = input;
    scaled.source.values = input.source.values.clone();
    for (std::int64_t i = 0; i < scaled.source.values.elements(); ++i)
      scaled.source.values.f32()[i] *= static_cast<float>(share);
    return inspect::answer_difference(*model_, pool_, scaled, answer, nullptr);
  };
  EXPECT_NEAR(found.difference, at(1), 1e-5);
  EXPECT_NEAR(found.baseline, at(0), 1e-5);
  double integral = 0, whole = 0;
  for (const double one : found.integrated) integral += one;
  for (const double one : found.gradient_input) whole += one;
  EXPECT_NEAR(integral, found.difference - found.baseline, 5e-3 * std::max(1.0, std::abs(integral)));
  if (model_->input_spec().patch_rows == 0) return;
  EXPECT_NEAR(whole, (at(1.001) - at(0.999)) / 0.002, 1e-2 * std::max(1.0, std::abs(whole)));
  for (std::int64_t special = 0; special < model_->input_spec().specials; ++special)
    EXPECT_EQ(found.gradient_input[static_cast<std::size_t>(special)], 0.0);
}

TEST_P(MediaStudy, PartsOfTheLayersHoldEveryHeadOnce) {
  const inspect::ModelPoints points = inspect::ModelPoints::of(*model_, pool_);
  const inspect::PassInput& input = examples_[0].input;
  const auto heads = [&](std::int64_t numbers) {
    std::vector<Head> all;
    for (const inspect::Selection& part : inspect::weight_parts(*model_, points, input, {}, numbers)) {
      inspect::Capture capture(part);
      inspect::run_pass(*model_, pool_, input, &capture);
      for (const inspect::Map& map : inspect::maps_of(capture, false)) all.push_back(map.head);
    }
    std::ranges::sort(all);
    return all;
  };
  EXPECT_EQ(inspect::weight_parts(*model_, points, input).size(), 1u);
  EXPECT_EQ(inspect::weight_parts(*model_, points, input, {}, 1).size(), points.heads.size());
  EXPECT_EQ(heads(1), points.all_heads());
  EXPECT_EQ(heads(inspect::kMostStudyWeights), points.all_heads());
}

TEST_P(MediaStudy, EveryPositionHasAName) {
  const ModelInput& input = examples_[0].input.source;
  const InputSpec& spec = model_->input_spec();
  const std::vector<std::string> names = inspect::position_names(spec, input);
  ASSERT_EQ(std::ssize(names), spec.length_of(input));
  if (spec.specials > 0) {
    EXPECT_EQ(names[0], "[CLS]");
  }
  if (spec.patch_rows > 0) {
    EXPECT_EQ(names[static_cast<std::size_t>(spec.specials)], "0,0");
  }
}

INSTANTIATE_TEST_SUITE_P(HfTiny, MediaStudy,
                         ::testing::Values("vit", "vit-patch16", "deit", "deit-teacher", "ast", "wav2vec2",
                                           "wav2vec2-stable", "wav2vec2-downsampled-ctc", "whisper",
                                           "vit-gpt2", "vit-trocr", "deit-bart"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// In an image classifier without overlapping patches, gradient × input of a patch is the derivative of the
// logit with respect to a factor of the pixels of this patch.
TEST(MediaStudyPatches, GradientTimesInputIsThatOfThePixels) {
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("vit").path));
  ThreadPool pool(1);
  const InputSpec& spec = model->input_spec();
  inspect::PassInput input;
  input.source = spec.blank();
  RandomStream stream({9, 0, place_of("pixels")});
  for (std::int64_t i = 0; i < input.source.values.elements(); ++i)
    input.source.values.f32()[i] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f;
  inspect::AttributionOptions options;
  options.steps = 1, options.relative = true;
  options.baseline = inspect::blank_embedding(*model, pool, input);
  const inspect::AnswerDifference answer{0, 3, 1};
  const auto found = inspect::attribute_tokens(*model, pool, input, answer, options);
  const std::int64_t height = spec.shape[2] / spec.patch_rows, width = spec.shape[3] / spec.patch_columns;
  double largest = 0;
  for (std::int64_t patch = 0; patch < spec.patch_rows * spec.patch_columns; ++patch) {
    const std::int64_t top = patch / spec.patch_columns * height, left = patch % spec.patch_columns * width;
    const auto with = [&](float factor) {
      inspect::PassInput changed = input;
      changed.source.values = input.source.values.clone();
      for (std::int64_t c = 0; c < spec.shape[1]; ++c)
        for (std::int64_t y = top; y < top + height; ++y)
          for (std::int64_t x = left; x < left + width; ++x)
            changed.source.values.f32()[(c * spec.shape[2] + y) * spec.shape[3] + x] *= factor;
      return inspect::answer_difference(*model, pool, changed, answer, nullptr);
    };
    const double slope = (with(1.02f) - with(0.98f)) / 0.04;
    const double gradient = found.gradient_input[static_cast<std::size_t>(spec.specials + patch)];
    EXPECT_NEAR(gradient, slope, 1e-3 * std::max(1.0, std::abs(slope))) << patch;
    largest = std::max(largest, std::abs(slope));
  }
  EXPECT_GT(largest, 5e-3);
}

// Five positions: the class token, and a grid of 2 × 2 patches.
TEST(MediaStudyPatches, DistancesAreThoseOfTheGrid) {
  inspect::View view;
  view.size.emplace();
  view.size->input = {
      .kind = InputKind::pixels, .shape = {1, 3, 4, 4}, .specials = 1, .patch_rows = 2, .patch_columns = 2};
  view.tokens.source = {"[CLS]", "0,0", "0,1", "1,0", "1,1"};
  inspect::Map map;
  map.head = {inspect::Kind::encoder, 0, 0};
  map.rows = map.columns = 5;
  map.weights.assign(25, 0.0f);
  for (const auto& [row, column] : {std::pair{0, 4}, {1, 4}, {2, 0}, {3, 4}, {4, 4}})
    map.weights[static_cast<std::size_t>(row * 5 + column)] = 1.0f;
  // The class token and the query 0,1, which attends to it, have distance 0. 0,0 → 1,1: √2; 1,0 → 1,1: 1.
  EXPECT_NEAR(inspect::summarize(view, map).distance, (std::sqrt(2.0) + 1) / 5, 1e-12);
}

}  // namespace
}  // namespace regard::testing
