// Scheduler: decodes many requests at once. Each step runs one pass of the model over the running rows of all
// requests; finished ones leave at once and waiting ones take their place, so no row is computed for nothing.
// A steady step (nobody comes or goes) allocates nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "infer/hypotheses.h"
#include "infer/search.h"
#include "infer/warp.h"
#include "nn/cache.h"
#include "ops/ragged.h"
#include "tensor/arena.h"

namespace regard::infer {

struct Request {
  std::uint64_t id = 0;              // whatever the caller likes; handed back
  std::vector<std::int32_t> source;  // where the model has an encoder
  std::vector<std::int32_t> prompt;  // what is decoded after; empty: the options' start token
};

// What comes out, called from within step().
class Listener {
 public:
  virtual ~Listener() = default;
  // A token of independent sequence `sequence` (greedy search and sampling only; beams change their minds).
  virtual void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) {
    (void)id, (void)sequence, (void)token;
  }
  virtual void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
};

class Scheduler {
 public:
  // All are kept by reference and must outlive the scheduler. Throws usage.
  Scheduler(Network& model, ThreadPool& pool, const SearchOptions& options, Listener& listener);

  // Throws usage: an empty or too long source or prompt, an id outside the vocabulary.
  void submit(Request request);

  // One step; false if there was nothing to do. Throws numeric where the model's output is not finite.
  bool step();

  std::int64_t running() const { return static_cast<std::int64_t>(jobs_.size()); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  struct Job {
    Request request;
    std::unique_ptr<Hypotheses> search;
    std::vector<std::int32_t> slots;  // [width]: running row r sits in slots[r]
    std::int64_t limit = 0;           // tokens at most
    bool encoded = false;
  };

  std::int64_t limit_of(const Request& request) const;  // max_new for it
  void admit();
  void collect_batch();                   // ids_, shape_, selected_, row_of_last_
  void feed(Job& job, std::int64_t row);  // one running row into the batch
  Var run_model(std::int64_t rows);       // logits [rows, vocabulary]
  Memory encode_new();
  void score(float* logits, std::int64_t rows);
  void choose_tokens(const float* logits, std::int64_t rows);
  void rule_beams(float* logits, std::int64_t rows);
  void apply_rules(std::size_t row, std::span<float> scores, int worker);
  void advance();
  void release(Job& job);

  Network& model_;
  ThreadPool& pool_;
  const SearchOptions& options_;
  Listener& listener_;
  Warp warp_;
  bool ruled_;                 // the options' rules change something
  std::int64_t width_, each_;  // rows and candidates of a request
  Arena arena_;
  Tape tape_;
  Cache cache_;
  std::deque<Request> waiting_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::int32_t> free_slots_;

  // One step's, kept for their memory.
  RaggedBuffer shape_, source_shape_;
  std::vector<std::int32_t> ids_, source_ids_, selected_, last_, reordered_, candidate_token_;
  std::vector<float> lse_, candidate_;
  struct Draw {
    const Job* job;
    std::int64_t row;
  };
  std::vector<Draw> draws_;                                 // the job and row of each row of the batch
  std::vector<std::vector<std::int32_t>> order_, history_;  // scratch of each worker
  std::vector<std::vector<float>> warped_;
};

}  // namespace regard::infer
