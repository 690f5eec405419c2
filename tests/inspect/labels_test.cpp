// Labels that are not a class of the model are rejected by their 64-bit value: truncated to 32 bits, 2^32 + 1
// would be 1.
#include <gtest/gtest.h>

#include "inspect/run_tensors.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(Labels, AreCheckedBeforeTheyAreNarrowed) {
  const testing::Golden golden("hf-more", "bert-multilabel");
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::golden("hf-more/bert-multilabel")));
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

}  // namespace
}  // namespace regard::testing
