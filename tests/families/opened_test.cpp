// Folders that a strict reader would reject but transformers accepts: heads not tied to the embeddings,
// encoders without a pooler, a pooler in a model with another head, and models of images and sounds.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

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

}  // namespace
}  // namespace regard::testing
