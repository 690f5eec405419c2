// A long prompt is prefilled in slices. Later slices are shorter, because their tokens attend to more earlier
// tokens.
#include <gtest/gtest.h>

#include "infer/sessions.h"
#include "session_case.h"

namespace regard::infer {
namespace {

using testing::alone;
using testing::same_bits;
using testing::SessionRecord;

TEST(Slices, BecomeShorterWithTheTokensBeforeThem) {
  const auto model = testing::session_model("llama");
  ThreadPool pool(2);
  SearchOptions options;
  options.max_new = 3;
  SessionRecord record;
  Sessions sessions(*model, pool, options, record, {.rows = 2, .cache_tokens = 4096, .tokens_at_once = 32});
  constexpr std::int64_t kTokens = 1024;
  Request request = request_of(*model, testing::random_tokens({kTokens}, 29, 5)[0]);
  request.options = std::make_shared<const SearchOptions>(options);
  const std::uint64_t id = sessions.join(request);
  std::int64_t steps = 0;
  while (sessions.live() > 0) {
    sessions.step();
    steps += sessions.prefilling();
  }
  // A token at position p counts as 1 + p / (3 · hidden) tokens; the mean over the prompt is 1 + 512 / 96. If
  // every token counted as 1, the prompt would take 32 steps.
  const std::int64_t expected = 32 * (96 + kTokens / 2) / 96;
  EXPECT_GT(steps, expected * 8 / 10);
  EXPECT_LT(steps, expected * 12 / 10);
  EXPECT_TRUE(same_bits(record.results.at(id), alone(*model, request)));
}

}  // namespace
}  // namespace regard::infer
