// Options of GPT-2 that no golden file uses.
#include <gtest/gtest.h>

#include "models/weights.h"
#include "support/changed_model.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

// Divide the queries of each layer by the layer's number, counted from 1.
void divide_queries(const std::string& name, const Tensor& weight) {
  constexpr std::int64_t kHidden = 32;  // the joint weights contain the queries in their first columns
  const std::size_t layers = name.find(".h.");
  if (layers == name.npos || (name.find(".attn.c_attn.") == name.npos && name.find(".q_attn.") == name.npos))
    return;
  const float number = 1.0f + static_cast<float>(std::stoi(name.substr(layers + 3)));
  for (std::int64_t row = 0; row < weight.rows(); ++row)
    for (std::int64_t i = 0; i < kHidden; ++i) weight.row(row)[i] /= number;
}

// scale_attn_by_inverse_layer_idx divides the scores of self- and cross-attention by the layer's number.
TEST(Gpt2, ScoresAreDividedByTheNumberOfTheLayer) {
  ThreadPool pool(1);
  const TemporaryFolder folder;
  for (const std::string name : {"gpt2", "vit-gpt2"}) {
    const HfFolder original(name);
    copy_changed_model(original.path, folder / name, divide_queries);
    const auto logits = [&](const std::filesystem::path& path, bool by_layer, bool by_size) {
      formats::ModelFolder model = formats::ModelFolder::open(path);
      Json& config = model.config.contains("decoder") ? model.config["decoder"] : model.config;
      config["scale_attn_by_inverse_layer_idx"] = by_layer, config["scale_attn_weights"] = by_size;
      inspect::TensorRunOptions options;
      options.capture = {"logits"}, options.compute_padding = true;
      return inspect::run_tensors(*load_model(model), pool, original.inputs, options).at("logits");
    };
    EXPECT_LE(output_error(logits(original.path, false, true), original.golden.tensor("logits")), 1.0);
    for (const bool by_size : {true, false}) {
      const Tensor found = logits(original.path, true, by_size);
      EXPECT_LE(output_error(found, logits(folder / name, false, by_size)), 1.0) << name << by_size;
      EXPECT_GT(output_error(found, logits(original.path, false, by_size)), 10.0) << name << by_size;
    }
  }
}

}  // namespace
}  // namespace regard::testing
