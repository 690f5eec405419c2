// CLIP and SigLIP: every golden tensor, the saved folder, bit-identical results, and int8 weights.
#include "models/dual_encoder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "inspect/resolve.h"
#include "inspect/run_names.h"
#include "models/quantize.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::TensorMap;
using testing::Golden;

class DualEncoders : public ::testing::TestWithParam<std::string> {
 protected:
  DualEncoders()
      : golden_("hf-more", GetParam()),
        folder_(formats::ModelFolder::open(testing::golden("hf-more/" + GetParam()))) {
    for (const char* name : {"input_ids", "attention_mask", "pixel_values"})
      if (golden_.has(name)) inputs_[name] = golden_.tensor(name);
  }

  TensorMap run(Network& model, const TensorMap& inputs, int threads = 2,
                std::set<std::string> capture = {"all"}, bool padding = true) const {
    ThreadPool pool(threads);
    return inspect::run_tensors(model, pool, inputs,
                                {.capture = std::move(capture), .compute_padding = padding});
  }

  Golden golden_;
  formats::ModelFolder folder_;
  TensorMap inputs_;
};

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST_P(DualEncoders, EveryTensorIsThatOfTransformers) {
  const auto model = load_model(folder_);
  const TensorMap results = run(*model, inputs_);
  std::size_t outputs = 0, gradients = 0;
  for (const formats::TensorEntry& entry : golden_.entries()) {
    if (inputs_.count(entry.name) != 0) continue;
    const auto found = results.find(entry.name);
    ASSERT_NE(found, results.end()) << entry.name;
    const Tensor golden = golden_.tensor(entry.name);
    const bool gradient = entry.name.starts_with("grad.");
    // A constant added to all scores changes no attention weight: gradients of key biases are rounding noise.
    const bool noise = gradient && entry.name.ends_with("k_proj.bias");
    const double error = noise      ? testing::largest(found->second) / 1e-4
                         : gradient ? testing::gradient_error(found->second, golden)
                                    : testing::output_error(found->second, golden);
    EXPECT_LE(error, 1.0) << entry.name << " " << found->second.shape().text();
    ++(gradient ? gradients : outputs);
  }
  EXPECT_EQ(outputs, 19u);
  EXPECT_GE(gradients, 60u);
}

TEST_P(DualEncoders, TheSavedFolderHasTheSameBits) {
  const testing::TemporaryFolder place;
  const auto model = load_model(folder_);
  save_model(*model, folder_, place.path() / "saved");
  const formats::Weights before = folder_.weights(), after = formats::Weights::open(place.path() / "saved");
  ASSERT_EQ(before.names().size(), after.names().size());
  for (const std::string& name : before.names())
    EXPECT_TRUE(equal_bits(before.tensor(name), after.tensor(name))) << name;
}

// The vector of a text or an image has the same bits alone, with any number of threads, with packed weights,
// and without padding.
TEST_P(DualEncoders, VectorsHaveTheSameBitsInAnyBatch) {
  const auto model = load_model(folder_);
  const std::set<std::string> vectors{"text_embeds", "image_embeds"};
  const TensorMap all = run(*model, inputs_, 1, vectors);
  for (const int threads : {2, 3, 8})
    for (const auto& [name, value] : run(*model, inputs_, threads, vectors))
      EXPECT_TRUE(equal_bits(value, all.at(name))) << name;
  const auto expect_alone = [&](const char* output, std::initializer_list<const char*> names) {
    for (std::int64_t row = 0; row < all.at(output).rows(); ++row) {
      TensorMap alone;
      for (const char* name : names)
        if (inputs_.count(name) != 0) alone[name] = inputs_.at(name).slice_rows(row, row + 1).clone();
      const TensorMap found = run(*model, alone, 2, {output}, false);
      EXPECT_EQ(found.size(), 1u);
      EXPECT_TRUE(equal_bits(found.at(output), all.at(output).slice_rows(row, row + 1))) << output << row;
    }
  };
  expect_alone("text_embeds", {"input_ids", "attention_mask"});
  expect_alone("image_embeds", {"pixel_values"});
  ThreadPool pool(2);
  model->prepare_for_inference(pool);
  expect_alone("text_embeds", {"input_ids", "attention_mask"});
  expect_alone("image_embeds", {"pixel_values"});
}

TEST_P(DualEncoders, Int8VectorsAreNear) {
  const auto exact = load_model(folder_), int8 = load_model(folder_, WeightMode::int8);
  ThreadPool pool(2);
  int8->prepare_for_inference(pool);
  const std::set<std::string> vectors{"text_embeds", "image_embeds"};
  const TensorMap expected = run(*exact, inputs_, 2, vectors);
  for (const auto& [name, value] : run(*int8, inputs_, 2, vectors))
    for (std::int64_t row = 0; row < value.rows(); ++row) {
      double cosine = 0;
      for (std::int64_t i = 0; i < value.columns(); ++i)
        cosine += static_cast<double>(value.row(row)[i]) * static_cast<double>(expected.at(name).row(row)[i]);
      EXPECT_GT(cosine, 0.98) << name << " " << row;
      EXPECT_LT(cosine, 1.0 + 1e-6);
    }
}

TEST_P(DualEncoders, OutputsMayBeSelected) {
  const auto model = load_model(folder_);
  const TensorMap one = run(*model, inputs_, 1, {"text_model_output.hidden_states.1", "logits_per_text"});
  EXPECT_EQ(one.size(), 2u);
  EXPECT_TRUE(one.count("text_model_output.hidden_states.1"));
  inspect::check_output_names({"vision_model_output.attentions.0", "image_embeds"});
  EXPECT_REGARD_ERROR(inspect::check_output_names({"vision_model_output.attention"}), ErrorKind::usage,
                      "vision");
}

TEST_P(DualEncoders, GenerateNothing) {
  const auto model = load_model(folder_);
  EXPECT_REGARD_ERROR(model->cache_shape(), ErrorKind::usage, "compares texts and images");
}

TEST(DualEncoderText, SigLipPadsTextsAndClipDoesNot) {
  const auto siglip = load_model(formats::ModelFolder::open(testing::golden("hf-more/siglip")));
  const auto clip = load_model(formats::ModelFolder::open(testing::golden("hf-more/clip")));
  std::vector<std::int32_t> ids{5, 6}, same{5, 6};
  dual_encoder_of(*siglip)->pad(ids);
  dual_encoder_of(*clip)->pad(same);
  EXPECT_EQ(ids.size(), 12u);
  EXPECT_EQ(ids[2], 1);
  EXPECT_EQ(same.size(), 2u);
}

// A new model starts with the configuration's scale.
TEST(DualEncoderText, NewModelsHaveTheInitialScale) {
  const auto model = make_model(read_json(testing::golden("hf-more/siglip/config.json").string()));
  initialise(*model, 1);
  const std::vector<Parameter*> all = model->parameters();
  EXPECT_FLOAT_EQ(all[all.size() - 2]->value().f32()[0], 2.3025851f);
  EXPECT_FLOAT_EQ(all.back()->value().f32()[0], -10.0f);
}

// An intervention must change the outputs of the encoder that it names, and no output of the other encoder.
TEST_P(DualEncoders, AnInterventionChangesOneEncoder) {
  const auto model = load_model(folder_);
  ThreadPool pool(2);
  const std::set<std::string> outputs{"all"};
  const auto with = [&](const std::string& text) {
    const auto edits = inspect::resolve(*model, pool, nullptr, inspect::parse_interventions({text}));
    return inspect::run_tensors(*model, pool, inputs_,
                                {.capture = outputs, .compute_padding = true, .edits = edits.get()});
  };
  const TensorMap whole = run(*model, inputs_, 2, outputs);
  for (const std::string tower : {"text", "vision"}) {
    const std::string own = tower + "_model_output.",
                      other = tower == "text" ? "vision_model_output." : "text_model_output.";
    const TensorMap kept = with("zero " + tower + ".encoder.0.0 positions=9000");
    for (const auto& [name, value] : whole) EXPECT_TRUE(equal_bits(value, kept.at(name))) << name;
    const TensorMap off = with("zero " + tower + ".encoder.0.0");
    for (const auto& [name, value] : whole)
      if (name.starts_with(other)) {
        EXPECT_TRUE(equal_bits(value, off.at(name))) << name;
      }
    for (const std::string& name :
         {own + "last_hidden_state", own + "pooler_output", own + "hidden_states.1",
          tower == "text" ? std::string("text_embeds") : std::string("image_embeds"),
          std::string("logits_per_text")})
      EXPECT_FALSE(equal_bits(whole.at(name), off.at(name))) << name;
    EXPECT_TRUE(equal_bits(whole.at(tower == "text" ? "image_embeds" : "text_embeds"),
                           off.at(tower == "text" ? "image_embeds" : "text_embeds")));
  }
  EXPECT_REGARD_ERROR(with("zero encoder.0.0"), ErrorKind::usage, "two encoders");
  EXPECT_REGARD_ERROR(with("zero text.encoder.0.residuals"), ErrorKind::usage, "text.encoder.0.residual?");
}

INSTANTIATE_TEST_SUITE_P(, DualEncoders, ::testing::Values("clip", "clip-first-end", "siglip"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace regard::testing
