// Sessions: the result of a session is the same regardless of which others join, end or are cancelled; memory
// is bounded; a failing session does not affect the others.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "session_case.h"
#include "support/resident.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

using testing::alone;
using testing::same_bits;
using testing::session_model;
using testing::session_request;
using testing::SessionRecord;
using testing::Tokens;

const std::vector<std::string> kModels{"translator", "postnorm", "gpt", "llama", "windowed"};

struct Room {
  explicit Room(const std::string& name, const SessionLimits& limits = {}, int threads = 2)
      : model(session_model(name)), pool(threads), sessions(*model, pool, defaults(), record, limits) {}

  static const SearchOptions& defaults() {
    static const SearchOptions options = [] {
      SearchOptions made;
      made.start_token = 2, made.max_new = 30;
      return made;
    }();
    return options;
  }
  Request prompt(std::int64_t length, std::uint64_t seed = 1, std::int64_t max_new = 30) const {
    Request request = infer::request_of(*model, testing::random_tokens({length}, 29, seed)[0]);
    SearchOptions options = defaults();
    options.max_new = max_new;
    request.options = std::make_shared<const SearchOptions>(options);
    return request;
  }
  void finish() {
    while (sessions.step()) {
    }
    EXPECT_EQ(sessions.live(), 0);
    EXPECT_EQ(sessions.cache().free_pages(), sessions.cache().pages()) << "pages were lost";
    for (const auto& [id, count] : record.ends) EXPECT_EQ(count, 1) << "session " << id;
  }

  std::unique_ptr<Network> model;
  ThreadPool pool;
  SessionRecord record;
  Sessions sessions;
};

TEST(SessionsTest, EachGivesWhatItGivesAlone) {
  for (const std::string& name : kModels) {
    // With few rows and pages, requests must wait for each other, and prompts are prefilled in several steps.
    Room room(name, {.rows = 9, .cache_tokens = 25 * kPageTokens, .tokens_at_once = 23});
    std::map<std::uint64_t, Request> asked;
    std::uint64_t number = 0;
    for (int step = 0; number < 40 || room.sessions.live() > 0; ++step) {
      for (int i = 0; number < 40 && i < step % 4; ++i) {
        const Request request = session_request(*room.model, ++number);
        asked[room.sessions.join(request)] = request;
      }
      room.sessions.step();
    }
    room.finish();
    ASSERT_EQ(room.record.results.size(), 40u) << name;
    for (const auto& [id, request] : asked) {
      ASSERT_TRUE(same_bits(room.record.results[id], alone(*room.model, request))) << name << ", " << id;
      if (request.options->beam > 1) continue;
      // The streamed tokens equal the result, whose last token is reported only with the end.
      for (std::size_t s = 0; s < room.record.results[id].size(); ++s) {
        Tokens told = room.record.tokens[id][static_cast<std::int64_t>(s)];
        told.push_back(room.record.results[id][s].tokens.back());
        EXPECT_EQ(told, room.record.results[id][s].tokens) << name;
      }
    }
  }
}

// Negative control: the comparison detects the result of another request.
TEST(SessionsTest, NegativeControl) {
  Room room("llama");
  const Request one = session_request(*room.model, 3), other = session_request(*room.model, 4);
  const std::uint64_t id = room.sessions.join(one);
  room.finish();
  EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, one)));
  EXPECT_FALSE(same_bits(room.record.results[id], alone(*room.model, other)));
}

TEST(SessionsTest, CancelInEveryState) {
  for (const std::string name : {"translator", "llama"}) {
    Room room(name, {.rows = 2, .cache_tokens = 20 * kPageTokens, .tokens_at_once = 16});
    const Request kept = room.prompt(10, 5);
    const std::uint64_t stays = room.sessions.join(kept);
    room.sessions.step();
    const std::int64_t free = room.sessions.cache().free_pages();

    // Cancel a session before its first step.
    const std::uint64_t early = room.sessions.join(room.prompt(5));
    EXPECT_TRUE(room.sessions.cancel(early));
    EXPECT_FALSE(room.sessions.cancel(early)) << "twice";
    room.sessions.step();
    EXPECT_EQ(room.record.gone, std::vector<std::uint64_t>{early});
    EXPECT_EQ(room.sessions.cache().free_pages(), free);

    // Cancel a session during the prefill of its prompt, and a session that waits for it. (The source of an
    // encoder–decoder is encoded in one step.)
    const std::uint64_t half = room.sessions.join(room.prompt(40, 7));
    const std::uint64_t waits = room.sessions.join(room.prompt(5, 8));
    room.sessions.step();
    EXPECT_EQ(room.sessions.running(), 2);
    EXPECT_EQ(room.sessions.waiting(), 1);
    EXPECT_TRUE(room.sessions.cancel(waits));
    EXPECT_TRUE(room.sessions.cancel(half));
    room.sessions.step();
    EXPECT_EQ(room.record.gone.size(), 3u);
    EXPECT_EQ(room.sessions.running(), 1);
    EXPECT_EQ(room.sessions.waiting(), 0);
    EXPECT_EQ(room.sessions.cache().free_pages(), free) << "half a prompt's pages came back";

    // Cancel a session during decoding, from its own callback: no token follows.
    const std::uint64_t writes = room.sessions.join(room.prompt(4, 9));
    std::size_t told = 0;
    room.record.on_token = [&](std::uint64_t id) {
      if (id == writes && ++told == 3) {
        EXPECT_TRUE(room.sessions.cancel(writes));
      }
    };
    room.finish();
    EXPECT_EQ(told, 3u);
    EXPECT_EQ(room.record.gone.size(), 4u);

    // cancel() returns false for a session that has ended and for an unknown id.
    EXPECT_FALSE(room.sessions.cancel(stays));
    EXPECT_FALSE(room.sessions.cancel(12345));
    EXPECT_TRUE(same_bits(room.record.results[stays], alone(*room.model, kept))) << name;
    EXPECT_EQ(room.record.results.size(), 1u);
  }
}

// In the step in which a session ends, a callback of another session can still cancel it, as long as its end
// is not reported. After the report, cancel() returns false.
TEST(SessionsTest, WhoIsCancelledInItsLastStepIsCancelled) {
  Room room("llama");
  const Request request = room.prompt(3, 1, 3), longer = room.prompt(3, 2, 9);
  const std::uint64_t talks = room.sessions.join(longer);
  const std::uint64_t ends = room.sessions.join(request);
  int told = 0;
  room.record.on_token = [&](std::uint64_t id) {
    if (id == talks && ++told == 3) {
      EXPECT_TRUE(room.sessions.cancel(ends)) << "its end was not told yet";
    }
    if (id == talks && told == 4) {
      EXPECT_FALSE(room.sessions.cancel(ends)) << "now it was";
    }
  };
  room.finish();
  EXPECT_EQ(room.record.gone, std::vector<std::uint64_t>{ends});
  EXPECT_EQ(room.record.results.count(ends), 0u);
  EXPECT_TRUE(same_bits(room.record.results[talks], alone(*room.model, longer)));
}

TEST(SessionsTest, ThePoolIsNeverOvercommitted) {
  // The cache has eight pages, so two sessions of four pages each run at once, regardless of how many are
  // submitted.
  Room room("llama", {.rows = 8, .cache_tokens = 8 * kPageTokens});
  std::map<std::uint64_t, Request> asked;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Request request = room.prompt(70, 100 + i, 50);
    asked[room.sessions.join(request)] = request;
  }
  std::int64_t most = 0;
  while (room.sessions.step()) most = std::max(most, room.sessions.running());
  EXPECT_EQ(most, 2);
  room.finish();
  for (const auto& [id, request] : asked)
    EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, request)));

  const auto refused = [&](const Request& request, ErrorKind kind, const char* why) {
    try {
      room.sessions.join(request);
      ADD_FAILURE() << "was let in: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused(room.prompt(70, 1, 190), ErrorKind::resource_exhausted, "exceeds the key/value cache");
  Request wide = room.prompt(3);
  SearchOptions options = *wide.options;
  options.beam = options.n_best = 9;
  wide.options = std::make_shared<const SearchOptions>(options);
  refused(wide, ErrorKind::resource_exhausted, "more rows than the scheduler decodes at once");
  refused(room.prompt(0), ErrorKind::invalid_input, "without tokens");
  Request strange = room.prompt(3);
  strange.prompt[1] = 99;
  refused(strange, ErrorKind::invalid_input, "outside the model's vocabulary");
  EXPECT_EQ(room.sessions.live(), 0);
}

TEST(SessionsTest, TooManyAreRefused) {
  Room room("gpt", {.rows = 1, .sessions = 3});
  for (int i = 0; i < 3; ++i) room.sessions.join(room.prompt(4));
  EXPECT_THROW(room.sessions.join(room.prompt(4)), Error);
  room.finish();
  EXPECT_EQ(room.record.results.size(), 3u);
  EXPECT_NO_THROW(room.sessions.join(room.prompt(4)));
  room.finish();
}

TEST(SessionsTest, WrongLimitsAreRefused) {
  const std::unique_ptr<Network> model = session_model("gpt");
  ThreadPool pool(1);
  SessionRecord record;
  for (const SessionLimits& limits : {SessionLimits{.rows = 0}, SessionLimits{.cache_tokens = 5},
                                      SessionLimits{.tokens_at_once = 0}, SessionLimits{.sessions = 0}})
    EXPECT_THROW(Sessions(*model, pool, Room::defaults(), record, limits), Error);
}

TEST(SessionsTest, MemoryIsKnownBefore) {
  for (const std::string& name : kModels) {
    const SessionLimits limits{.rows = 4, .cache_tokens = 1000};
    const std::int64_t known = session_cache_bytes(*session_model(name), limits);
    EXPECT_EQ(known, 32 * session_model(name)->cache_shape().page_bytes());
    Room room(name, limits);
    EXPECT_EQ(room.sessions.cache().bytes(), known);
    for (std::uint64_t i = 0; i < 12; ++i) room.sessions.join(session_request(*room.model, i));
    room.finish();
    EXPECT_EQ(room.sessions.cache().bytes(), known) << name;
  }
}

TEST(SessionsTest, ASmallCacheIsResidentFromTheStart) {
  const auto growth = [](std::int64_t resident_bytes, const SessionLimits& of) {
    SessionLimits limits = of;
    limits.resident_bytes = resident_bytes;
    const double before = testing::resident_mib();
    const Room room("llama", limits);
    return testing::resident_mib() - before;
  };
  SessionLimits limits{.rows = 4};
  constexpr double kMiB = 1 << 20;
  const std::int64_t page = session_cache_bytes(*session_model("llama"), {.cache_tokens = kPageTokens});
  limits.cache_tokens = (std::int64_t{48} << 20) / page * kPageTokens;
  const std::int64_t bytes = session_cache_bytes(*session_model("llama"), limits);
  growth(0, limits);  // the first call also allocates memory that later calls reuse
  EXPECT_GT(growth(bytes, limits), 0.9 * static_cast<double>(bytes) / kMiB);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(growth(bytes - 1, limits), 0.3 * static_cast<double>(bytes) / kMiB);
#endif
}

TEST(SessionsTest, PromptsThatBeginAlikeShareTheirPages) {
  for (const std::string name : {"gpt", "llama"}) {
    Room room(name, {.rows = 4, .cache_tokens = 40 * kPageTokens});
    Request first = room.prompt(100, 1, 60), second = first, third = first, other = room.prompt(100, 2, 60);
    second.prompt[80] = (first.prompt[80] + 1) % 29;  // differs from the first prompt in the third page
    third.prompt.push_back(5);                        // extends the first prompt
    const std::uint64_t one = room.sessions.join(first);
    room.sessions.step();
    const std::int64_t before = room.sessions.cache().free_pages();
    const std::uint64_t two = room.sessions.join(second);
    room.sessions.step();
    EXPECT_EQ(before - room.sessions.cache().free_pages(), 4 - 2) << name << ": two pages are shared";
    const std::uint64_t three = room.sessions.join(third), four = room.sessions.join(other);
    room.finish();
    EXPECT_TRUE(same_bits(room.record.results[one], alone(*room.model, first))) << name;
    EXPECT_TRUE(same_bits(room.record.results[two], alone(*room.model, second))) << name;
    EXPECT_TRUE(same_bits(room.record.results[three], alone(*room.model, third))) << name;
    EXPECT_TRUE(same_bits(room.record.results[four], alone(*room.model, other))) << name;
  }
}

TEST(SessionsTest, OneSourceIsEncodedOnce) {
  Room room("translator", {.rows = 4, .cache_tokens = 40 * kPageTokens});
  const Request request = room.prompt(90, 1, 30);
  const std::uint64_t one = room.sessions.join(request);
  room.sessions.step();
  const std::int64_t before = room.sessions.cache().free_pages();
  Request sampled = request;
  SearchOptions options = *request.options;
  options.sample = true, options.seed = 5;
  sampled.options = std::make_shared<const SearchOptions>(options);
  const std::uint64_t two = room.sessions.join(sampled);
  room.sessions.step();
  EXPECT_EQ(before - room.sessions.cache().free_pages(), 1) << "the source's three pages are shared";
  room.finish();
  EXPECT_TRUE(same_bits(room.record.results[one], alone(*room.model, request)));
  EXPECT_TRUE(same_bits(room.record.results[two], alone(*room.model, sampled)));
}

TEST(SessionsTest, AWindowLetsLongTextsThroughAFewPages) {
  // Prompt and text together are longer than the cache.
  Room room("windowed", {.rows = 2, .cache_tokens = 6 * kPageTokens, .tokens_at_once = 16});
  const Request request = room.prompt(150, 1, 200);
  const std::uint64_t id = room.sessions.join(request);
  room.finish();
  ASSERT_EQ(room.record.results[id][0].tokens.size(), 200u);
  EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, request)));
}

TEST(SessionsTest, ATextLongerThanItsModelHasPositionsGoesOn) {
  Room room("gpt", {.rows = 3, .cache_tokens = 30 * kPageTokens});
  const Request request = room.prompt(180, 1, 60);  // the model has 200 positions
  const std::uint64_t id = room.sessions.join(request), twin = room.sessions.join(request);
  room.finish();
  EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, request)));
  EXPECT_TRUE(same_bits(room.record.results[twin], room.record.results[id]));
}

TEST(SessionsTest, WhatFailsFailsAlone) {
  Room room("llama");
  Request nothing_left = room.prompt(5);
  SearchOptions options = *nothing_left.options;
  options.sample = true;
  for (std::int32_t id = 0; id < room.model->vocabulary(); ++id) options.rules.suppressed.push_back(id);
  nothing_left.options = std::make_shared<const SearchOptions>(options);
  const Request good = room.prompt(6, 2);
  const std::uint64_t bad = room.sessions.join(nothing_left), id = room.sessions.join(good);
  room.finish();
  EXPECT_EQ(room.record.failures.count(bad), 1u);
  EXPECT_EQ(room.record.failures.size(), 1u);
  EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, good)));
}

TEST(SessionsTest, WhatACallbackThrowsLosesNothing) {
  Room room("llama");
  std::map<std::uint64_t, Request> asked;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Request request = room.prompt(5, i, 10);
    asked[room.sessions.join(request)] = request;
  }
  int calls = 0;
  room.record.on_token = [&](std::uint64_t) {
    if (++calls % 4 == 0) throw std::runtime_error("the host's own trouble");
  };
  int thrown = 0;
  while (room.sessions.live() > 0) {
    try {
      room.sessions.step();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_GT(thrown, 3);
  for (const auto& [id, request] : asked) {
    EXPECT_TRUE(same_bits(room.record.results[id], alone(*room.model, request)));
    EXPECT_EQ(room.record.tokens[id][0].size(), 9u) << "every token was told once";
  }
}

TEST(SessionsTest, JoinAndCancelFromAnotherThread) {
  Room room("llama", {.rows = 6, .cache_tokens = 60 * kPageTokens});
  std::mutex guard;
  std::map<std::uint64_t, Request> asked;
  std::vector<std::uint64_t> dropped;
  std::atomic<bool> done = false;
  std::thread host([&] {
    for (std::uint64_t i = 0; i < 60; ++i) {
      const Request request = session_request(*room.model, i);
      const std::uint64_t id = room.sessions.join(request);
      const std::lock_guard lock(guard);
      asked[id] = request;
      if (i % 3 == 0 && room.sessions.cancel(id)) dropped.push_back(id);
      if (i % 7 == 0) std::this_thread::yield();
    }
    done = true;
  });
  while (!done || room.sessions.live() > 0) room.sessions.step();
  host.join();
  room.finish();
  for (const std::uint64_t id : dropped) EXPECT_EQ(room.record.results.count(id), 0u);
  EXPECT_EQ(room.record.results.size() + dropped.size(), 60u);
  for (const auto& [id, result] : room.record.results)
    EXPECT_TRUE(same_bits(result, alone(*room.model, asked[id]))) << id;
}

}  // namespace
}  // namespace regard::infer
