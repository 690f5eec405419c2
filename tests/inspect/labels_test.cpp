// Labels of tensors and of lines.
#include <gtest/gtest.h>

#include "inspect/run_tensors.h"
#include "inspect/study_data.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

// Labels that are not a class of the model are rejected by their 64-bit value: truncated to 32 bits, 2^32 + 1
// would be 1.
TEST(Labels, AreCheckedBeforeTheyAreNarrowed) {
  const testing::Golden golden("hf-more", "bert-nli");
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::golden("hf-more/bert-nli")));
  inspect::TensorMap inputs;
  for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
    inputs[name] = golden.tensor(name);
  const std::int64_t batch = inputs["input_ids"].shape()[0];
  Tensor labels = Tensor::empty({batch}, DType::i64);
  const auto run = [&](std::int64_t label) {
    for (std::int64_t i = 0; i < batch; ++i) labels.i64()[i] = label;
    inputs["labels"] = labels;
    return inspect::run_tensors(*model, pool, inputs, {});
  };
  EXPECT_NO_THROW(run(1));
  for (const std::int64_t wrong :
       {(std::int64_t{1} << 32) + 1, std::int64_t{-1}, std::int64_t{5}, -(std::int64_t{1} << 32) - 100})
    EXPECT_REGARD_ERROR(run(wrong), ErrorKind::invalid_input, std::to_string(wrong));
}

// As in regard evaluate, a number is an index only if the names of the labels are no numbers.
TEST(Labels, NamesThatAreNumbersAreNoIndices) {
  formats::ModelFolder folder = formats::ModelFolder::open(testing::golden("hf-more/bert-nli"));
  const auto names = load_model(folder);
  EXPECT_EQ(inspect::class_of(*names, "neutral"), 1);
  EXPECT_EQ(inspect::class_of(*names, "2"), 2);
  EXPECT_REGARD_ERROR(inspect::class_of(*names, "3"), ErrorKind::invalid_input, "entailment, neutral");
  folder.config["id2label"] = {{"0", "2"}, {"1", "0"}, {"2", "3"}};
  const auto numbers = load_model(folder);
  EXPECT_EQ(inspect::class_of(*numbers, "2"), 0);
  EXPECT_EQ(inspect::class_of(*numbers, "0"), 1);
  EXPECT_EQ(inspect::class_of(*numbers, "3"), 2);
  EXPECT_REGARD_ERROR(inspect::class_of(*numbers, "1"), ErrorKind::invalid_input, "no such label");
}

}  // namespace
}  // namespace regard::testing
