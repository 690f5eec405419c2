// No allocation in a steady step: after warm-up, training and decoding allocate nothing.
#include "nn/cache.h"
#include "ops/parameter.h"
#include "support/count_allocations.h"

#include <gtest/gtest.h>

#include <numeric>

#include "inspect/attention_view.h"
#include "kernels/rows.h"
#include "ops/ragged.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using testing::allocated_bytes;
using testing::allocation_count;
using testing::Tokens;

class Allocation : public ::testing::TestWithParam<std::string> {};

TEST_P(Allocation, CountingWorks) {
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const std::int64_t before = allocation_count;
  // a call of the function, because the compiler may remove a new-expression
  void* const memory = ::operator new(100);
  EXPECT_GT(allocation_count, before);
  ::operator delete(memory);
}

TEST_P(Allocation, ATrainingStepAllocatesNothing) {
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const std::unique_ptr<Network> model = testing::tiny_model(GetParam());
  model->set_trainable(true);
  const bool both = model->kind() == ModelKind::encoder_decoder;
  testing::Runner runner(
      *model,
      both ? testing::random_tokens({9, 20, 3}, model->source_vocabulary(), 1) : std::vector<Tokens>{},
      testing::random_tokens({12, 7, 30}, model->vocabulary(), 2), 2);
  const std::vector<Parameter*> parameters = model->parameters();
  for (int step = 0; step < 8; ++step) {
    const std::int64_t before = allocation_count;
    for (Parameter* parameter : parameters) parameter->clear_gradient();
    runner.loss(static_cast<std::uint64_t>(step), true);
    double norm = 0.0;
    for (const Parameter* parameter : parameters)
      norm += kernels::sum_of_squares(runner.pool(), parameter->gradient().f32(),
                                      parameter->gradient().elements());
    const std::int64_t made = allocation_count - before;
    EXPECT_GT(norm, 0.0);
    if (step >= 3) {
      EXPECT_EQ(made, 0) << "in step " << step;
    }
  }
}

TEST_P(Allocation, ADecodingStepAllocatesNothing) {
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const std::unique_ptr<Network> model = testing::tiny_model(GetParam());
  ThreadPool pool(2);
  model->prepare_for_inference(pool);
  Arena source_arena, arena;
  Tape source_tape(pool, source_arena), tape(pool, arena);
  source_tape.begin({});
  testing::Side source, target;
  Memory memory;
  if (model->kind() == ModelKind::encoder_decoder) {
    for (const Tokens& tokens : testing::random_tokens({4, 11, 2}, model->source_vocabulary(), 3)) {
      source.ids.insert(source.ids.end(), tokens.begin(), tokens.end());
      source.buffer.add(std::ssize(tokens), 0);
    }
    memory = {model->encode(source_tape, source.batch()), source.buffer.view()};
  }
  Cache cache(model->cache_shape(), 3, 64);
  const std::vector<std::int32_t> slots{0, 1, 2}, swapped{1, 1, 0};
  target.ids = {5, 6, 7};
  for (int step = 0; step < 12; ++step) {
    const std::int64_t before = allocation_count;
    target.buffer.clear();
    for (std::uint64_t i = 0; i < 3; ++i) target.buffer.add(1, i, step);
    cache.select(slots);
    tape.begin({});
    Var logits = model->logits(tape, model->decode(tape, target.batch(), &memory, &cache));
    cache.reorder(swapped);
    const std::int64_t made = allocation_count - before;
    EXPECT_EQ(logits->value.rows(), 3);
    if (step >= 3) {
      EXPECT_EQ(made, 0) << "in step " << step;
    }
  }
}

// Only the weights of the selected heads are stored, even during the pass.
TEST_P(Allocation, CapturedWeightsAreTheOnlyOnesStored) {
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  const std::unique_ptr<Network> model = testing::tiny_model(GetParam());
  ThreadPool pool(1);
  const std::int64_t tokens = 180;
  const Tokens target = testing::random_tokens({tokens}, model->vocabulary(), 4)[0];
  const auto bytes_of = [&](const inspect::Selection& selection) {
    const std::int64_t before = allocated_bytes;
    inspect::Capture capture(selection);
    inspect::run_with_probe(*model, pool, Tokens{1, 2, 3}, target, &capture);
    capture.check();
    return allocated_bytes - before;
  };
  inspect::Selection none, one, two;
  none.weights = false;
  one.kinds = two.kinds = {inspect::Kind::decoder}, one.layers = two.layers = {1};
  one.heads = {2}, two.heads = {0, 3};
  const std::int64_t weights = tokens * tokens * static_cast<std::int64_t>(sizeof(float)), rest = weights / 4;
  bytes_of(one);  // warm-up
  const std::int64_t without = bytes_of(none);
  for (const auto& [selection, heads] : {std::pair(one, 1), std::pair(two, 2)}) {
    const std::int64_t more = bytes_of(selection) - without;
    EXPECT_GE(more, heads * weights);
    EXPECT_LT(more, heads * weights + rest);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Allocation, ::testing::ValuesIn(testing::tiny_model_names()));

}  // namespace
}  // namespace regard::testing
