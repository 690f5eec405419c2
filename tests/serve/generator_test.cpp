// Generator: deadlines, cancellation, errors and counts, without a connection.
#include "serve/generator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "infer/loaded_model.h"
#include "serve/http_error.h"
#include "support/namespaces.h"
#include "support/test_server.h"
#include "support/throws.h"

namespace regard::serve {
namespace {

using namespace models;
using testing::becomes;
using testing::TestServer;
using Clock = Generation::Clock;

// Blocks the pass of the model while the generator has computed `limit` batches or more.
class Brake final : public Probe {
 public:
  explicit Brake(const ModelMetrics& metrics) : metrics_(metrics) {}
  bool wants(std::string_view) override {
    while (metrics_.batches >= limit) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return false;
  }
  void see(std::string_view, std::int64_t, const Tensor&) override {}
  std::atomic<std::uint64_t> limit{0};

 private:
  const ModelMetrics& metrics_;
};

class GeneratorTest : public ::testing::Test {
 protected:
  infer::Request request(std::int64_t tokens, bool reports = true) {
    infer::SearchOptions search = loaded_.options;
    search.beam = 1, search.max_new = tokens, search.report_top = reports ? 0 : -1;
    search.rules.min_new = tokens;
    infer::Request made = infer::request_of(*loaded_.model, loaded_.read("the quick"));
    made.options = std::make_shared<infer::SearchOptions>(search);
    return made;
  }
  static Clock::time_point later() { return Clock::now() + std::chrono::minutes(1); }
  // Wait until the generation has ended, and return the number of its reported tokens.
  static std::size_t tokens_of(Generation& generation) {
    std::vector<Generation::Token> tokens;
    while (!generation.wait(tokens, later())) {
    }
    return tokens.size();
  }
  // Return the status of the error that results() throws, or 200.
  static int status_of(Generation& generation) {
    try {
      generation.results();
    } catch (const HttpError& error) {
      return error.status();
    }
    return 200;
  }

  infer::LoadedModel loaded_ = infer::LoadedModel::open(TestServer::folder("gpt"), WeightMode::stored);
  ThreadPool pool_{1};
  ModelMetrics metrics_;
  infer::SessionLimits limits_{.rows = 3, .cache_tokens = 4096, .tokens_at_once = 64, .sessions = 64};
  Generator generator_{*loaded_.model, pool_, loaded_.options, limits_, metrics_};
};

TEST_F(GeneratorTest, CountsWhatItGenerates) {
  const auto prompt = static_cast<std::uint64_t>(std::ssize(request(1).prompt));
  const auto first = generator_.submit(request(5), "a");
  EXPECT_EQ(tokens_of(*first), 5u);
  ASSERT_EQ(first->results().size(), 1u);
  // The generator updates these counts after the callbacks of the step.
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 5 && metrics_.batched == 5; }));
  const auto second = generator_.submit(request(7, false), "b");
  EXPECT_EQ(tokens_of(*second), 0u) << "no tokens are reported";
  const std::vector<infer::Hypothesis> results = second->results();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].tokens.size(), 7u);
  EXPECT_EQ(metrics_.prompt_tokens, 2 * prompt);
  EXPECT_EQ(metrics_.completion_tokens, 12u);
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 12 && metrics_.batched == 12; }));
  // The times of tokens are measured only for a generation that reports its tokens.
  EXPECT_TRUE(metrics_.first_token.lines("t", "").ends_with("t_count 1\n"));
  EXPECT_TRUE(metrics_.each_token.lines("t", "").ends_with("t_count 1\n"));
  EXPECT_EQ(tokens_of(*generator_.submit(request(1), "a")), 1u);
  EXPECT_TRUE(metrics_.first_token.lines("t", "").ends_with("t_count 2\n"));
  EXPECT_TRUE(metrics_.each_token.lines("t", "").ends_with("t_count 1\n")) << "there is no second token";
  EXPECT_EQ(generator_.waiting(), 0);
}

TEST_F(GeneratorTest, WaitsUntilTheDeadline) {
  Generation never_admitted;
  std::vector<Generation::Token> tokens;
  const auto begin = Clock::now();
  try {
    never_admitted.wait(tokens, begin + std::chrono::milliseconds(10));
    FAIL() << "no error";
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status(), 504);
    EXPECT_EQ(error.code(), "timeout");
  }
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(10));
  EXPECT_EQ(status_of(never_admitted), 503) << "it has no results";
}

TEST_F(GeneratorTest, CancelsRunningAndWaitingGenerations) {
  Brake brake(metrics_);
  infer::SearchOptions options = loaded_.options;
  options.probe = &brake;
  Generator own(*loaded_.model, pool_, options, limits_, metrics_);
  std::vector<std::shared_ptr<Generation>> all;
  for (int i = 0; i < 6; ++i) all.push_back(own.submit(request(240), "a"));
  brake.limit = 2;
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 2; }));
  EXPECT_EQ(own.running(), 3) << "the rows of one client";
  EXPECT_EQ(own.waiting(), 3);
  for (const std::size_t i : {5, 0, 1}) own.cancel(all[i]);
  brake.limit = 6;
  for (const std::size_t i : {5, 0, 1}) {
    tokens_of(*all[i]);
    EXPECT_EQ(status_of(*all[i]), 503);
    own.cancel(all[i]);  // has no effect
  }
  EXPECT_TRUE(becomes([&] { return own.running() == 3 && own.waiting() == 0; }));
  for (const std::size_t i : {2, 3, 4}) own.cancel(all[i]);
  brake.limit = 1000;
  EXPECT_TRUE(becomes([&] { return own.running() == 0; }));
  EXPECT_EQ(metrics_.completion_tokens, 0u) << "a cancelled generation does not run to its end";
  EXPECT_LT(metrics_.batches, 20u);
}

TEST_F(GeneratorTest, EndsWithTheErrorOfARequest) {
  infer::Request wrong = request(5);
  wrong.prompt = {1 << 30};
  const auto failed = generator_.submit(std::move(wrong), "a");
  EXPECT_EQ(tokens_of(*failed), 0u);
  EXPECT_REGARD_ERROR(failed->results(), ErrorKind::invalid_input, "1073741824");
  // The rows and pages of the failed request are free again.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(tokens_of(*generator_.submit(request(3), "a")), 3u);
}

TEST_F(GeneratorTest, CancelsAllWhenItIsDestroyed) {
  Brake brake(metrics_);
  infer::SearchOptions options = loaded_.options;
  options.probe = &brake;
  std::vector<std::shared_ptr<Generation>> all;
  auto own = std::make_unique<Generator>(*loaded_.model, pool_, options, limits_, metrics_);
  for (int i = 0; i < 5; ++i) all.push_back(own->submit(request(240), "a"));
  brake.limit = 2;
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 2; }));
  std::atomic<bool> destroyed{false};
  std::thread continues([&] {  // the pass in progress ends after the destructor was called
    while (!destroyed) std::this_thread::sleep_for(std::chrono::milliseconds(10)), ++brake.limit;
  });
  own.reset();
  destroyed = true;
  continues.join();
  for (const auto& one : all) {
    tokens_of(*one);
    EXPECT_EQ(status_of(*one), 503);
  }
}

// Requests whose pages do not fit together are decoded one after the other. Only one of them waits for pages;
// the others wait for their turn, so that a later request of another client is before them.
TEST_F(GeneratorTest, AdmitsWhatFitsTheCache) {
  Brake brake(metrics_);
  infer::SearchOptions options = loaded_.options;
  options.probe = &brake;
  infer::SessionLimits small = limits_;
  small.rows = 8, small.cache_tokens = 3 * kPageTokens;
  Generator own(*loaded_.model, pool_, options, small, metrics_);
  const std::int64_t two_pages = 2 * kPageTokens - std::ssize(request(1).prompt);
  const auto steps = static_cast<std::uint64_t>(two_pages);
  std::vector<std::shared_ptr<Generation>> all;
  for (int i = 0; i < 5; ++i) all.push_back(own.submit(request(two_pages), "a"));
  brake.limit = 2;
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 2; }));
  EXPECT_EQ(own.running(), 1);
  EXPECT_EQ(own.waiting(), 4);
  const auto of_b = own.submit(request(two_pages), "b");
  brake.limit = 4 * steps;  // the first three of a, and that of b
  EXPECT_TRUE(becomes([&] { return metrics_.batches == 4 * steps; })) << "each batch has one sequence";
  EXPECT_NO_THROW({
    std::vector<Generation::Token> tokens;
    EXPECT_TRUE(of_b->wait(tokens, Clock::now()));
  });
  brake.limit = 1000;
  for (const auto& one : all) EXPECT_EQ(tokens_of(*one), steps);
}

}  // namespace
}  // namespace regard::serve
