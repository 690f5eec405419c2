// XLM-RoBERTa differs from RoBERTa only in names: transformers' XLMRobertaForMaskedLM gives the golden logits
// of hf-tiny/roberta for the same weights.
#include <gtest/gtest.h>

#include "base/json.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

TEST(XlmRoberta, IsRobertaUnderAnotherName) {
  const testing::HfFolder roberta("roberta");
  const testing::TemporaryFolder folder;
  Json config = read_json((roberta.path / "config.json").string());
  config["model_type"] = "xlm-roberta", config["architectures"] = {"XLMRobertaForMaskedLM"};
  testing::write_file(folder.path(), "config.json", config.dump());
  std::filesystem::copy(roberta.path / "model.safetensors", folder / "model.safetensors");
  const auto model = load_model(formats::ModelFolder::open(folder.path()));
  EXPECT_EQ(model->config()["model_type"], "xlm-roberta") << "it is saved as what it was";
  ThreadPool pool(1);
  inspect::TensorRunOptions options;
  options.compute_padding = true;
  const inspect::TensorMap results = inspect::run_tensors(*model, pool, roberta.inputs, options);
  EXPECT_LE(testing::output_error(results.at("logits"), roberta.golden.tensor("logits")), 1.0);
}

}  // namespace
}  // namespace regard::testing
