// The optimiser's step, the gradient norm and label smoothing, compared with PyTorch.
#include <memory>

#include "formats/safetensors.h"
#include "isa_fixture.h"
#include "kernels/rows.h"
#include "row_data.h"
#include "support/shared_data.h"

namespace regard::kernels {
namespace {

using namespace regard::testing;

class TorchGolden : public EachIsa {
 protected:
  void open(const std::string& folder) {
    file_ = formats::SafetensorsFile::open(golden(folder + "/golden.safetensors"));
  }
  std::vector<float> floats(const std::string& name) const {
    const Tensor tensor = file_->tensor(name);
    return {tensor.f32(), tensor.f32() + tensor.elements()};
  }
  std::vector<std::int32_t> labels(const std::string& name) const {
    const Tensor tensor = file_->tensor(name);
    return {tensor.i64(), tensor.i64() + tensor.elements()};
  }
  std::shared_ptr<const formats::SafetensorsFile> file_;
  ThreadPool pool_{2};
};
REGARD_EACH_ISA(TorchGolden);

double largest(const std::vector<float>& values) {
  double most = 0.0;
  for (float value : values) most = std::max(most, std::fabs(static_cast<double>(value)));
  return most;
}

void expect_golden(const std::vector<float>& got, const std::vector<float>& golden, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(got.size(), golden.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], golden[i], tolerance) << what << ", element " << i;
}

// Compare all weights after each of twenty steps, and both moving averages at the end.
TEST_P(TorchGolden, AdamWFollowsTorchForTwentySteps) {
  open("optim-adamw");
  for (const std::string name : {"w1", "w2", "emb", "conv", "b1", "scale"}) {
    std::vector<float> weight = floats("param." + name + ".0");
    std::vector<float> first(weight.size()), second(weight.size());
    for (int t = 1; t <= 20; ++t) {
      const std::vector<float> gradient = floats("grad." + name + "." + std::to_string(t));
      AdamW step{};
      step.learning_rate = 0.01;
      step.beta1 = 0.9;
      step.beta2 = 0.999;
      step.epsilon = 1e-8;
      step.weight_decay = name == "b1" || name == "scale" ? 0.0 : 0.01;
      step.gradient_scale = 1.0;
      step.correction1 = 1.0 - std::pow(0.9, t);
      step.correction2 = 1.0 - std::pow(0.999, t);
      adamw(pool_, step, weight.data(), gradient.data(), first.data(), second.data(),
            static_cast<std::int64_t>(weight.size()));
      const std::vector<float> truth = floats("param." + name + "." + std::to_string(t));
      expect_golden(weight, truth, 2e-5 * std::max(1e-3, largest(truth)),
                    name + " after step " + std::to_string(t));
    }
    const std::vector<float> average = floats("state." + name + ".exp_avg");
    const std::vector<float> squares = floats("state." + name + ".exp_avg_sq");
    expect_golden(first, average, 2e-6 * largest(average), name + " first");
    expect_golden(second, squares, 2e-6 * largest(squares), name + " second");
  }
}

TEST_P(TorchGolden, GradientNormAndClipping) {
  open("training-pieces");
  const double limits[] = {1.0, 1.0, 0.5};  // maximum norms of the cases with the Euclidean norm
  for (int which = 0; which < 3; ++which) {
    const std::string at = "clip." + std::to_string(which) + ".";
    double squares = 0.0;
    for (const std::string part : {"0", "1", "2"}) {
      const std::vector<float> gradient = floats(at + "grad." + part);
      squares += sum_of_squares(pool_, gradient.data(), static_cast<std::int64_t>(gradient.size()));
    }
    const double norm = std::sqrt(squares), golden_norm = static_cast<double>(floats(at + "total_norm")[0]);
    EXPECT_NEAR(norm, golden_norm, 2e-6 * std::max(1.0, golden_norm));
    const auto factor = static_cast<float>(std::min(1.0, limits[which] / (norm + 1e-6)));
    for (const std::string part : {"0", "1", "2"}) {
      std::vector<float> gradient = floats(at + "grad." + part);
      scale(pool_, gradient.data(), factor, gradient.data(), static_cast<std::int64_t>(gradient.size()));
      expect_golden(gradient, floats(at + "clipped." + part), 2e-6, at + part);
    }
  }
}

TEST_P(TorchGolden, LabelSmoothingWithIgnoredTargets) {
  open("training-pieces");
  const float smoothing[] = {0.0f, 0.1f, 0.1f, 0.3f};
  for (int which = 0; which < 4; ++which) {
    const std::string at = "smooth." + std::to_string(which) + ".";
    const std::vector<float> logits = floats(at + "logits");  // [7, 11]
    const std::vector<std::int32_t> targets = labels(at + "labels");
    std::vector<float> loss(7), lse(7), gradient(logits.size());
    cross_entropy(pool_, logits.data(), targets.data(), 7, 11, smoothing[which], -100, loss.data(),
                  lse.data());
    float counted = 0.0f, sum = 0.0f;
    for (std::size_t row = 0; row < 7; ++row) {
      if (targets[row] != -100) counted += 1.0f;
      sum += loss[row];
    }
    const bool mean = which < 2;
    const std::vector<float> truth = floats(at + "loss");
    if (truth.size() == 7) {
      expect_golden(loss, truth, 2e-6 * std::max(1.0, largest(truth)), at + "loss");
    } else {
      EXPECT_NEAR(mean ? sum / counted : sum, truth[0], 2e-6 * std::max(1.0, largest(truth)));
    }
    cross_entropy_backward(pool_, logits.data(), lse.data(), targets.data(), 7, 11, smoothing[which], -100,
                           mean ? 1.0f / counted : 1.0f, gradient.data());
    expect_golden(gradient, floats(at + "grad"), 2e-6, at + "grad");
  }
}

}  // namespace
}  // namespace regard::kernels
