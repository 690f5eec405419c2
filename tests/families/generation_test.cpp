// Generation by the models of hf-tiny and hf-more, compared with transformers: ids equal, scores within 1e-4.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "infer/folder_options.h"
#include "inspect/generate_tensors.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

using testing::Golden;

// Generates with the settings of generation_config.json, overridden by the arguments of a golden case.
class Generator {
 public:
  Generator(const std::string& set, const std::string& name)
      : golden_(set, name),
        folder_(formats::ModelFolder::open(testing::golden(set + "/" + name))),
        model_(load_model(folder_)),
        pool_(2) {
    for (const char* input : {"input_ids", "attention_mask", "pixel_values", "input_features"})
      if (golden_.has(input)) inputs_[input] = golden_.tensor(input);
  }

  inspect::TensorMap generate(const Json& arguments) {
    formats::ModelFolder folder = folder_;
    if (!folder.generation_config) folder.generation_config = Json::object();
    for (const auto& [key, value] : arguments.items()) (*folder.generation_config)[key] = value;
    infer::SearchOptions options = infer::search_options_of(folder);
    options.n_best = arguments.value("num_return_sequences", std::int64_t{1});
    return inspect::generate_tensors(*model_, pool_, inputs_, options);
  }

  void expect(const inspect::TensorMap& found, const std::string& ids, const std::string& scores,
              const std::string& what) const {
    const Tensor golden = golden_.tensor(ids), sequences = found.at("sequences");
    ASSERT_EQ(sequences.shape().text(), golden.shape().text()) << what;
    for (std::int64_t i = 0; i < golden.elements(); ++i)
      ASSERT_EQ(sequences.i64()[i], golden.i64()[i])
          << what << ", row " << i / golden.shape()[1] << ", place " << i % golden.shape()[1];
    if (!golden_.has(scores)) return;
    const Tensor expected = golden_.tensor(scores);
    const float* const actual = found.at("sequences_scores").f32();
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      EXPECT_NEAR(actual[i], expected.f32()[i], 1e-4f * std::max(1.0f, std::abs(expected.f32()[i]))) << what;
  }

  const Golden& golden() const { return golden_; }

 private:
  Golden golden_;
  formats::ModelFolder folder_;
  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  inspect::TensorMap inputs_;
};

TEST(Generation, EveryFolderGeneratesWhatTransformersGenerates) {
  std::size_t compared = 0;
  for (const std::string& name : testing::hf_folder_names()) {
    Generator generator("hf-tiny", name);
    if (!generator.golden().about().contains("generation")) continue;
    for (const auto& [generation, about] : generator.golden().about()["generation"].items()) {
      generator.expect(generator.generate(about["arguments"]), generation, generation + "_score",
                       name + ", " + generation);
      ++compared;
    }
  }
  EXPECT_GE(compared, 18u);
}

TEST(Generation, EveryCombinationOfOptions) {
  for (const std::string& name : std::vector<std::string>{"generation-gpt2", "generation-bart"}) {
    Generator generator("hf-more", name);
    const Json cases = read_json((testing::golden("hf-more/" + name) / "generation.json").string());
    ASSERT_EQ(cases.size(), 30u);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Json& arguments = cases[i]["arguments"];
      generator.expect(generator.generate(arguments), "ids." + std::to_string(i),
                       "scores." + std::to_string(i),
                       name + " " + std::to_string(i) + " " + arguments.dump());
    }
  }
}

}  // namespace
}  // namespace regard::testing
