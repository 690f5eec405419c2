// Scheduler: decodes many requests at once, each under its own options. Each step runs one pass of the model
// over the running rows of all requests and over prompts that come in; finished ones leave at once and
// waiting ones take their place, so no row is computed for nothing. A steady step (nobody comes or goes)
// allocates nothing.
//
// The bit rule: what a request gives never depends on the requests beside it, on when it came, on how its
// prompt was cut into steps, or on whose pages it shares.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "infer/choice.h"
#include "infer/hypotheses.h"
#include "infer/search.h"
#include "nn/cache.h"
#include "ops/ragged.h"
#include "tensor/arena.h"

namespace regard::infer {

struct Request {
  std::uint64_t id = 0;              // whatever the caller likes; handed back
  std::vector<std::int32_t> source;  // where the model has an encoder
  std::vector<std::int32_t> prompt;  // what is decoded after; empty: the options' start token
  std::shared_ptr<const SearchOptions> options = nullptr;  // its own; null: the scheduler's
};

struct SchedulerLimits {
  std::int64_t rows = 0;  // sequences decoded together, beams counted; 0: the options' rows_at_once
  // Tokens of sources and prompts that one step takes in: bounds the memory of their activations, and how
  // long they hold up the others. Longer prompts take several steps; a longer source is taken in alone.
  std::int64_t tokens_at_once = 8192;
  // Pages of the cache. Who comes waits until all that it may come to need is there, so that nobody runs out
  // half-way; 0: as many as come to be needed.
  std::int64_t cache_pages = 0;
  // A prompt that begins as another's text takes those tokens from its pages. Not where the model slides over
  // its text (a window in every layer, or texts that come to be longer than it has positions).
  bool share_prefixes = false;

  void check() const;  // throws usage
};

// What comes out, called from within step(). It must not call the scheduler.
class Listener {
 public:
  virtual ~Listener() = default;
  // A token of independent sequence `sequence` (greedy search and sampling only; beams change their minds).
  // The last one comes with finished() only.
  virtual void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) {
    (void)id, (void)sequence, (void)token;
  }
  virtual void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  // The model's output for this request is not finite; it is out. What is thrown here leaves step(), and the
  // scheduler is then good for nothing.
  virtual void failed(std::uint64_t id, const Error& error) { (void)id, throw Error(error); }
};

class Scheduler {
 public:
  // All but the limits are kept by reference and must outlive the scheduler. Throws usage.
  Scheduler(Network& model, ThreadPool& pool, const SearchOptions& options, Listener& listener,
            const SchedulerLimits& limits = {});

  // Throws usage: an empty or too long source or prompt, an id outside the vocabulary, options that do not
  // fit, more rows or pages than there are at all. May be called from any thread, beside step() too.
  void check(const Request& request) const;
  void submit(Request request);  // throws as check() does

  // What a request that has not ended has written; empty where there is none of this id, or no token yet. Not
  // from within step().
  std::vector<Hypothesis> so_far(std::uint64_t id) const;

  // The request is out, wherever it stood; false: there is none of this id. Not from within step().
  bool cancel(std::uint64_t id);

  // One step; false if there was nothing to do.
  bool step();

  std::int64_t running() const { return static_cast<std::int64_t>(jobs_.size()); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t taking_in() const;  // running ones whose prompt is not all there
  const Cache& cache() const { return cache_; }
  std::int64_t activation_bytes() const { return static_cast<std::int64_t>(arena_.capacity()); }

 private:
  struct Job {
    explicit Job(Request from, const SearchOptions& options) : request(std::move(from)), rule(options) {}
    Request request;
    ChoiceRule rule;
    std::unique_ptr<Hypotheses> search;
    std::vector<std::int32_t> slots;               // [width]: running row r sits in slots[r]
    std::int64_t limit = 0;                        // tokens at most
    std::int64_t rows_now = 0;                     // of the step's choices
    std::int64_t row_pages = 0, source_pages = 0;  // at most: of each row, of the encoder's output
    bool encoded = false;
    bool slides = false;  // may come to be longer than the model has positions
    const Error* failure = nullptr;
  };

  const SearchOptions& options_of(const Request& request) const {
    return request.options ? *request.options : options_;
  }
  std::int64_t limit_of(const Request& request) const;  // max_new for it
  std::int64_t pages_of_row(const Request& request) const;
  std::int64_t pages_of_source(const Request& request) const;
  void admit();
  bool admit(Request& request);
  void reserve_cache(const Job& job, std::int64_t tokens);
  void share_past(Job& job);
  std::int64_t common_past(const Job& job, const Job& other) const;
  std::int64_t pages_to_come(const Job& job) const;
  void collect_batch();
  bool feed_prompt(Job& job, std::int64_t& budget);
  void feed_row(Job& job, std::int64_t row);
  void add_row(Job& job, std::int64_t row, std::size_t before, std::int32_t position);
  Var run_model();  // logits of choices_; null where there are none
  void advance();
  void leave();
  void release(Job& job);

  Network& model_;
  const SearchOptions& options_;
  Listener& listener_;
  SchedulerLimits limits_;
  Arena arena_;
  Tape tape_;
  Cache cache_;
  Chooser chooser_;
  std::deque<Request> waiting_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::int32_t> free_slots_;

  // One step's, kept for their memory.
  RaggedBuffer shape_, source_shape_;
  std::vector<std::int32_t> ids_, source_ids_, selected_, last_, reordered_;
  std::vector<ChoiceRow> choices_;
};

}  // namespace regard::infer
