// The average of the weights of several checkpoints.
#include "train/weight_average.h"

#include <gtest/gtest.h>

#include <functional>

#include "formats/safetensors.h"
#include "ops/parameter.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tiny_task.h"

namespace regard::train {
namespace {

class WeightAverage : public ::testing::Test {
 protected:
  // Write a checkpoint whose weights all have the value `value`. `change` may change its tensors.
  void write(const std::string& name, float value,
             const std::function<void(std::vector<formats::NamedTensor>&)>& change = {}) {
    std::vector<formats::NamedTensor> tensors;
    for (const Parameter* parameter : model_->parameters()) {
      tensors.push_back({parameter->name, Tensor::zeros(parameter->value().shape())});
      std::fill_n(tensors.back().tensor.f32(), tensors.back().tensor.elements(), value);
    }
    if (change) change(tensors);
    std::filesystem::create_directories(folder_ / name);
    formats::write_safetensors(folder_ / name / "model.safetensors", tensors, {{"format", "pt"}});
    checkpoints_.push_back(folder_ / name);
  }
  void expect_all(float value) {
    for (const Parameter* parameter : model_->parameters())
      for (std::int64_t i = 0; i < parameter->value().elements(); ++i)
        ASSERT_EQ(parameter->value().f32()[i], value) << parameter->name;
  }

  const regard::testing::TemporaryFolder folder_;
  const std::unique_ptr<Network> model_ = testing_task::tiny_model();
  std::vector<std::filesystem::path> checkpoints_;
};

TEST_F(WeightAverage, IsTheMeanOfAllCheckpoints) {
  write("1", 0.25f);
  average_weights(*model_, checkpoints_);
  expect_all(0.25f);
  write("2", 1.0f);
  write("3", -2.0f);
  write("4", 8.75f);
  average_weights(*model_, checkpoints_);
  expect_all(2.0f);
}

// The weights are summed in double precision. In single precision, 1e8 + 1 is 1e8.
TEST_F(WeightAverage, KeepsSmallValuesBesideLargeOnes) {
  write("1", 1e8f);
  write("2", 1.0f);
  write("3", -1e8f);
  write("4", 1.0f);
  average_weights(*model_, checkpoints_);
  expect_all(0.5f);
}

TEST_F(WeightAverage, CheckpointsThatDoNotMatchTheModelAreRefused) {
  const std::string name = model_->parameters()[0]->name;
  const Shape shape = model_->parameters()[0]->value().shape();
  write("1", 1.0f);
  write("other-shape", 1.0f, [](std::vector<formats::NamedTensor>& tensors) {
    tensors[0].tensor = Tensor::zeros({2, 3});
  });
  const Shape other{2, 3};
  EXPECT_REGARD_ERROR(
      average_weights(*model_, checkpoints_), ErrorKind::bad_file,
      "'" + name + "' does not match the model (expected " + shape.text() + ", found " + other.text() + ")");
  checkpoints_.pop_back();
  write("other-type", 1.0f, [&](std::vector<formats::NamedTensor>& tensors) {
    tensors[0].tensor = Tensor::zeros(shape, DType::i64);
  });
  EXPECT_REGARD_ERROR(average_weights(*model_, checkpoints_), ErrorKind::bad_file,
                      "'" + name + "' does not match the model");
}

}  // namespace
}  // namespace regard::train
