// computed(): the number of sessions in the last forward pass.
#include <gtest/gtest.h>

#include "session_case.h"

namespace regard::infer {
namespace {

TEST(ComputedSessions, AreThoseOfTheLastPass) {
  const std::unique_ptr<Network> model = testing::session_model("gpt");
  ThreadPool pool(1);
  testing::SessionRecord record;
  SearchOptions options;
  options.max_new = 1;
  Sessions sessions(*model, pool, options, record, {.tokens_at_once = 1});
  EXPECT_EQ(sessions.computed(), 0);
  const auto join = [&] { return sessions.join(request_of(*model, testing::random_tokens({1}, 29, 1)[0])); };
  join(), join();
  EXPECT_TRUE(sessions.step());
  EXPECT_EQ(sessions.computed(), 1) << "the other session waits for its prefill";
  EXPECT_EQ(sessions.running(), 1);
  EXPECT_TRUE(sessions.step());
  EXPECT_EQ(sessions.computed(), 1) << "it ended in this step";
  EXPECT_EQ(sessions.running(), 0);
  EXPECT_EQ(record.results.size(), 2u);
  sessions.cancel(join());
  EXPECT_TRUE(sessions.step());
  EXPECT_EQ(sessions.computed(), 0) << "the step only reported the end";
  EXPECT_FALSE(sessions.step());
}

}  // namespace
}  // namespace regard::infer
