// Inference in bf16 for every family: outputs and attention weights near transformers' f32, and the same bits
// with the key/value cache.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/bf16.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

// ‖a − b‖ / ‖b‖
double relative_error(const Tensor& a, const Tensor& b) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    difference += std::pow(static_cast<double>(a.f32()[i]) - static_cast<double>(b.f32()[i]), 2);
    size += std::pow(static_cast<double>(b.f32()[i]), 2);
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

// Selects the emulation of the bf16 instructions, so that the tests run on every machine.
class Bf16Families : public ::testing::Test {
 protected:
  void SetUp() override { kernels::set_bf16_path(kernels::Bf16Path::emulated); }
  void TearDown() override { kernels::reset_bf16_path(); }
  static std::unique_ptr<Network> open(const testing::HfFolder& folder) {
    return load_model(formats::ModelFolder::open(folder.path), WeightMode::bf16);
  }
};

TEST_F(Bf16Families, AreNearTransformers) {
  ThreadPool pool(2);
  std::size_t compared = 0;
  for (const std::string& name : testing::hf_folder_names()) {
    SCOPED_TRACE(name);
    const testing::HfFolder folder(name);
    inspect::TensorRunOptions options;
    options.capture = {"last_hidden_state", "encoder_last_hidden_state", "logits", "attentions"};
    options.compute_padding = true;
    for (const auto& [output, value] : inspect::run_tensors(*open(folder), pool, folder.inputs, options)) {
      if (!folder.golden.has(output)) continue;
      const Tensor golden = folder.golden.tensor(output);
      ASSERT_EQ(value.shape(), golden.shape()) << output;
      EXPECT_LT(relative_error(value, golden), 0.03) << output;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60u);
}

TEST_F(Bf16Families, DecodeWithTheBitsOfOnePass) {
  const std::vector<std::size_t> together{0, 1, 2}, shuffled{2, 0, 1};
  std::size_t families = 0;
  for (const std::string& name : testing::hf_folder_names()) {
    const testing::HfFolder folder(name);
    const auto model = open(folder);
    if (model->kind() == ModelKind::encoder || model->input_spec().kind != InputKind::tokens) continue;
    ++families;
    std::vector<testing::Tokens> sources;
    if (model->kind() == ModelKind::encoder_decoder)
      sources = testing::random_tokens({3, 40, 7}, model->source_vocabulary(), 31);
    const auto targets = testing::random_tokens({11, 1, 18}, model->vocabulary(), 32);
    testing::Runner single(*model, sources, targets, 1), runner(*model, sources, targets, 3);
    std::vector<std::vector<float>> alone;
    for (const std::size_t i : together) alone.push_back(single.full({i})[0]);
    for (const std::int64_t step : {1, 5}) {
      const auto cached = runner.cached(shuffled, step);
      for (std::size_t i = 0; i < shuffled.size(); ++i)
        ASSERT_EQ(cached[i], alone[shuffled[i]]) << name << ", steps of " << step;
    }
  }
  EXPECT_GE(families, 12u);
}

}  // namespace
}  // namespace regard::testing
