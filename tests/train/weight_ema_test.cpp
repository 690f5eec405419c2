// The moving average of weights compared with PyTorch's, exchanged, saved and restored.
#include "train/weight_ema.h"
#include "ops/parameter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::train {
namespace {

struct Weights {
  Weights() {
    for (const auto& [parameter, name] : {std::pair{&weight, "weight"}, std::pair{&bias, "bias"}}) {
      parameter->name = name;
      parameter->variable.value = Tensor::zeros(parameter == &weight ? Shape{3, 4} : Shape{3});
      parameter->set_trainable(true);
    }
  }
  Parameter weight, bias;
  Parameter* all[2] = {&weight, &bias};
};

void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    EXPECT_NEAR(got.f32()[i], expected.f32()[i], 2e-6 * std::max(1.0, std::fabs(double{expected.f32()[i]})))
        << what;
}

TEST(WeightEma, AveragesAreTorchs) {
  const auto file = formats::SafetensorsFile::open(testing::golden("training-pieces/golden.safetensors"));
  for (const bool warm : {false, true}) {
    Weights weights;
    ThreadPool pool(2);
    WeightEma average(weights.all, 0.9, warm);
    for (int t = 0; t < 12; ++t) {
      for (Parameter* parameter : weights.all) {
        const Tensor value = file->tensor("ema." + parameter->name + "." + std::to_string(t));
        std::memcpy(parameter->value().data(), value.data(), value.bytes());
      }
      average.update(pool, t + 1);
      average.exchange();
      for (Parameter* parameter : weights.all) {
        const std::string name =
            (warm ? "ema.warm." : "ema.average.") + parameter->name + "." + std::to_string(t);
        expect_near(parameter->value(), file->tensor(name), name);
      }
      average.exchange();
    }
  }
}

// A checkpoint contains the averages as the model's weights, and the trained weights as additional tensors.
TEST(WeightEma, RestoresWeightsAndAverages) {
  ThreadPool pool(1);
  Weights weights, other;
  WeightEma average(weights.all, 0.5, false), restored(other.all, 0.5, false);
  const auto set = [&](float value) { std::fill_n(weights.bias.value().f32(), 3, value); };
  set(1.0f);
  average.update(pool, 1);
  set(2.0f);
  average.update(pool, 2);
  average.exchange();
  const testing::TemporaryFolder folder;
  formats::write_safetensors(folder / "o.safetensors", average.state());
  std::memcpy(other.bias.value().data(), weights.bias.value().data(), other.bias.value().bytes());
  EXPECT_EQ(other.bias.value().f32()[0], 1.5f);
  restored.restore(*formats::SafetensorsFile::open(folder / "o.safetensors"));
  EXPECT_EQ(other.bias.value().f32()[0], 2.0f);
  std::fill_n(other.bias.value().f32(), 3, 4.0f);
  restored.update(pool, 3);
  restored.exchange();
  EXPECT_EQ(other.bias.value().f32()[0], 2.75f);

  Weights wrong;
  wrong.bias.name = "elsewhere";
  WeightEma misfit(wrong.all, 0.5, false);
  EXPECT_REGARD_ERROR(misfit.restore(*formats::SafetensorsFile::open(folder / "o.safetensors")),
                      ErrorKind::bad_file, "weight.elsewhere");
  // Tensors of another shape or type are refused.
  for (const Tensor& saved : {Tensor::zeros({4}), Tensor::zeros({3}, DType::i32)}) {
    std::vector<formats::NamedTensor> state = average.state();
    state.back().tensor = saved;
    formats::write_safetensors(folder / "changed.safetensors", state);
    EXPECT_REGARD_ERROR(restored.restore(*formats::SafetensorsFile::open(folder / "changed.safetensors")),
                        ErrorKind::bad_file, "does not match the model");
  }
}

TEST(WeightEma, WithoutADecayThereIsNoAverage) {
  ThreadPool pool(1);
  Weights weights;
  WeightEma none(weights.all, 0.0, false);
  none.update(pool, 1);
  none.exchange();
  EXPECT_FALSE(none.active());
  EXPECT_TRUE(none.state().empty());
}

}  // namespace
}  // namespace regard::train
