// Every golden tensor of every folder of hf-tiny: outputs, hidden states, attentions, losses, gradients.
#include <gtest/gtest.h>

#include <map>

#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using testing::HfFolder;

// Results of generation are compared in generation_test.cpp.
bool is_generated(const HfFolder& folder, const std::string& name) {
  if (!folder.golden.about().contains("generation")) return false;
  for (const auto& [generation, about] : folder.golden.about()["generation"].items())
    if (name == generation || name == generation + "_score") return true;
  return false;
}

class HfTiny : public ::testing::TestWithParam<std::string> {
 protected:
  HfTiny() : folder_(GetParam()), pool_(2) {}

  inspect::TensorMap run(bool compute_padding) {
    const auto model = load_model(formats::ModelFolder::open(folder_.path));
    inspect::TensorRunOptions options;
    options.compute_padding = compute_padding;
    return inspect::run_tensors(*model, pool_, folder_.inputs, options);
  }

  // Adding a constant to every score changes no attention weight, so the gradient of a key's bias is zero in
  // exact arithmetic. The golden files contain rounding noise there, of the size of the weight's gradient
  // times the f32 rounding unit.
  double floor_of(const std::string& gradient) const {
    const std::string weight = gradient.substr(0, gradient.rfind('.')) + ".weight";
    if (!gradient.ends_with(".bias") || !folder_.golden.has(weight)) return 1e-3;
    const double scale = testing::largest(folder_.golden.tensor(weight));
    const bool noise = testing::largest(folder_.golden.tensor(gradient)) < 2e-6 * scale;
    return noise ? std::max(1e-3, 5e-3 * scale) : 1e-3;
  }

  HfFolder folder_;
  ThreadPool pool_;
};

// With padding computed as in PyTorch, every position can be compared.
TEST_P(HfTiny, EveryTensorAtEveryPlace) {
  const inspect::TensorMap results = run(true);
  std::size_t compared = 0;
  double worst_output = 0.0, worst_gradient = 0.0;
  for (const formats::TensorEntry& entry : folder_.golden.entries()) {
    if (folder_.inputs.count(entry.name) != 0 || is_generated(folder_, entry.name)) continue;
    const auto found = results.find(entry.name);
    ASSERT_NE(found, results.end()) << entry.name;
    const bool gradient = entry.name.starts_with("grad.");
    const Tensor golden = folder_.golden.tensor(entry.name);
    const double error = gradient ? testing::gradient_error(found->second, golden, floor_of(entry.name))
                                  : testing::output_error(found->second, golden);
    EXPECT_LE(error, 1.0) << entry.name << " " << found->second.shape().text();
    (gradient ? worst_gradient : worst_output) = std::max(gradient ? worst_gradient : worst_output, error);
    ++compared;
  }
  EXPECT_GT(compared, 5u);
  RecordProperty("compared", static_cast<int>(compared));
  RecordProperty("worst_output", std::to_string(worst_output));
  RecordProperty("worst_gradient", std::to_string(worst_gradient));
}

// With padding skipped (the default), padded positions are zero and the others are unchanged.
TEST_P(HfTiny, ZerosAtPaddedPlacesAndTheSameElsewhere) {
  if (!folder_.mask.defined()) return;
  const Shape masked = folder_.mask.shape();
  const inspect::TensorMap all = run(true), results = run(false);
  const auto kept = [&](std::int64_t place) { return folder_.mask.i64()[place] != 0; };
  for (const auto& [name, value] : results) {
    const Tensor& full = all.at(name);
    if (name.starts_with("grad.") || name == "loss") {
      EXPECT_LE(testing::gradient_error(value, full), 1.0) << name;
      continue;
    }
    const Shape shape = value.shape();
    const bool decoder_side = folder_.inputs.count("decoder_input_ids") != 0 && !name.starts_with("encoder_");
    if (shape.rank() < 2 || shape[0] != masked[0] || decoder_side) continue;
    const bool tokens = shape[1] == masked[1] && shape.rank() <= 3;
    if (!tokens && shape.rank() != 4) continue;
    Tensor expected = full.clone();
    const std::int64_t inner = tokens ? shape.elements() / masked.elements() : shape[3];
    for (std::int64_t row = 0; row < expected.elements() / inner; ++row) {
      const std::int64_t place = tokens ? row : row / (shape[1] * shape[2]) * masked[1] + row % shape[2];
      if (!kept(place)) std::fill_n(expected.f32() + row * inner, inner, 0.0f);
    }
    EXPECT_LE(testing::output_error(value, expected), 1.0) << name;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
      if (expected.f32()[i] == 0.0f && full.f32()[i] != 0.0f) {
        ASSERT_EQ(value.f32()[i], 0.0f) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, HfTiny, ::testing::ValuesIn(testing::hf_folder_names()),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace regard::testing
