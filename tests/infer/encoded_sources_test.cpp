// Requests that contain the encoder's output, and requests that a scheduler refuses.
#include <gtest/gtest.h>

#include "infer/collector.h"
#include "infer/scheduler.h"
#include "infer/session_case.h"
#include "models/weights.h"
#include "ops/tape.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::infer {
namespace {

using testing::random_tokens;

class EncodedSources : public ::testing::Test {
 protected:
  static SearchOptions options() {
    SearchOptions options;
    options.start_token = 2, options.max_new = 12, options.rules.encoder_repetition_penalty = 1.5;
    return options;
  }
  Tensor encoded(const std::vector<std::int32_t>& source) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    InputBuffer input;
    const ModelInput ids{source};
    input.add(ids, std::ssize(source), 0);
    return model_->encode(tape, input.batch())->value.clone();
  }
  // Decode both sources in one scheduler. The sources in `known` have the encoder's output.
  std::vector<std::vector<std::int32_t>> decode(const std::vector<bool>& known) {
    Collector collector(2);
    Scheduler scheduler(*model_, pool_, options(), collector);
    for (std::size_t i = 0; i < 2; ++i) {
      Request request = request_of(*model_, sources_[i], i);
      if (known[i]) request.encoded = encoded(sources_[i]);
      scheduler.submit(std::move(request));
    }
    while (scheduler.step()) {
    }
    return {collector.results[0].at(0).tokens, collector.results[1].at(0).tokens};
  }
  std::unique_ptr<Network> model_ = testing::session_model("translator");
  ThreadPool pool_{1};
  std::vector<std::vector<std::int32_t>> sources_ = random_tokens({7, 9}, 29, 5);
};

TEST_F(EncodedSources, GiveTheSameTokens) {
  const auto expected = decode({false, false});
  EXPECT_NE(expected[0], expected[1]);
  for (const std::vector<bool>& known : {std::vector<bool>{true, true}, {true, false}, {false, true}})
    EXPECT_EQ(decode(known), expected);
}

// The output of another source is used as it is.
TEST_F(EncodedSources, ReplaceTheEncoder) {
  const auto expected = decode({true, true});
  Collector collector(1);
  SearchOptions plain = options();
  plain.rules = {};
  Scheduler scheduler(*model_, pool_, plain, collector);
  Request request = request_of(*model_, std::vector<std::int32_t>(9, 4));
  request.encoded = encoded(sources_[1]);
  scheduler.submit(request);
  while (scheduler.step()) {
  }
  Collector other(1);
  Scheduler own(*model_, pool_, plain, other);
  own.submit(request_of(*model_, sources_[1]));
  while (own.step()) {
  }
  EXPECT_EQ(collector.results[0].at(0).tokens, other.results[0].at(0).tokens);
}

TEST_F(EncodedSources, OfAnotherShapeAreRefused) {
  Collector collector(1);
  Scheduler scheduler(*model_, pool_, options(), collector);
  Request request = request_of(*model_, sources_[0]);
  request.encoded = encoded(sources_[1]);
  const Tensor right = encoded(sources_[0]);
  EXPECT_REGARD_ERROR(scheduler.submit(request), ErrorKind::usage,
                      "the encoder's output of a request has a wrong shape (expected " +
                          right.shape().text() + ", found " + request.encoded.shape().text() + ")");
}

TEST(Schedulers, NeedADecoderAndSensibleLimits) {
  ThreadPool pool(1);
  Collector collector(1);
  const std::unique_ptr<Network> encoder =
      load_model(formats::ModelFolder::open(testing::golden("hf-tiny/bert")));
  EXPECT_REGARD_ERROR(Scheduler(*encoder, pool, {}, collector), ErrorKind::usage,
                      "this model cannot generate text: it has no decoder (expected a decoder or an "
                      "encoder-decoder)");
  const auto refused = [](const SchedulerLimits& limits, const std::string& message) {
    EXPECT_REGARD_ERROR(limits.check(), ErrorKind::usage, message);
  };
  SchedulerLimits{.rows = 0, .tokens_at_once = 1, .cache_pages = 0, .kept_prefixes = 0}.check();
  refused({.rows = -1}, "the number of rows is too small (expected at least 0, found -1)");
  refused({.tokens_at_once = 0}, "the number of tokens per step is too small (expected at least 1, found 0)");
  refused({.cache_pages = -1}, "the cache has too few pages (expected at least 0, found -1)");
  refused({.kept_prefixes = -1}, "the number of kept prefixes is too small (expected at least 0, found -1)");
}

// The scheduler copies its options. Changing the original object afterwards has no effect on the scheduler.
TEST(Schedulers, KeepTheirOptions) {
  ThreadPool pool(1);
  Collector collector(1);
  const std::unique_ptr<Network> model = testing::session_model("gpt");
  SearchOptions options;
  options.max_new = 3;
  Scheduler scheduler(*model, pool, options, collector);
  options.max_new = 1;
  scheduler.submit(request_of(*model, std::vector<std::int32_t>{4, 5}));
  while (scheduler.step()) {
  }
  EXPECT_EQ(collector.results[0].at(0).tokens.size(), 3u);
}

TEST(SessionLimits, HaveBothEnds) {
  const auto refused = [](const SessionLimits& limits, const std::string& message) {
    EXPECT_REGARD_ERROR(limits.check(), ErrorKind::usage, message);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  SessionLimits{.rows = 65536, .cache_tokens = kMost, .tokens_at_once = 1, .sessions = 1}.check();
  SessionLimits{.rows = 1, .cache_tokens = kPageTokens}.check();
  refused({.rows = 0}, "the number of rows is too small (expected at least 1, found 0)");
  refused({.rows = 65537}, "the number of rows is too large (expected at most 65536, found 65537)");
  refused({.cache_tokens = kPageTokens - 1}, "the cache size is too small (expected at least " +
                                                 std::to_string(kPageTokens) + ", found " +
                                                 std::to_string(kPageTokens - 1) + ")");
  refused({.cache_tokens = kMost + 1},
          "the cache size is too large (expected at most 1099511627776, found 1099511627777)");
  refused({.tokens_at_once = 0}, "the number of tokens per step is too small (expected at least 1, found 0)");
  refused({.sessions = 0}, "the number of sessions is too small (expected at least 1, found 0)");
  const std::unique_ptr<Network> model = testing::session_model("gpt");
  EXPECT_EQ(session_cache_bytes(*model, {.cache_tokens = 3 * kPageTokens}),
            3 * model->cache_shape().page_bytes());
}

}  // namespace
}  // namespace regard::infer
