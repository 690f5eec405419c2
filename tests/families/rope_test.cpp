// Scaled rotary positions (llama3, yarn, linear) compared with transformers, also beyond the original maximum
// position.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "formats/model_folder.h"
#include "inspect/run_tensors.h"
#include "models/families/families.h"
#include "models/stack.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

TEST(ScaledRotary, LogitsAreTransformersLogits) {
  ThreadPool pool(1);
  for (const char* scaling : {"rope-llama3", "rope-yarn", "rope-yarn-attention", "rope-linear"}) {
    const testing::Golden golden("hf-more", scaling);
    const auto model =
        load_model(formats::ModelFolder::open(testing::golden(std::string("hf-more/") + scaling)));
    const inspect::TensorMap inputs{{"input_ids", golden.tensor("input_ids")}};
    const inspect::TensorMap found = inspect::run_tensors(*model, pool, inputs, {.capture = {"logits"}});
    testing::expect_output(found.at("logits"), golden.tensor("logits"), scaling);
  }
}

// Compare the frequencies of rope-yarn (8 pairs, base 100) with changed keys: those of the first pairs are
// `kept`, as factors, and all others are divided by the factor, 4. Compare the factor of queries and keys as
// well.
void expect_yarn(const char* patch, const std::vector<double>& kept, double magnitude) {
  const ::testing::ScopedTrace trace(__FILE__, __LINE__, patch);
  Json config = read_json(testing::golden("hf-more/rope-yarn/config.json").string());
  config["rope_parameters"].merge_patch(Json::parse(patch));
  const nn::RotaryConfig rotary = families::read(config, "config.json").decoder->rotary.value();
  ASSERT_EQ(rotary.frequencies.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(rotary.frequencies[i] * std::pow(100.0, static_cast<double>(i) / 8.0),
                i < kept.size() ? kept[i] : 0.25, 1e-12)
        << i;
  EXPECT_NEAR(rotary.magnitude, magnitude, 1e-12);
}

// The pair at which a number of rotations fits into the 16 original positions is 1.62 for one rotation, and
// below 0 for 32 rotations. With 3 rotations at both ends, the first and the last pair of the ramp are equal.
TEST(ScaledRotary, RampAndMagnitudeOfYarn) {
  const double log = std::log(4.0), usual = 0.1 * log + 1.0;
  expect_yarn("{}", {1.0, 0.625}, usual);
  expect_yarn(R"({"beta_fast": 3, "beta_slow": 3})", {1.0}, usual);
  expect_yarn(R"({"mscale": 0.5})", {1.0, 0.625}, usual);
  expect_yarn(R"({"mscale_all_dim": 0.5})", {1.0, 0.625}, usual);
  expect_yarn(R"({"mscale": 0.5, "mscale_all_dim": 2})", {1.0, 0.625},
              (0.05 * log + 1.0) / (0.2 * log + 1.0));
  expect_yarn(R"({"mscale": 0.5, "mscale_all_dim": 2, "attention_factor": 3})", {1.0, 0.625}, 3.0);
}

}  // namespace
}  // namespace regard::testing
