// Over a hundred sessions on four models join, end and are cancelled at random for 4 seconds, or for ten
// minutes in `make soak` (REGARD_SOAK_SECONDS). Each finished session must give the same bits as alone,
// memory must not grow, and a step in which no session joins or ends must not allocate.
#include "support/count_allocations.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/random.h"
#include "infer/session_case.h"
#include "support/resident.h"

namespace regard::infer {
namespace {

constexpr std::uint64_t kRequests = 250;  // requests per model
constexpr std::size_t kLive = 36;  // mean number of sessions per model; the number varies by half of it

std::uint64_t fingerprint(const std::vector<Hypothesis>& hypotheses) {
  std::uint64_t hash = 14695981039346656037u;
  const auto mix = [&](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  };
  for (const Hypothesis& one : hypotheses) {
    mix(one.tokens.data(), one.tokens.size() * sizeof(std::int32_t));
    mix(&one.score, sizeof one.score), mix(&one.log_probability, sizeof one.log_probability);
    mix(&one.ended, sizeof one.ended);
  }
  return hash;
}

struct Counts {
  std::int64_t joined = 0, finished = 0, cancelled = 0, wrong = 0;
  std::int64_t steps = 0, steady = 0, allocations = 0, most = 0;
};

// One model, its sessions, and fingerprints of the results of each request alone.
class Host : public SessionListener {
 public:
  Host(const std::string& name, Counts& counts)
      : model_(testing::session_model(name)),
        counts_(counts),
        random_({1, 0, place_of(name)}),
        sessions_(*model_, pool_, defaults(), *this,
                  {.rows = 24, .cache_tokens = 90 * kPageTokens, .tokens_at_once = 48}) {
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      requests_.push_back(testing::session_request(*model_, i));
      expected_.push_back(fingerprint(testing::alone(*model_, requests_.back())));
    }
    live_.reserve(4 * kLive);
  }

  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    ++counts_.finished;
    if (fingerprint(hypotheses) != expected_[leave(id)]) ++counts_.wrong;
  }
  void cancelled(std::uint64_t id) override { ++counts_.cancelled, leave(id); }
  void failed(std::uint64_t id, const Error&) override { ++counts_.wrong, leave(id); }

  void step(bool warm) {
    changed_ = false;
    if (quiet_ > 0) {
      --quiet_;  // in some steps no session joins, so that the allocations of such steps are counted
    } else {
      quiet_ = static_cast<int>(random_.next_below(12));
      const std::size_t wanted = kLive / 2 + static_cast<std::size_t>(random_.next_below(kLive));
      while (live_.size() < wanted) join();
      while (!live_.empty() && random_.next_below(3) == 0) cancel();
    }
    const std::int64_t running = sessions_.running(), waiting = sessions_.waiting();
    const std::int64_t before = testing::allocation_count;
    sessions_.step();
    const std::int64_t made = testing::allocation_count - before;
    ++counts_.steps;
    const bool same = !changed_ && running == sessions_.running() && waiting == sessions_.waiting() &&
                      sessions_.prefilling() == 0;
    unchanged_ = same ? unchanged_ + 1 : 0;
    // Buffers that grew for new sessions may still be rearranged in the next step.
    if (!warm || unchanged_ < 3 || sessions_.running() == 0) return;
    ++counts_.steady;
    counts_.allocations += made;
  }

  void drain() {
    while (sessions_.step()) {
    }
    EXPECT_EQ(sessions_.cache().free_pages(), sessions_.cache().pages());
    EXPECT_TRUE(live_.empty());
  }
  std::size_t live() const { return live_.size(); }

 private:
  static const SearchOptions& defaults() {
    static const SearchOptions options = [] {
      SearchOptions made;
      made.start_token = 2;
      return made;
    }();
    return options;
  }
  void join() {
    const auto which = static_cast<std::size_t>(random_.next_below(kRequests));
    live_.push_back({sessions_.join(requests_[which]), which});
    ++counts_.joined, changed_ = true;
  }
  void cancel() {
    sessions_.cancel(live_[static_cast<std::size_t>(random_.next_below(live_.size()))].id);
    changed_ = true;
  }
  std::size_t leave(std::uint64_t id) {
    changed_ = true;
    const auto found =
        std::find_if(live_.begin(), live_.end(), [id](const One& one) { return one.id == id; });
    const std::size_t which = found->which;
    *found = live_.back();
    live_.pop_back();
    return which;
  }

  struct One {
    std::uint64_t id;
    std::size_t which;
  };
  std::unique_ptr<Network> model_;
  Counts& counts_;
  RandomStream random_;
  ThreadPool pool_{2};
  Sessions sessions_;
  std::vector<Request> requests_;
  std::vector<std::uint64_t> expected_;
  std::vector<One> live_;
  bool changed_ = false;
  int quiet_ = 0, unchanged_ = 0;
};

// The buffers of a scheduler reach their final sizes only after some number of steps, regardless of the time.
constexpr std::int64_t kWarmUpSteps = 4000;

TEST(Soak, SessionsComeAndGoAndNothingElseChanges) {
  const char* asked = std::getenv("REGARD_SOAK_SECONDS");
  const double seconds = asked != nullptr ? std::atof(asked) : 4.0;
  Counts counts;
  std::vector<std::unique_ptr<Host>> hosts;
  for (const char* name : {"translator", "gpt", "llama", "windowed"})
    hosts.push_back(std::make_unique<Host>(name, counts));
  const Stopwatch watch;
  double least = 0, most = 0;  // resident memory in MiB
  while (watch.seconds() < seconds || counts.steps < 2 * kWarmUpSteps) {
    const bool warm = watch.seconds() > seconds / 4 && counts.steps >= kWarmUpSteps;
    std::int64_t live = 0;
    for (const auto& host : hosts) host->step(warm), live += static_cast<std::int64_t>(host->live());
    counts.most = std::max(counts.most, live);
    if (!warm || counts.steps % 256 != 0) continue;
    const double now = testing::resident_mib();
    least = least == 0 ? now : std::min(least, now), most = std::max(most, now);
  }
  for (const auto& host : hosts) host->drain();
  std::printf(
      "soak: %.0f s, %lld steps; %lld sessions joined, at most %lld at once, %lld finished as alone, %lld "
      "otherwise, %lld cancelled; %lld steady steps with %lld allocations; resident %.1f to %.1f MiB\n",
      watch.seconds(), static_cast<long long>(counts.steps), static_cast<long long>(counts.joined),
      static_cast<long long>(counts.most), static_cast<long long>(counts.finished - counts.wrong),
      static_cast<long long>(counts.wrong), static_cast<long long>(counts.cancelled),
      static_cast<long long>(counts.steady), static_cast<long long>(counts.allocations), least, most);
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_EQ(counts.finished + counts.cancelled, counts.joined);
  EXPECT_GT(counts.finished, 20);
  EXPECT_GT(counts.cancelled, 5);
  EXPECT_GE(counts.most, 100);
  if (!testing::counting()) return;  // with a sanitizer, the memory cannot be compared
  EXPECT_GT(counts.steady, 20);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_LT(most - least, 2) << "memory is not flat";
}

}  // namespace
}  // namespace regard::infer
