// Long searches: memory grows with the number of generated tokens, and max_new above kMostNewTokens is
// rejected.
#include <gtest/gtest.h>

#include "infer/hypotheses.h"
#include "infer/stoppable_search.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::infer {
namespace {

using testing::tiny_model;
using testing::Tokens;

// A length limit larger than memory reserves no memory in advance.
TEST(LongSearch, AHugeLimitTakesNoMemory) {
  ThreadPool pool(1);
  for (const std::int64_t beam : {1, 3}) {
    const auto model = tiny_model("translator");
    const std::vector<Tokens> sources = testing::random_tokens({5, 9}, model->source_vocabulary(), 3);
    SearchOptions options;
    options.start_token = 2;
    options.beam = beam;
    options.max_new = kMostNewTokens;
    int steps = 0;
    translate(*model, pool, sources, options, [&steps] { return ++steps == 20; });
    EXPECT_EQ(steps, 20);
  }
}

// When the memory of a search grows, sequences and the key/value cache keep their contents, so results do not
// change.
TEST(LongSearch, GoesOnPastTheFirstMemory) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "takes more than ten minutes with the thread sanitizer";
#endif
  ThreadPool pool(2);
  const auto model = tiny_model("llama");
  const std::vector<Tokens> prompts = testing::random_tokens({4}, model->vocabulary(), 7);
  SearchOptions options;
  options.sample = true, options.n_best = 2, options.seed = 5;
  options.max_new = kFirstCapacity;
  const auto whole = generate(*model, pool, prompts, options)[0];
  options.max_new = kFirstCapacity + 40;
  const auto longer = generate(*model, pool, prompts, options)[0];
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(longer[i].tokens.size(), static_cast<std::size_t>(kFirstCapacity + 40));
    EXPECT_TRUE(std::equal(whole[i].tokens.begin(), whole[i].tokens.end(), longer[i].tokens.begin()));
    EXPECT_EQ(longer[i].token_log_probabilities.size(), longer[i].tokens.size());
  }
  EXPECT_NE(longer[0].tokens, longer[1].tokens);
  // Greedy decoding from a prefix of the greedy result gives the same continuation.
  options.sample = false, options.n_best = 1;
  const auto greedy = generate(*model, pool, prompts, options)[0][0].tokens;
  Tokens prompt = prompts[0];
  prompt.insert(prompt.end(), greedy.begin(), greedy.end() - 60);
  options.max_new = 60;
  const auto tail = generate(*model, pool, std::vector<Tokens>{prompt}, options)[0][0].tokens;
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), greedy.end() - 60));
}

TEST(LongSearch, BeyondTheBoundIsRefused) {
  SearchOptions options;
  options.max_new = kMostNewTokens + 1;
  EXPECT_REGARD_ERROR(options.check(), ErrorKind::usage, "at most 2147483647");
  options.max_new = 0, options.max_length = kMostNewTokens + 1;
  EXPECT_REGARD_ERROR(options.check(), ErrorKind::usage, "at most 2147483647");
}

TEST(LongSearch, AStopReturnsNothing) {
  ThreadPool pool(1);
  const auto model = tiny_model("llama");
  SearchOptions options;
  options.max_new = 50;
  int steps = 0;
  const auto results = generate(*model, pool, testing::random_tokens({4, 6}, model->vocabulary(), 7), options,
                                [&steps] { return ++steps == 5; });
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(steps, 5);
}

}  // namespace
}  // namespace regard::infer
