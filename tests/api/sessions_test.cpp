// Public sessions: their guarantees on destruction, and invalid options.
#include "regard/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/weights.h"
#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr double kQuietNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class PublicSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_text_model(folder_ / "gpt", "gpt");
    testing::write_text_model(folder_ / "translator", "translator");
  }
  testing::TemporaryFolder folder_;
};

// Each session ends exactly once, whether it runs, waits, was cancelled or has just joined.
TEST_F(PublicSessions, DestroyingThemCancelsWhatIsLeft) {
  const Model model = load(folder_ / "gpt");
  std::vector<Sessions::Id> order;
  std::map<Sessions::Id, std::vector<SessionEnd>> ends;
  {
    Sessions sessions(model, {.rows = 2});
    Sessions::Id last = 0;
    const auto join = [&](std::int64_t tokens) {
      const auto id = std::make_shared<Sessions::Id>();
      last = *id = sessions.join("the fox", {.beam = 1, .max_new = tokens},
                                 {.done = [&, id](const SessionResult& result) {
                                   ends[*id].push_back(result.end);
                                   order.push_back(*id);
                                   // A callback may call join() or throw during the destruction.
                                   EXPECT_REGARD_ERROR(sessions.join("x"), ErrorKind::usage, "destroyed");
                                   throw std::runtime_error("dropped");
                                 }});
    };
    for (int i = 0; i < 5; ++i) join(40);
    sessions.step();
    EXPECT_EQ(sessions.running(), 2);
    sessions.cancel(last);
    join(40);
  }
  EXPECT_EQ(ends.size(), 6u);
  for (const auto& [id, each] : ends) EXPECT_EQ(each, std::vector{SessionEnd::cancelled}) << id;
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(PublicSessions, DoneComesAlsoWhereTextThrows) {
  const Model model = load(folder_ / "gpt");
  Sessions sessions(model);
  int done = 0, thrown = 0;
  sessions.join("the fox", {.beam = 1, .max_new = 2},
                {.text = [](std::string_view) { throw std::runtime_error("text"); },
                 .done =
                     [&](const SessionResult& result) {
                       ++done;
                       EXPECT_EQ(result.end, SessionEnd::finished);
                     }});
  sessions.join("the fox", {.beam = 2, .max_new = 2},
                {.text = [](std::string_view) { throw std::runtime_error("text"); },
                 .done = [&](const SessionResult&) { ++done; }});
  for (int step = 0; step < 20; ++step) try {
      sessions.step();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  EXPECT_GE(thrown, 2);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(sessions.live(), 0);
}

TEST_F(PublicSessions, WhatACallbackOwnsMayJoinWhenItIsDestroyed) {
  const Model model = load(folder_ / "gpt");
  Sessions sessions(model);
  int joined = 0;
  const DecodingOptions options{.beam = 1, .max_new = 2};
  {
    const std::shared_ptr<void> owned(nullptr,
                                      [&](void*) { joined += sessions.join("x", options) > 0 ? 1 : 0; });
    sessions.join("the fox", options, {.text = [owned](std::string_view) {}});
  }
  while (sessions.step()) {
  }
  EXPECT_EQ(joined, 1);
  EXPECT_EQ(sessions.live(), 0);
}

TEST_F(PublicSessions, AnswerConversationsAsChatDoes) {
  const Model model = load(folder_ / "gpt");
  const std::vector<Message> conversation{{"user", "the fox"}};
  const DecodingOptions options{.beam = 1, .max_new = 12};
  Sessions sessions(model);
  std::string shown, text;
  sessions.chat(conversation, options,
                {.text = [&](std::string_view piece) { shown += piece; },
                 .done = [&](const SessionResult& result) { text = result.text; }},
                "chatml");
  while (sessions.step()) {
  }
  EXPECT_EQ(text, model.chat(conversation, options, {}, "chatml").at(0).text);
  EXPECT_EQ(shown, text);
  EXPECT_REGARD_ERROR(sessions.chat(conversation), ErrorKind::usage, "no chat template");
  EXPECT_REGARD_ERROR(sessions.chat({}, {}, {}, "chatml"), ErrorKind::invalid_input, "not a conversation");
  const Model translator = load(folder_ / "translator");
  EXPECT_REGARD_ERROR(Sessions(translator).chat(conversation, {}, {}, "chatml"), ErrorKind::usage,
                      "cannot answer");
}

TEST_F(PublicSessions, RefuseLimitsThatNoMemoryHolds) {
  const Model model = load(folder_ / "gpt");
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  EXPECT_REGARD_ERROR(Sessions(model, {.rows = kHuge}), ErrorKind::usage, "at most 65536");
  EXPECT_REGARD_ERROR(Sessions(model, {.cache_tokens = kHuge}), ErrorKind::usage, "at most");
  EXPECT_REGARD_ERROR(session_memory(model, {.cache_tokens = kHuge}), ErrorKind::usage, "at most");
  for (const SessionLimits& limits : {SessionLimits{.rows = -1}, SessionLimits{.cache_tokens = -1},
                                      SessionLimits{.tokens_at_once = -1}, SessionLimits{.sessions = -1}})
    EXPECT_REGARD_ERROR(Sessions(model, limits), ErrorKind::usage, "found -1");
}

TEST_F(PublicSessions, MemoryCountsWeightsAsTheyAreHeld) {
  const Model model = load(folder_ / "gpt");
  quantize(folder_ / "gpt", folder_ / "small");
  const Model small = load(folder_ / "small");
  EXPECT_EQ(session_memory(model).weights, 4 * model.parameter_count());
  EXPECT_EQ(small.parameter_count(), model.parameter_count());
  EXPECT_LT(10 * session_memory(small).weights, 6 * session_memory(model).weights);
  // In addition to the tensors of the file, the memory contains one f32 number for each quantisation scale:
  // the sum of the weights of the output.
  const auto file = formats::Weights::open(folder_ / "small");
  auto bytes = static_cast<std::int64_t>(file.bytes());
  for (const std::string& name : file.names())
    if (name.ends_with("_scale")) bytes += file.tensor(name).elements() * 4;
  EXPECT_EQ(session_memory(small).weights, bytes);
}

TEST_F(PublicSessions, ACancelledTextIsGivenAsFarAsItWent) {
  const Model model = load(folder_ / "gpt");
  const DecodingOptions greedy{.beam = 1, .max_new = 30};
  const std::string whole = model.write("the quick", greedy)[0].text;
  const auto after = [&](int steps, const DecodingOptions& options, std::string* shown = nullptr) {
    const WriteCallbacks callbacks{.text =
                                       [shown](std::string_view piece) {
                                         if (shown != nullptr) *shown += piece;
                                       },
                                   .cancelled = [&steps] { return steps-- == 0; }};
    return model.write("the quick", options, callbacks);
  };
  std::string shown;
  const std::vector<Written> some = after(5, greedy, &shown);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].tokens.size(), 5u);
  EXPECT_EQ(some[0].log_probabilities.size(), 5u);
  EXPECT_EQ(some[0].text, whole.substr(0, some[0].text.size()));
  EXPECT_EQ(shown, some[0].text);
  EXPECT_FALSE(some[0].text.empty());
  EXPECT_FALSE(some[0].complete);
  EXPECT_TRUE(after(0, greedy).empty()) << "nothing was written";
  EXPECT_EQ(after(31, greedy)[0].text, whole) << "it had ended before";

  shown.clear();
  const std::vector<Written> beams = after(4, {.beam = 3, .max_new = 30, .n_best = 2}, &shown);
  ASSERT_EQ(beams.size(), 2u);
  EXPECT_GE(beams[0].score, beams[1].score);
  EXPECT_EQ(shown, beams[0].text);
  const std::vector<Written> draws = after(3, {.max_new = 30, .sample = true, .n_best = 3});
  ASSERT_EQ(draws.size(), 3u);
  for (const Written& draw : draws) EXPECT_LE(draw.tokens.size(), 3u);

  // The tokens do not depend on max_new, even if max_new exceeds the initial allocation of a search.
  const std::vector<Written> longer = after(3, {.max_new = 20000, .sample = true, .n_best = 3});
  ASSERT_EQ(longer.size(), draws.size());
  for (std::size_t i = 0; i < draws.size(); ++i) {
    EXPECT_EQ(longer[i].tokens, draws[i].tokens);
    EXPECT_EQ(longer[i].log_probabilities, draws[i].log_probabilities);
  }
}

TEST_F(PublicSessions, OptionsThatDoNotFitAreRefused) {
  const Model model = load(folder_ / "gpt");
  const auto refused = [&](const DecodingOptions& options, const char* part) {
    EXPECT_REGARD_ERROR(model.write("the", options), ErrorKind::usage, part);
    Sessions sessions(model);
    EXPECT_REGARD_ERROR(sessions.join("the", options), ErrorKind::usage, part);
  };
  refused({.beam = -1}, "beam");
  refused({.max_new = -1}, "max_new");
  refused({.min_new = -1}, "min_new");
  refused({.n_best = -1}, "n_best");
  refused({.no_repeat_ngram = -1}, "no_repeat_ngram");
  refused({.max_new = std::int64_t{1} << 60}, "new tokens is too large");
  for (const double wrong : {kQuietNan, kInfinite, -kInfinite})
    refused({.beam = 2, .max_new = 4, .length_penalty = wrong}, "length penalty");
  for (const double wrong : {kQuietNan, kInfinite, -1.0})
    refused({.max_new = 4, .repetition_penalty = wrong}, "repetition penalty");
  for (const double wrong : {kQuietNan, kInfinite, 0.0, -1.0})
    refused({.max_new = 4, .sample = true, .temperature = wrong}, "temperature");
  for (const double wrong : {kQuietNan, 0.0, 1.5}) {
    refused({.max_new = 4, .sample = true, .top_p = wrong}, "top-p");
    refused({.max_new = 4, .sample = true, .typical_p = wrong}, "typical-p");
  }
  for (const double wrong : {kQuietNan, -0.1, 1.0})
    refused({.max_new = 4, .sample = true, .min_p = wrong}, "min-p");
  refused({.max_new = 4, .sample = true, .top_k = -1}, "top_k");
}

TEST_F(PublicSessions, AnEmptyTextHasNothingToAttendTo) {
  for (const char* name : {"gpt", "translator"}) {
    const Model model = load(folder_ / name);
    EXPECT_REGARD_ERROR(model.attend(""), ErrorKind::invalid_input, "at least one token");
  }
  EXPECT_REGARD_ERROR(load(folder_ / "translator").attend("", {.target = "the"}), ErrorKind::invalid_input,
                      "at least one token");
}

}  // namespace
}  // namespace regard::testing
