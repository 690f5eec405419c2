// Text generation for many clients by continuous batching: one thread runs the steps of infer::Sessions, and
// requests wait in a fair queue. Results are bit-identical regardless of what else is in the batch.
// A request is admitted when its batch rows are free. If the cache might have too few pages for the
// request's maximum length, no further request is admitted until this one has its pages.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "infer/sessions.h"
#include "serve/fair_queue.h"
#include "serve/metrics.h"
#include "serve/share.h"

namespace regard::serve {

// A generation in progress. Thread-safe.
class Generation {
 public:
  using Clock = std::chrono::steady_clock;

  // A generated token; reported only for requests with report_top ≥ 0 and without beam search.
  struct Token {
    std::int64_t sequence = 0;
    infer::TokenChoice choice;
  };

  // Wait until there are new tokens or the generation has ended, and append the new tokens to `tokens`.
  // Returns true if the generation has ended and no tokens follow. Throws HttpError 504 at the deadline.
  bool wait(std::vector<Token>& tokens, Clock::time_point deadline);
  // Return the hypotheses of a generation that has ended. Throws the error if it failed, and HttpError 503
  // if it was cancelled.
  std::vector<infer::Hypothesis> results();

 private:
  friend class Generator;
  enum class State : std::uint8_t { pending, finished, cancelled, failed };
  void end(State state, std::vector<infer::Hypothesis> hypotheses, std::optional<Error> error);

  infer::Request request_;  // the request; valid until the generation starts
  std::string client_;
  std::int64_t rows_ = 1;
  std::int64_t pages_ = 0;  // number of cache pages at the maximum length, if none are shared
  Clock::time_point begun_ = Clock::now(), first_token_{};
  std::uint64_t id_ = 0;  // id of the session in Generator::sessions_; 0 before admission

  std::mutex guard_;  // guards the members below
  std::condition_variable changed_;
  State state_ = State::pending;
  std::vector<Token> tokens_;
  std::vector<infer::Hypothesis> hypotheses_;
  std::optional<Error> error_;
};

class Generator : private infer::SessionListener {
 public:
  // Start the generator's thread. `model`, `pool` and `metrics` must outlive this object. One client can use
  // at most limits.rows rows of the batch. The batch has a third more rows than that (share.h), so that one
  // client cannot occupy the whole batch.
  Generator(Network& model, ThreadPool& pool, const infer::SearchOptions& options,
            const infer::SessionLimits& limits, ModelMetrics& metrics);
  ~Generator() override;  // cancels all generations

  // Add a request. Errors of the request are reported by the returned Generation.
  std::shared_ptr<Generation> submit(infer::Request request, const std::string& client);
  // Cancel a generation: free its rows before the next step. Does nothing if it has ended.
  void cancel(const std::shared_ptr<Generation>& generation);

  std::int64_t waiting() const;  // number of generations that wait for rows or cache pages
  std::int64_t running() const { return sessions_.running(); }

 private:
  void run();
  bool take_work();  // returns false if the generator's thread must end
  std::vector<std::shared_ptr<Generation>> next_to_join();
  void join(const std::shared_ptr<Generation>& generation);
  void count(const Generation& joined);
  void uncount(const Generation& left);
  void chosen(std::uint64_t id, std::int64_t sequence, const infer::TokenChoice& choice) override;
  void finished(std::uint64_t id, std::vector<infer::Hypothesis> hypotheses) override;
  void cancelled(std::uint64_t id) override;
  void failed(std::uint64_t id, const Error& error) override;
  std::shared_ptr<Generation> leave(std::uint64_t id);
  void measure(const Generation& generation, const std::vector<infer::Hypothesis>& hypotheses);

  const Network& model_;
  const infer::SearchOptions options_;
  infer::SessionLimits limits_;
  ModelMetrics& metrics_;
  infer::Sessions sessions_;

  mutable std::mutex guard_;  // guards the members below
  std::condition_variable changed_;
  FairQueue<std::shared_ptr<Generation>> waiting_;
  std::vector<std::shared_ptr<Generation>> cancelling_;
  bool stopping_ = false;

  // Only the generator's thread uses the members below.
  std::unordered_map<std::uint64_t, std::shared_ptr<Generation>> live_;
  Share rows_;              // numbers of batch rows in use, by client
  std::int64_t pages_ = 0;  // sum of Generation::pages_ of the generations in live_
  std::thread thread_;
};

}  // namespace regard::serve
