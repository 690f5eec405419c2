// Scaled rotary positions (llama3, yarn, linear) compared with transformers, also beyond the original maximum
// position.
#include <gtest/gtest.h>

#include "formats/model_folder.h"
#include "inspect/run_tensors.h"
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

}  // namespace
}  // namespace regard::testing
