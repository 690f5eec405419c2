// Scheduler: decodes many requests at once (continuous batching), each under its own options. Each step
// admits waiting requests, runs one forward pass over the running rows and the prompts in prefill, and
// removes finished requests.
//
// Bit rule (docs/architecture.md): the results of a request are bit-identical regardless of what else is in
// the batch, of the time of submission, of the division of the prefill into steps, and of shared cache pages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "infer/choice.h"
#include "infer/hypotheses.h"
#include "infer/request.h"
#include "nn/cache.h"
#include "ops/tape.h"
#include "tensor/arena.h"

namespace regard::infer {

struct SchedulerLimits {
  // maximum number of rows decoded together, including those of beams; 0 means SearchOptions::rows_at_once
  std::int64_t rows = 0;
  // Maximum number of source and prompt tokens in prefill per step; bounds activation memory and the delay of
  // the other requests. A longer prompt is prefilled over several steps; a longer source is encoded in one
  // step, if it is the first of that step.
  std::int64_t tokens_at_once = 8192;
  // Number of pages of the cache; 0 means that the cache grows as needed. With a limit, a request is admitted
  // only when its worst-case number of pages can be reserved.
  std::int64_t cache_pages = 0;
  // If cache_pages is not 0, a cache of at most this many bytes is made resident at construction, so that the
  // memory use does not grow later. Default: 0, which means that no cache is made resident.
  std::int64_t resident_bytes = 0;
  // If true, share the cache pages of a prefix that a prompt has in common with a running request. Has no
  // effect if every layer has a sliding window, or if the text may exceed the model's positions.
  bool share_prefixes = false;
  // Maximum number of ended requests whose cache pages are kept for later prompts that begin with the same
  // tokens, as in conversations; 0 keeps none. Only for decoder-only models without sliding windows, and only
  // if cache_pages is not 0. If the maximum is reached or a running request needs pages, the pages of the
  // least recently used prefix are released.
  std::int64_t kept_prefixes = 0;
  // If true, prefill short prompts first in every second step, so that a long prompt does not delay the
  // others. In the other steps the oldest request is first.
  bool short_prompts_first = false;

  void check() const;  // throws usage if a limit is invalid
};

// Receives the tokens of requests or sessions.
class TokenListener {
 public:
  virtual ~TokenListener() = default;
  // Called for each new token of a request without beam search, except the last, which only finished()
  // reports. `sequence` is the index among the sequences of the request.
  virtual void token(std::uint64_t id, std::int64_t sequence, std::int32_t token) {
    (void)id, (void)sequence, (void)token;
  }
  // Report a token of sequence `sequence`, including the last token. Called only if SearchOptions::report_top
  // ≥ 0, before token() and finished() of the same step.
  virtual void chosen(std::uint64_t id, std::int64_t sequence, const TokenChoice& choice) {
    (void)id, (void)sequence, (void)choice;
  }
};

// Receives tokens and results. Its functions are called by step(), on the thread of step(), and must not call
// the scheduler.
class Listener : public TokenListener {
 public:
  // Report a step of a beam search. Called before finished() of the same step.
  virtual void beams(std::uint64_t id, const BeamStep& step) { (void)id, (void)step; }
  virtual void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) = 0;
  // Report that the request was removed because the model's output for it is not finite, or no token can be
  // drawn. Default: throw `error`. An exception thrown by a callback propagates out of step() and leaves the
  // scheduler unusable.
  virtual void failed(std::uint64_t id, const Error& error) { (void)id, throw Error(error); }
};

class Scheduler {
 public:
  // Keeps references to the model, the pool and the listener, which must outlive the scheduler, and copies of
  // the options and limits. Throws usage if options or limits are invalid, or the model has no decoder.
  Scheduler(Network& model, ThreadPool& pool, const SearchOptions& options, Listener& listener,
            const SchedulerLimits& limits = {});

  // Throws invalid_input if the source or prompt is empty or too long, or if an id is outside the vocabulary.
  // Throws usage if the model does not read this kind of source (InputSpec), or if an option is invalid.
  // Throws resource_exhausted if the request needs more rows or pages than the scheduler has in total. May be
  // called from any thread, also during step().
  void check(const Request& request) const;
  void submit(Request request);  // calls check(), then appends the request to the queue

  // Return the hypotheses of a running request so far; empty before its first token, or if no running request
  // has this id. Must not be called during step().
  std::vector<Hypothesis> so_far(std::uint64_t id) const;

  // Remove a waiting or running request; return false if no request has this id. Must not be called during
  // step().
  bool cancel(std::uint64_t id);

  // Run one step. Returns false if no request is running and none could be admitted.
  bool step();

  std::int64_t running() const { return static_cast<std::int64_t>(jobs_.size()); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t prefilling() const;  // number of running requests whose prefill is not complete
  // Number of requests in the pass of the last step, including those that ended in it; 0 if no pass ran.
  std::int64_t computed() const { return computed_; }
  const Cache& cache() const { return cache_; }
  std::int64_t activation_bytes() const { return static_cast<std::int64_t>(arena_.capacity()); }

 private:
  struct Job {
    explicit Job(Request from, const SearchOptions& options) : request(std::move(from)), rule(options) {}
    Request request;
    ChoiceRule rule;
    std::unique_ptr<Hypotheses> search;
    std::vector<std::int32_t> slots;  // [width]: cache slot of each running row
    std::int64_t source_length = 0;   // number of positions of the source; 0 without an encoder
    std::int64_t limit = 0;           // maximum number of new tokens
    std::int64_t rows_now = 0;        // number of rows of this job in choices_ in this step
    std::int64_t fed_now = 0;         // number of prompt tokens fed in this step
    // maximum number of pages of a row, and of the encoder's output
    std::int64_t row_pages = 0, source_pages = 0;
    bool encoded = false;
    bool slides = false;  // true if the text may exceed the model's positions
    const Error* failure = nullptr;
  };

  const SearchOptions& options_of(const Request& request) const {
    return request.options ? *request.options : options_;
  }
  // Cache slot that keeps the pages of an ended request, for later prompts that begin with the same tokens.
  struct Prefix {
    std::int32_t slot = 0;
    std::vector<std::int32_t> tokens;  // tokens in the slot; empty if the slot is unused
    std::uint64_t used = 0;            // value of uses_ at the last use; larger is more recent
  };
  // number of the source's positions; 0 without an encoder
  std::int64_t length_of_source(const Request& request) const;
  std::int64_t limit_of(const Request& request) const;  // maximum number of new tokens of the request
  std::int64_t pages_of_row(const Request& request) const;
  std::int64_t pages_of_source(const Request& request) const;
  void admit();
  bool admit(Request& request);
  void reserve_cache(const Job& job, std::int64_t tokens);
  void share_past(Job& job);
  static std::int64_t kept_slots(const Network& model, const SchedulerLimits& limits);
  void keep_prefix(const Job& job);
  bool drop_prefix();  // discard the least recently used prefix; return false if there is none
  std::int64_t common_past(const Job& job, const Job& other) const;
  std::int64_t pages_to_come(const Job& job) const;
  void collect_batch();
  void share_budget();
  void allot(Job& job, std::int64_t& budget);
  bool feed_prompt(Job& job);
  void feed_row(Job& job, std::int64_t row);
  void add_row(Job& job, std::int64_t row, std::size_t before, std::int32_t position);
  Var encode_sources();
  Var run_model();  // run the model; return the logits of choices_, or null if choices_ is empty
  void advance();
  void report_choices(const Job& job, std::size_t first);
  void leave();
  void release(Job& job);

  Network& model_;
  const SearchOptions options_;
  Listener& listener_;
  SchedulerLimits limits_;
  Arena arena_;
  Tape tape_;
  Cache cache_;
  Chooser chooser_;
  std::deque<Request> waiting_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::int32_t> free_slots_;
  std::vector<Prefix> prefixes_;
  std::uint64_t uses_ = 0, steps_ = 0;
  std::int64_t computed_ = 0;

  // Buffers of one step. They are members, so that a step allocates memory only if it admits or removes a
  // request, or grows a buffer for a long text.
  RaggedBuffer shape_;
  InputBuffer sources_;
  std::vector<Tensor> encoded_;  // Request::encoded for each element of sources_
  std::vector<std::int32_t> ids_, selected_, last_, reordered_;
  std::vector<ChoiceRow> choices_;
  // for each request in prefill: number of tokens to feed, and index of the job
  std::vector<std::pair<std::int64_t, std::size_t>> feeding_;
};

}  // namespace regard::infer
