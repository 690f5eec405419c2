// For every family, results are bit-identical regardless of the number of threads and of what else is in the
// batch.
#include <gtest/gtest.h>

#include <cstring>

#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using inspect::TensorMap;
using testing::HfFolder;

TensorMap run(Network& model, int threads, const TensorMap& inputs) {
  ThreadPool pool(threads);
  inspect::TensorRunOptions options;
  options.capture = {"last_hidden_state",
                     "encoder_last_hidden_state",
                     "logits",
                     "start_logits",
                     "pooler_output",
                     "hidden_states",
                     "attentions"};
  return inspect::run_tensors(model, pool, inputs, options);
}

// Return rows [first, first + count) of the batch, without the inputs that only the loss uses.
TensorMap rows(const TensorMap& inputs, std::int64_t first, std::int64_t count) {
  TensorMap some;
  for (const auto& [name, tensor] : inputs)
    if (!name.starts_with("loss_weight.") && name != "labels" && !name.ends_with("_positions"))
      some[name] = tensor.slice_rows(first, first + count).clone();
  return some;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class FamilyBits : public ::testing::TestWithParam<std::string> {};

TEST_P(FamilyBits, ForAnyNumberOfThreadsAndAnyCompany) {
  const HfFolder folder(GetParam());
  const auto model = load_model(formats::ModelFolder::open(folder.path));
  const std::int64_t batch = folder.inputs.begin()->second.shape()[0];
  const TensorMap inputs = rows(folder.inputs, 0, batch);
  const TensorMap expected = run(*model, 1, inputs);
  ASSERT_GT(expected.size(), 3u);
  for (const int threads : {2, 3, 8})
    for (const auto& [name, value] : run(*model, threads, inputs))
      EXPECT_TRUE(same_bits(value, expected.at(name))) << name << " with " << threads << " threads";
  for (std::int64_t b = 0; b < batch; ++b)
    for (const auto& [name, value] : run(*model, 2, rows(inputs, b, 1)))
      EXPECT_TRUE(same_bits(value, expected.at(name).slice_rows(b, b + 1)))
          << name << " of " << b << " alone";
  ThreadPool pool(2);
  model->prepare_for_inference(pool);
  for (const auto& [name, value] : run(*model, 2, inputs))
    EXPECT_TRUE(same_bits(value, expected.at(name))) << name << " with weights prepared";
}

// Negative control: another sequence gives other bits, so the comparison can fail.
TEST(FamilyBitsControl, OtherInputsGiveOtherBits) {
  const HfFolder folder("gpt2");
  const auto model = load_model(formats::ModelFolder::open(folder.path));
  EXPECT_FALSE(same_bits(run(*model, 1, rows(folder.inputs, 0, 1)).at("logits"),
                         run(*model, 1, rows(folder.inputs, 1, 1)).at("logits")));
}

INSTANTIATE_TEST_SUITE_P(Folders, FamilyBits, ::testing::ValuesIn(testing::hf_folder_names()),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace regard::testing
