// No allocation in a steady decoding step (no request joins or ends): greedy, beam and sampling.
#include "support/count_allocations.h"

#include <gtest/gtest.h>

#include "infer/scheduler.h"
#include "plain_search.h"

namespace regard::infer {
namespace {

class Ignored : public Listener {
 public:
  void token(std::uint64_t, std::int64_t, std::int32_t) override { ++tokens; }
  void finished(std::uint64_t, std::vector<Hypothesis>) override { ++done; }
  int tokens = 0, done = 0;
};

void expect_steady(const std::string& name, const SearchOptions& options) {
  ThreadPool pool(2);
  const std::unique_ptr<Network> model = testing::opinionated_model(name);
  model->prepare_for_inference(pool);
  Ignored listener;
  Scheduler scheduler(*model, pool, options, listener);
  for (const testing::Tokens& tokens : testing::random_tokens({4, 11, 2}, 29, 3))
    scheduler.submit(request_of(*model, tokens));
  for (int step = 0; step < 30; ++step) {
    const std::int64_t before = testing::allocation_count;
    ASSERT_TRUE(scheduler.step());
    const std::int64_t made = testing::allocation_count - before;
    ASSERT_EQ(scheduler.running(), 3);
    if (step >= 4) {
      ASSERT_EQ(made, 0) << name << ", step " << step;
    }
  }
  EXPECT_EQ(listener.done, 0);
}

TEST(SteadyStep, AllocatesNothing) {
  if (!testing::counting()) GTEST_SKIP() << "a sanitizer owns the allocator";
  SearchOptions greedy;
  greedy.start_token = 2;
  greedy.max_new = 100;  // there is no end token, so no request ends
  SearchOptions beam = greedy;
  beam.beam = beam.n_best = 4;
  SearchOptions sampled = greedy;
  sampled.sample = true;
  sampled.n_best = 2;
  sampled.top_p = 0.9;
  for (const std::string& name : testing::tiny_model_names())
    for (const SearchOptions& options : {greedy, beam, sampled}) expect_steady(name, options);
}

}  // namespace
}  // namespace regard::infer
