// wav2vec 2.0 with convolutions after the encoder (add_adapter): int8 weights, and weights that a folder
// lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(Downsampled, Int8IsNearTransformers) {
  ThreadPool pool(2);
  for (const char* name : {"wav2vec2-downsampled", "wav2vec2-downsampled-mask"}) {
    const HfFolder folder(name);
    const auto model = load_model(formats::ModelFolder::open(folder.path), WeightMode::int8);
    model->prepare_for_inference(pool);
    inspect::TensorMap inputs = folder.inputs;
    std::erase_if(inputs, [](const auto& input) { return input.first.starts_with("loss_weight."); });
    inputs.erase("labels");
    const inspect::TensorMap results = inspect::run_tensors(*model, pool, inputs, {});
    const char* output = folder.golden.has("logits") ? "logits" : "last_hidden_state";
    const Tensor golden = folder.golden.tensor(output), value = results.at(output);
    ASSERT_EQ(value.shape(), golden.shape());
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < golden.elements(); ++i) {
      difference += std::pow(static_cast<double>(value.f32()[i] - golden.f32()[i]), 2);
      size += std::pow(static_cast<double>(golden.f32()[i]), 2);
    }
    EXPECT_GT(difference, 0.0) << name;
    EXPECT_LT(std::sqrt(difference / size), 0.05) << name;
    const auto all = model->parameters();
    const auto projection = std::ranges::find_if(
        all, [](const Parameter* one) { return one->name.ends_with("adapter.proj.weight"); });
    ASSERT_NE(projection, all.end());
    EXPECT_TRUE((*projection)->is_held()) << name;
  }
}

TEST(Downsampled, WeightsMustMatchTheConfig) {
  const HfFolder folder("wav2vec2-downsampled-mask");
  const TemporaryFolder place;
  std::filesystem::copy(folder.path / "model.safetensors", place / "model.safetensors");
  const auto open = [&](const char* key, const Json& value) {
    Json config = read_json((folder.path / "config.json").string());
    config[key] = value;
    write_file_atomically(place / "config.json", config.dump());
    (void)load_model(formats::ModelFolder::open(place.path()));
  };
  open("adapter_stride", 5);
  EXPECT_REGARD_ERROR(open("num_adapter_layers", 3), ErrorKind::bad_file, "adapter.layers.2.conv");
  EXPECT_REGARD_ERROR(open("num_adapter_layers", 1), ErrorKind::bad_file, "adapter.layers.1.conv");
  EXPECT_REGARD_ERROR(open("adapter_kernel_size", 2), ErrorKind::bad_file, "adapter.layers.0.conv.weight");
  EXPECT_REGARD_ERROR(open("output_hidden_size", 16), ErrorKind::bad_file, "adapter");
  EXPECT_REGARD_ERROR(open("add_adapter", false), ErrorKind::bad_file, "adapter");
}

}  // namespace
}  // namespace regard::testing
