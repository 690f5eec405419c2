// Prompts that continue the text of an ended session reuse its cache pages: the bits are the same, with less
// prefill. Short prompts do not wait for long ones.
#include <gtest/gtest.h>

#include "session_case.h"

namespace regard::infer {
namespace {

using testing::alone;
using testing::same_bits;
using testing::session_model;
using testing::SessionRecord;
using testing::Tokens;

struct Kept {
  explicit Kept(const std::string& name, std::int64_t kept, std::int64_t pages = 64, std::int64_t slice = 16)
      : model(session_model(name)),
        pool(2),
        sessions(*model, pool, options(), record,
                 {.rows = 4,
                  .cache_tokens = pages * kPageTokens,
                  .tokens_at_once = slice,
                  .kept_prefixes = kept}) {}

  static const SearchOptions& options() {
    static const SearchOptions made = [] {
      SearchOptions search;
      search.start_token = 2, search.max_new = 12;
      return search;
    }();
    return made;
  }
  Request request(Tokens prompt) const {
    Request made = request_of(*model, std::move(prompt));
    made.options = std::make_shared<const SearchOptions>(options());
    return made;
  }
  // Run the request and return the number of steps. No other request is running.
  int steps_of(const Request& one) {
    id = sessions.join(one);
    int steps = 0;
    while (sessions.step()) ++steps;
    EXPECT_TRUE(same_bits(record.results[id], alone(*model, one)));
    return steps;
  }

  std::unique_ptr<Network> model;
  ThreadPool pool;
  SessionRecord record;
  Sessions sessions;
  std::uint64_t id = 0;
};

TEST(KeptPrefix, AConversationIsNotPrefilledAgain) {
  for (const std::string name : {"gpt", "llama"}) {
    Kept with(name, 2), without(name, 0);
    Tokens conversation = testing::random_tokens({70}, 29, 3)[0];
    for (int turn = 0; turn < 3; ++turn) {
      const Request next = with.request(conversation);
      const int kept = with.steps_of(next), plain = without.steps_of(next);
      if (turn == 0)
        EXPECT_EQ(kept, plain) << name;
      else  // only the new tokens are prefilled, in one or two steps
        EXPECT_LE(kept, 12 + 1) << name << ": " << plain << " steps without";
      const Tokens written = with.record.results[with.id].at(0).tokens;
      conversation.insert(conversation.end(), written.begin(), written.end());
      const Tokens asked = testing::random_tokens({9}, 29, 50 + static_cast<std::uint64_t>(turn))[0];
      conversation.insert(conversation.end(), asked.begin(), asked.end());
    }
    EXPECT_LT(with.sessions.cache().free_pages(), with.sessions.cache().pages());
    EXPECT_EQ(without.sessions.cache().free_pages(), without.sessions.cache().pages());
  }
}

TEST(KeptPrefix, GivesItsPagesToRequestsThatNeedThem) {
  // The cache has 8 pages and each request takes 3 to 6, so few pages of ended sessions can be kept.
  Kept room("llama", 4, 8);
  for (std::uint64_t seed = 1; seed < 12; ++seed) {
    const auto length = static_cast<std::int64_t>(70 + seed * 8);
    room.steps_of(room.request(testing::random_tokens({length}, 29, seed % 3)[0]));
  }
  EXPECT_TRUE(room.record.failures.empty());
}

TEST(KeptPrefix, StaysIfTheFreePagesAreEnough) {
  for (const std::int64_t pages : {4, 3}) {
    Kept room("llama", 2, pages);
    room.steps_of(room.request(testing::random_tokens({40}, 29, 1)[0]));
    EXPECT_EQ(room.sessions.cache().free_pages(), pages - 2);
    room.steps_of(room.request(testing::random_tokens({40}, 29, 2)[0]));
    EXPECT_EQ(room.sessions.cache().free_pages(), pages == 4 ? 0 : 1) << "3 pages are too few for both";
  }
}

TEST(KeptPrefix, ManySessionsKeepTheirBits) {
  for (const std::string name : {"gpt", "llama", "windowed", "translator"}) {
    const auto model = session_model(name);
    ThreadPool pool(2);
    SessionRecord record;
    Sessions sessions(
        *model, pool, Kept::options(), record,
        {.rows = 9, .cache_tokens = 25 * kPageTokens, .tokens_at_once = 23, .kept_prefixes = 5});
    std::map<std::uint64_t, Request> asked;
    for (std::uint64_t number = 0; number < 30 || sessions.live() > 0;) {
      for (int i = 0; number < 30 && i < 2; ++i) {
        const Request request = testing::session_request(*model, ++number % 17);
        asked[sessions.join(request)] = request;
      }
      sessions.step();
    }
    ASSERT_EQ(record.results.size(), 30u) << name;
    for (const auto& [id, request] : asked)
      ASSERT_TRUE(same_bits(record.results[id], alone(*model, request))) << name << ", " << id;
  }
}

TEST(ShortPrompts, DoNotWaitForLongOnes) {
  Kept room("llama", 0, 64, 16);
  const std::uint64_t slow = room.sessions.join(room.request(testing::random_tokens({300}, 29, 1)[0]));
  room.sessions.step();
  const Request short_one = room.request(testing::random_tokens({14}, 29, 2)[0]);
  const std::uint64_t quick = room.sessions.join(short_one);
  for (int step = 0; step < 3; ++step) room.sessions.step();
  EXPECT_FALSE(room.record.tokens[quick].empty()) << "no token in three steps";
  EXPECT_TRUE(room.record.tokens[slow].empty());
  while (room.sessions.step()) {
  }
  EXPECT_TRUE(same_bits(room.record.results[quick], alone(*room.model, short_one)));
  EXPECT_EQ(room.record.results.count(slow), 1u);
}

// While short prompts keep arriving, a long prompt may use a quarter of tokens_at_once in every second step.
TEST(ShortPrompts, DoNotStopALongOne) {
  Kept room("llama", 0, 64, 16);
  const std::uint64_t slow = room.sessions.join(room.request(testing::random_tokens({160}, 29, 1)[0]));
  int steps = 0;
  for (; steps < 200 && room.record.results.count(slow) == 0; ++steps) {
    if (room.sessions.live() < 3) room.sessions.join(room.request(testing::random_tokens({15}, 29, 9)[0]));
    room.sessions.step();
  }
  EXPECT_EQ(room.record.results.count(slow), 1u);
  EXPECT_LE(steps, 2 * 4 * 160 / 16 + 12 + 4);
}

}  // namespace
}  // namespace regard::infer
