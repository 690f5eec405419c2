// The scheduler's accounting: which request runs at which step, how many tokens a step prefills, and how many
// pages are reserved for each request. sessions_test.cpp tests the results of the requests.
#include "infer/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "infer/session_case.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

using testing::random_tokens;
using testing::session_model;
using Ids = std::vector<std::int32_t>;

class Record : public Listener {
 public:
  void token(std::uint64_t id, std::int64_t, std::int32_t) override {
    if (!first_token.contains(id)) first_token[id] = step;
  }
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    last_token[id] = step;
    results[id] = std::move(hypotheses);
  }
  void failed(std::uint64_t id, const Error& error) override { failures[id] = error.message(); }
  int step = 0;  // counted from 1
  std::map<std::uint64_t, int> first_token, last_token;
  std::map<std::uint64_t, std::vector<Hypothesis>> results;
  std::map<std::uint64_t, std::string> failures;
};

// A scheduler with a tiny model, and requests that end only at their length limit.
class Bench {
 public:
  explicit Bench(const std::string& name, const SchedulerLimits& limits = {.rows = 8})
      : model(session_model(name)), scheduler(*model, pool, options, record, limits) {}

  Request request(std::int64_t tokens, std::int64_t max_new, std::int64_t beam = 1) {
    ++id_;
    Request one = request_of(*model, random_tokens({tokens}, 29, id_)[0], id_);
    SearchOptions own = options;
    own.max_new = max_new, own.beam = beam;
    one.options = std::make_shared<const SearchOptions>(own);
    return one;
  }
  std::uint64_t submit(std::int64_t tokens, std::int64_t max_new, std::int64_t beam = 1) {
    scheduler.submit(request(tokens, max_new, beam));
    return id_;
  }
  bool fits(std::int64_t tokens, std::int64_t max_new, std::int64_t beam = 1) {
    try {
      scheduler.check(request(tokens, max_new, beam));
      return true;
    } catch (const Error& error) {
      const ErrorKind kind = error.kind();
      EXPECT_TRUE(kind == ErrorKind::resource_exhausted || kind == ErrorKind::invalid_input) << error.what();
      return false;
    }
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) ++record.step, scheduler.step();
  }
  void run() {
    do ++record.step;
    while (scheduler.step());
  }
  std::size_t tokens_of(std::uint64_t id) { return record.results.at(id).at(0).tokens.size(); }

  static SearchOptions defaults() {
    SearchOptions options;
    options.start_token = 2;
    return options;
  }
  SearchOptions options = defaults();
  std::unique_ptr<Network> model;
  ThreadPool pool{1};
  Record record;
  Scheduler scheduler;

 private:
  std::uint64_t id_ = 0;
};

TEST(Scheduler, PromptsShareAStepsTokens) {
  Bench bench("gpt", {.rows = 8, .tokens_at_once = 10});
  const std::uint64_t longer = bench.submit(25, 3), shorter = bench.submit(4, 3), last = bench.submit(3, 1);
  const Cache& cache = bench.scheduler.cache();
  const auto lengths = [&] { return Ids{int(cache.length(0)), int(cache.length(1)), int(cache.length(2))}; };
  bench.steps(1);
  EXPECT_EQ(lengths(), (Ids{10, 0, 0}));
  bench.steps(1);
  EXPECT_EQ(lengths(), (Ids{20, 0, 0}));
  EXPECT_EQ(bench.scheduler.prefilling(), 3);
  bench.steps(1);
  EXPECT_EQ(lengths(), (Ids{25, 4, 1}));
  EXPECT_EQ(bench.scheduler.prefilling(), 1);
  bench.steps(1);
  EXPECT_EQ(lengths(), (Ids{26, 5, 0})) << "the third is done";
  EXPECT_EQ(bench.scheduler.running(), 2);
  bench.run();
  EXPECT_EQ(bench.record.first_token[longer], 3);
  EXPECT_EQ(bench.record.first_token[shorter], 3);
  EXPECT_EQ(bench.record.last_token[longer], 5);
  EXPECT_EQ(bench.record.last_token[last], 4);
  EXPECT_EQ(bench.tokens_of(longer), 3u);
  EXPECT_EQ(bench.scheduler.running(), 0);
}

TEST(Scheduler, SourcesCountTowardsAStepsTokens) {
  Bench bench("translator", {.rows = 8, .tokens_at_once = 10});
  // A source that is longer than tokens_at_once is encoded alone in step 1. Step 2 encodes the sources of 6
  // and 3 tokens, step 3 the source of 9 tokens, and step 4 the source of 2 tokens.
  const std::uint64_t alone = bench.submit(12, 9), second = bench.submit(6, 9), third = bench.submit(3, 9),
                      fourth = bench.submit(9, 9), fifth = bench.submit(2, 9);
  bench.run();
  auto& first = bench.record.first_token;
  EXPECT_EQ(first[alone], 1);
  EXPECT_EQ(first[second], 2);
  EXPECT_EQ(first[third], 2);
  EXPECT_EQ(first[fourth], 3);
  EXPECT_EQ(first[fifth], 4) << "9 and 1 are 10";
}

// The source is encoded in the first step only. The later steps prefill three prompt tokens each.
TEST(Scheduler, APromptAfterASourceIsPrefilledInSeveralSteps) {
  std::vector<std::vector<Hypothesis>> results;
  for (const auto& [tokens_at_once, steps] : {std::pair{3, 3}, std::pair{8192, 1}}) {
    Bench bench("translator", {.rows = 8, .tokens_at_once = tokens_at_once});
    Request request = bench.request(2, 6);
    request.prompt = {2, 5, 7, 9, 4};
    bench.scheduler.submit(request);
    bench.run();
    EXPECT_EQ(bench.record.first_token[request.id], steps);
    results.push_back(bench.record.results[request.id]);
  }
  EXPECT_TRUE(testing::same_bits(results[0], results[1]));
}

TEST(Scheduler, PagesAreCountedToTheLastTokenThatIsFedBack) {
  static_assert(kPageTokens == 32);
  Bench bench("gpt", {.rows = 8, .cache_pages = 3});
  EXPECT_TRUE(bench.fits(20, 77)) << "20 + 77 − 1 tokens are 3 pages";
  EXPECT_FALSE(bench.fits(20, 78));
  EXPECT_TRUE(bench.fits(5, 28, 3)) << "a page for each of the beams";
  EXPECT_FALSE(bench.fits(5, 29, 3));
  EXPECT_FALSE(bench.fits(5, 2, 4));
  Bench translator("translator", {.rows = 8, .cache_pages = 3});
  EXPECT_TRUE(translator.fits(64, 32)) << "2 pages of source, 1 of text";
  EXPECT_FALSE(translator.fits(65, 32));
  EXPECT_FALSE(translator.fits(64, 33));
  EXPECT_REGARD_ERROR(translator.scheduler.check(translator.request(64, 65, 2)),
                      ErrorKind::resource_exhausted, "256");
  // A window of 40 tokens and 16 prefilled tokens need 4 pages if the page at either end is partly used.
  Bench windowed("windowed", {.rows = 8, .tokens_at_once = 16, .cache_pages = 4});
  EXPECT_TRUE(windowed.fits(150, 200));
  Bench wider("windowed", {.rows = 8, .tokens_at_once = 25, .cache_pages = 4});
  EXPECT_FALSE(wider.fits(150, 200));
  EXPECT_TRUE(wider.fits(24, 200)) << "a shorter prompt comes in at once";
  EXPECT_TRUE(wider.fits(100, 29)) << "4 pages hold all of it";
}

TEST(Scheduler, ARequestWaitsUntilAllItsPagesAreFree) {
  Bench bench("gpt", {.rows = 8, .cache_pages = 5});
  const std::uint64_t two = bench.submit(20, 14), other = bench.submit(30, 10), three = bench.submit(40, 40);
  bench.steps(1);
  EXPECT_EQ(bench.scheduler.running(), 2);
  EXPECT_EQ(bench.scheduler.waiting(), 1);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 3) << "a page each so far; one more each to come";
  bench.run();
  EXPECT_EQ(bench.record.last_token[other], 10);
  EXPECT_EQ(bench.record.first_token[three], 11) << "as soon as the second has left";
  EXPECT_EQ(bench.record.last_token[two], 14);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 5);

  Bench exact("gpt", {.rows = 8, .cache_pages = 5});
  exact.submit(20, 14), exact.submit(30, 10), exact.submit(30, 3);
  exact.steps(1);
  EXPECT_EQ(exact.scheduler.running(), 3) << "2 + 2 + 1 pages";
  Bench rows("gpt", {.rows = 3});
  rows.submit(4, 4, 2), rows.submit(4, 4, 2);
  rows.steps(1);
  EXPECT_EQ(rows.scheduler.running(), 1) << "four rows of three";
  Bench three_rows("gpt", {.rows = 3});
  three_rows.submit(4, 4, 2), three_rows.submit(4, 4, 1);
  three_rows.steps(1);
  EXPECT_EQ(three_rows.scheduler.running(), 2);
}

// A sampled request of two sequences needs 2 pages for each. During prefill, only the first sequence has a
// page.
TEST(Scheduler, PagesOfAllSequencesAreReservedDuringPrefill) {
  for (const std::int64_t pages : {5, 6}) {
    Bench bench("gpt", {.rows = 8, .tokens_at_once = 10, .cache_pages = pages});
    bench.options.sample = true, bench.options.n_best = 2;
    bench.submit(25, 20);
    bench.steps(1);
    EXPECT_EQ(bench.scheduler.prefilling(), 1);
    EXPECT_EQ(bench.scheduler.cache().free_pages(), pages - 1);
    bench.options = Bench::defaults();
    bench.submit(20, 14);  // needs 2 pages; the first request may still allocate 3
    bench.steps(1);
    EXPECT_EQ(bench.scheduler.running(), pages - 4);
    bench.run();
    EXPECT_EQ(bench.record.results.size(), 2u);
  }
}

TEST(Scheduler, NoPagesAreReservedForAnEndedSequence) {
  const auto sampled = [](Bench& bench, const std::vector<std::int32_t>& end_tokens) {
    bench.options.sample = true, bench.options.n_best = 2, bench.options.end_tokens = end_tokens;
    bench.submit(20, 14);
    bench.options = Bench::defaults();
  };
  Bench plain("gpt");
  sampled(plain, {});
  plain.run();
  const std::vector<Hypothesis>& both = plain.record.results.at(1);
  const std::int32_t last = both.at(1).tokens.at(0);
  ASSERT_EQ(std::count(both[0].tokens.begin(), both[0].tokens.begin() + 3, last), 0);
  Bench bench("gpt", {.rows = 8, .cache_pages = 6});
  sampled(bench, {last});
  bench.steps(2);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 5) << "the page of the first sequence";
  bench.submit(100, 10);  // needs 4 pages; the first request may still allocate 1
  bench.steps(1);
  EXPECT_EQ(bench.scheduler.running(), 2);
}

// The first translation needs 2 pages for its source and 3 for its text; the second needs one page for each.
// After its first step, the first translation has 3 pages and needs 2 more.
TEST(Scheduler, PagesOfASourceAreNotPagesOfItsText) {
  for (const std::int64_t pages : {5, 6}) {
    Bench scarce("translator", {.rows = 8, .cache_pages = pages});
    const std::uint64_t first = scarce.submit(64, 96);
    scarce.steps(1);
    EXPECT_EQ(scarce.scheduler.cache().free_pages(), pages - 3);
    const std::uint64_t second = scarce.submit(32, 32);
    scarce.steps(1);
    EXPECT_EQ(scarce.scheduler.running(), 1) << pages;
    scarce.run();
    EXPECT_EQ(scarce.record.last_token[first], 96);
    EXPECT_EQ(scarce.record.first_token[second], 97);
    EXPECT_EQ(scarce.tokens_of(second), 32u);
    EXPECT_EQ(scarce.scheduler.cache().free_pages(), pages);
  }
  Bench enough("translator", {.rows = 8, .cache_pages = 7});
  enough.submit(64, 96);
  enough.steps(1);
  enough.submit(32, 32);
  enough.steps(1);
  EXPECT_EQ(enough.scheduler.running(), 2) << "the encoded source needs no more pages";
  enough.run();
}

TEST(Scheduler, TextsEndAtTheirLimits) {
  Bench gpt("gpt");
  const std::uint64_t plain = gpt.submit(3, 0);
  gpt.options.max_length = 10;
  const std::uint64_t limited = gpt.submit(3, 0), said = gpt.submit(3, 12);
  EXPECT_TRUE(gpt.fits(9, 0));
  EXPECT_FALSE(gpt.fits(10, 0)) << "nothing may come behind it";
  gpt.run();
  EXPECT_EQ(gpt.tokens_of(plain), 128u);
  EXPECT_EQ(gpt.tokens_of(limited), 7u);
  EXPECT_EQ(gpt.tokens_of(said), 12u);
  EXPECT_FALSE(gpt.record.results[said][0].ended);
  Bench translator("translator"), postnorm("postnorm");
  const std::uint64_t twice = translator.submit(5, 0);
  translator.run();
  EXPECT_EQ(translator.tokens_of(twice), 26u) << "2 × 5 + 16";
  const std::uint64_t positions = postnorm.submit(150, 0);
  postnorm.run();
  EXPECT_EQ(postnorm.tokens_of(positions), 200u) << "the last token is never fed back";
}

TEST(Scheduler, RequestsAtTheLimitsPassAndBeyondThemDoNot) {
  Bench bench("gpt", {.rows = 3});
  EXPECT_TRUE(bench.fits(200, 1)) << "as many as the model has positions";
  EXPECT_FALSE(bench.fits(201, 1));
  EXPECT_FALSE(bench.fits(0, 1));
  EXPECT_TRUE(bench.fits(4, 1, 3));
  EXPECT_FALSE(bench.fits(4, 1, 4));
  Request last = bench.request(4, 1), beyond = last, negative = last;
  last.prompt[3] = 36, beyond.prompt[3] = 37, negative.prompt[0] = -1;
  bench.scheduler.check(last);
  EXPECT_REGARD_ERROR(bench.scheduler.check(beyond), ErrorKind::invalid_input, "0 to 36");
  EXPECT_REGARD_ERROR(bench.scheduler.check(negative), ErrorKind::invalid_input, "-1");
  const SchedulerLimits nothing{.tokens_at_once = 0}, fewer{.rows = -1}, pages{.cache_pages = -1};
  for (const SchedulerLimits& limits : {nothing, fewer, pages}) EXPECT_THROW(limits.check(), Error);
  SchedulerLimits{.rows = 0, .tokens_at_once = 1, .cache_pages = 0}.check();
  SearchOptions wide = Bench::defaults();
  wide.rows_at_once = 7, wide.beam = 3;
  EXPECT_EQ(Scheduler(*bench.model, bench.pool, wide, bench.record).cache().slot_count(), 6);
  wide.rows_at_once = 2;
  EXPECT_EQ(Scheduler(*bench.model, bench.pool, wide, bench.record).cache().slot_count(), 3);
}

TEST(Scheduler, WhatIsCancelledGivesItsPagesBack) {
  Bench bench("gpt", {.rows = 2, .cache_pages = 6});
  const std::uint64_t first = bench.submit(40, 50), second = bench.submit(40, 50),
                      third = bench.submit(40, 5);
  bench.steps(2);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 2);
  EXPECT_FALSE(bench.scheduler.cancel(third + 1));
  EXPECT_TRUE(bench.scheduler.cancel(second));
  EXPECT_FALSE(bench.scheduler.cancel(second));
  EXPECT_EQ(bench.scheduler.running(), 1);
  EXPECT_EQ(bench.scheduler.waiting(), 1);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 4);
  EXPECT_TRUE(bench.scheduler.cancel(third));
  EXPECT_EQ(bench.scheduler.waiting(), 0);
  EXPECT_TRUE(bench.scheduler.cancel(first));
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 6);
  EXPECT_FALSE(bench.scheduler.step());
}

// Token 5 has a damaged embedding: the requests that read it fail, and the others of the same step do not.
TEST(Scheduler, OnlyRequestsWithDamagedScoresFail) {
  Bench bench("llama", {.rows = 8, .cache_pages = 8});
  const Parameter& embedding = *bench.model->parameters()[0];
  ASSERT_EQ(embedding.name, "embedding.weight");
  embedding.value().row(5)[0] = std::nanf("");
  const std::vector<Ids> prompts{{4}, {7, 8}, {5}, {9}, {6, 5}, {3, 2, 1}};
  std::vector<Request> requests;
  for (const Ids& prompt : prompts) {
    requests.push_back(bench.request(1, 1));
    requests.back().prompt = prompt;
    bench.scheduler.submit(requests.back());
  }
  bench.run();
  EXPECT_EQ(bench.record.failures.size(), 2u);
  EXPECT_EQ(bench.record.results.size(), 4u);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::uint64_t id = requests[i].id;
    if (i == 2 || i == 4) {
      EXPECT_EQ(bench.record.failures[id], "the model's logits are not finite") << i;
    } else {
      EXPECT_TRUE(testing::same_bits(bench.record.results[id], testing::alone(*bench.model, requests[i])))
          << i;
    }
  }
  EXPECT_EQ(bench.scheduler.running(), 0);
  EXPECT_EQ(bench.scheduler.cache().free_pages(), 8);
}

// Return the number of steps from the submission of a request to its first token, with four prefilled tokens
// per step. `prompt` makes its prompt from the request that is already running and its tokens.
int steps_beside(const std::function<Ids(const Request& running, const Ids& written)>& prompt, bool share) {
  Bench bench("gpt", {.rows = 4, .tokens_at_once = 4, .cache_pages = 40, .share_prefixes = share});
  Request running = bench.request(40, 60);
  bench.scheduler.submit(running);
  bench.steps(10 + 20);
  Request beside = bench.request(1, 2);
  Ids written = testing::alone(*bench.model, running)[0].tokens;
  // The running request needs 10 steps for its prefill; the tenth generates the first token. Of its 20
  // generated tokens, the last is not yet in the cache.
  written.resize(20);
  beside.prompt = prompt(running, written);
  const int before = bench.record.step;
  bench.scheduler.submit(beside);
  while (!bench.record.first_token.contains(beside.id)) bench.steps(1);
  return bench.record.first_token[beside.id] - before;
}

TEST(Scheduler, TokensInCommonAreTakenFromTheOthersPages) {
  const auto begins_alike = [](std::size_t common) {
    return [common](const Request& running, const Ids&) {
      Ids prompt(running.prompt.begin(), running.prompt.begin() + static_cast<std::ptrdiff_t>(common));
      for (const std::size_t size = common + 4; prompt.size() < size;)
        prompt.push_back(running.prompt[common] == 5 ? 6 : 5);
      return prompt;
    };
  };
  EXPECT_EQ(steps_beside(begins_alike(32), true), 1);
  EXPECT_EQ(steps_beside(begins_alike(32), false), 9);
  EXPECT_EQ(steps_beside(begins_alike(31), true), 9) << "less than a page is not shared";
  const auto same = [](const Request& running, const Ids&) { return running.prompt; };
  EXPECT_EQ(steps_beside(same, true), 1);
  const auto goes_on = [](const Request& running, const Ids& written) {
    Ids prompt = running.prompt;
    prompt.insert(prompt.end(), written.begin(), written.end());
    return prompt;
  };
  EXPECT_EQ(steps_beside(goes_on, true), 1) << "what the other wrote is shared too";
  EXPECT_EQ(steps_beside(goes_on, false), 15);
}

}  // namespace
}  // namespace regard::infer
