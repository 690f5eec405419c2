// Folders that a strict reader would reject but transformers accepts: heads not tied to the embeddings,
// encoders without a pooler, a pooler in a model with another head, and models of images and sounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "models/weights.h"
#include "ops/parameter.h"
#include "support/changed_model.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

using testing::Golden;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& item : std::filesystem::directory_iterator(testing::golden("hf-open")))
    if (item.is_directory()) all.push_back(item.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

class Opened : public ::testing::TestWithParam<std::string> {};

TEST_P(Opened, ComputesWhatTransformersComputes) {
  const Golden golden("hf-open", GetParam());
  const auto model = load_model(formats::ModelFolder::open(testing::golden("hf-open") / GetParam()));
  inspect::TensorMap inputs;
  for (const char* name :
       {"input_ids", "decoder_input_ids", "pixel_values", "input_values", "input_features"})
    if (golden.has(name)) inputs[name] = golden.tensor(name);
  ThreadPool pool(2);
  const inspect::TensorMap results = inspect::run_tensors(*model, pool, inputs, {});
  for (const Json& output : golden.about()["outputs"]) {
    const auto name = output.get<std::string>();
    ASSERT_TRUE(results.count(name)) << name;
    EXPECT_LE(testing::output_error(results.at(name), golden.tensor(name)), 1.0) << name;
  }
  EXPECT_EQ(results.count("pooler_output") != 0, golden.has("pooler_output"));
}

INSTANTIATE_TEST_SUITE_P(Folders, Opened, ::testing::ValuesIn(names()), [](const auto& about) {
  std::string name = about.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Return the states of the encoder for three equal tokens, for the folder of a Pegasus model.
Tensor states_of_equal_tokens(const std::filesystem::path& folder) {
  const auto model = load_model(formats::ModelFolder::open(folder));
  inspect::TensorMap inputs;
  for (const char* name : {"input_ids", "decoder_input_ids"}) {
    inputs[name] = Tensor::empty({1, 3}, DType::i64);
    std::fill_n(inputs[name].i64(), 3, 5);
  }
  ThreadPool pool(1);
  inspect::TensorRunOptions options;
  options.capture = {"encoder_last_hidden_state"};
  return inspect::run_tensors(*model, pool, inputs, options).at("encoder_last_hidden_state");
}

// transformers computes the sinusoids of Pegasus and Marian only if the file has no position table.
TEST(StoredSinusoids, ReplaceTheComputedOnes) {
  const std::filesystem::path original = testing::golden("hf-open") / "pegasus";
  const TemporaryFolder folder;
  copy_changed_model(original, folder / "changed", [](const std::string& name, const Tensor& weight) {
    if (name.ends_with("embed_positions.weight")) std::fill_n(weight.f32(), weight.elements(), 0.25f);
  });
  const Tensor usual = states_of_equal_tokens(original).reshape({3, 16});
  EXPECT_GT(output_error(usual.slice_rows(0, 1), usual.slice_rows(1, 2)), 10.0);
  const Tensor states = states_of_equal_tokens(folder / "changed").reshape({3, 16});
  EXPECT_LE(output_error(states.slice_rows(1, 2), states.slice_rows(0, 1)), 1.0);
  EXPECT_LE(output_error(states.slice_rows(2, 3), states.slice_rows(0, 1)), 1.0);

  const formats::ModelFolder changed = formats::ModelFolder::open(folder / "changed");
  const auto model = load_model(changed);
  model->set_trainable(true);
  std::size_t tables = 0;
  for (const Parameter* parameter : model->parameters()) {
    if (!parameter->name.ends_with("embed_positions.weight")) continue;
    EXPECT_FALSE(parameter->variable.gradient.defined()) << parameter->name;
    ++tables;
  }
  EXPECT_EQ(tables, 2u);
  save_model(*model, changed, folder / "saved");
  const Tensor saved = states_of_equal_tokens(folder / "saved");
  EXPECT_EQ(std::memcmp(saved.f32(), states.f32(), states.bytes()), 0);
}

}  // namespace
}  // namespace regard::testing
