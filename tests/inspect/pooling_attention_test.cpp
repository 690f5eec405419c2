// SigLIP's attention pooling can be observed and changed at the probe points of a cross-attention. Its
// weights equal the formula, computed in double, and its heads can be ablated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "inspect/attention_view.h"
#include "inspect/resolve.h"
#include "inspect/run_tensors.h"
#include "models/dual_encoder.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/changed_model.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kStates = 32, kPoolingHeads = 4, kHeadSize = kStates / kPoolingHeads, kTwoImages = 2;

class PoolingAttention : public ::testing::Test {
 protected:
  PoolingAttention() {
    const Shape one = dual_encoder_of(*model_)->vision().input_spec().shape;  // [1, channels, height, width]
    Tensor pixels = Tensor::empty({kTwoImages, one[1], one[2], one[3]});
    RandomStream stream({6, 0, place_of("images")});
    for (std::int64_t i = 0; i < pixels.elements(); ++i)
      pixels.f32()[i] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f;
    inputs_["pixel_values"] = pixels;
  }

  inspect::TensorMap run(const std::vector<std::string>& interventions = {}) {
    const auto edits = inspect::resolve(*model_, pool_, nullptr, inspect::parse_interventions(interventions));
    inspect::TensorMap found = inspect::run_tensors(*model_, pool_, inputs_, {.edits = edits.get()});
    if (edits != nullptr) {
      EXPECT_TRUE(edits->warnings().empty());
    }
    return found;
  }
  Parameter& parameter(const std::string& name) {
    for (Parameter* one : model_->parameters())
      if (one->name == "vision_model.head." + name) return *one;
    throw std::runtime_error("no parameter " + name);
  }
  static bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  }

  std::unique_ptr<Network> model_ = load_model(formats::ModelFolder::open(golden("hf-more/siglip")));
  ThreadPool pool_{2};
  inspect::TensorMap inputs_;
};

// softmax(q kᵀ / √d) in double, from the encoder's output and the model's weights.
TEST_F(PoolingAttention, WeightsAreThoseOfTheFormula) {
  const inspect::TensorMap found = run();
  const Tensor& weights = found.at("vision_model_output.cross_attentions.0");
  const Tensor& states = found.at("vision_model_output.last_hidden_state");
  const std::int64_t patches = states.shape()[1];
  ASSERT_TRUE(weights.shape() == Shape({kTwoImages, kPoolingHeads, 1, patches}));
  const float *weight = parameter("attention.in_proj_weight").value().f32(),
              *bias = parameter("attention.in_proj_bias").value().f32(),
              *probe = parameter("probe").value().f32();
  const auto projected = [&](const float* x, std::int64_t row) {
    double sum = bias[row];
    for (std::int64_t i = 0; i < kStates; ++i)
      sum += static_cast<double>(weight[row * kStates + i]) * static_cast<double>(x[i]);
    return sum;
  };
  for (std::int64_t image = 0; image < kTwoImages; ++image)
    for (std::int64_t head = 0; head < kPoolingHeads; ++head) {
      std::vector<double> expected;
      double total = 0;
      for (std::int64_t patch = 0; patch < patches; ++patch) {
        double score = 0;
        for (std::int64_t d = head * kHeadSize; d < (head + 1) * kHeadSize; ++d)
          score += projected(probe, d) *
                   projected(states.f32() + (image * patches + patch) * kStates, kStates + d);
        expected.push_back(std::exp(score / std::sqrt(static_cast<double>(kHeadSize))));
        total += expected.back();
      }
      for (std::int64_t patch = 0; patch < patches; ++patch)
        EXPECT_NEAR(weights.f32()[(image * kPoolingHeads + head) * patches + patch],
                    expected[static_cast<std::size_t>(patch)] / total, 1e-6);
    }
}

TEST_F(PoolingAttention, AnAblatedHeadIsThatOfAModelWithoutIt) {
  const inspect::TensorMap whole = run(), ablated = run({"zero vision.cross.0.1"});
  EXPECT_FALSE(same_bits(whole.at("image_embeds"), ablated.at("image_embeds")));
  for (const auto& [name, value] : whole)
    if (name.find("hidden_state") != name.npos || name.find("attentions") != name.npos) {
      EXPECT_TRUE(same_bits(value, ablated.at(name))) << name;
    }
  const TemporaryFolder folder;
  copy_changed_model(golden("hf-more/siglip"), folder / "changed",
                     [](const std::string& name, const Tensor& weight) {
                       if (name == "vision_model.head.attention.out_proj.weight")
                         remove_head(weight, kPoolingHeads, 1);
                     });
  model_ = load_model(formats::ModelFolder::open(folder / "changed"));
  const Tensor expected = run().at("image_embeds");
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    EXPECT_NEAR(ablated.at("image_embeds").f32()[i], expected.f32()[i], 1e-6);
}

TEST_F(PoolingAttention, WeightsCanBeReplaced) {
  const Tensor weights = run({"uniform vision.cross.0.2"}).at("vision_model_output.cross_attentions.0");
  const std::int64_t patches = weights.shape()[3];
  for (std::int64_t patch = 0; patch < patches; ++patch)
    EXPECT_EQ(weights.f32()[2 * patches + patch], 1.0f / static_cast<float>(patches));
}

TEST_F(PoolingAttention, HeadsAreListedWithThoseOfTheEncoder) {
  const inspect::ModelPoints points = inspect::ModelPoints::of(dual_encoder_of(*model_)->vision(), pool_);
  const std::vector<inspect::Head> heads = points.all_heads();
  EXPECT_EQ(std::ranges::count(heads, inspect::Kind::cross, &inspect::Head::kind), kPoolingHeads);
  EXPECT_EQ(points.head_size({inspect::Kind::cross, 0, 3}), kHeadSize);
  EXPECT_EQ(points.features.count("decoder.0.feed_forward.inner"), 1u);
}

}  // namespace
}  // namespace regard::testing
