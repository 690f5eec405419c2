#include "vectors/cooccurrence.h"

#include <algorithm>
#include <queue>

#include "base/shuffle.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kWordsBetweenLooks = std::size_t{1} << 16;
// Maximum number of files that are shuffled one after another. Each needs a file descriptor and a buffer.
constexpr std::size_t kMostPiles = 256;

struct Entry {
  std::uint64_t pair = 0;
  double count = 0;
};

std::uint64_t pair_of(std::int32_t word, std::int32_t context) {
  return static_cast<std::uint64_t>(word) << 32 | static_cast<std::uint32_t>(context);
}

// Replace all entries of a pair with one entry that has the sum of their counts, added in their original
// order.
void combine(std::vector<Entry>& entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.pair < b.pair; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && entries[kept - 1].pair == entries[i].pair) {
      entries[kept - 1].count += entries[i].count;
    } else {
      entries[kept++] = entries[i];
    }
  }
  entries.resize(kept);
}

class Counter {
 public:
  explicit Counter(const CooccurrenceOptions& options)
      : runs_(options.temporary), limit_(std::max<std::size_t>(options.records, 16)) {
    buffer_.reserve(limit_);
  }
  void add(std::int32_t word, std::int32_t context, double count) {
    buffer_.push_back({pair_of(word, context), count});
    if (buffer_.size() < limit_) return;
    combine(buffer_);
    // Combining the entries of equal pairs frees space. If less than half of the buffer is free, write the
    // buffer to the file.
    if (buffer_.size() > limit_ / 2) write_run();
  }

  // Call take(pair, count) once for each pair, in the order of pairs.
  template <class Take>
  void merge(Take&& take) {
    combine(buffer_);
    write_run();
    const auto entries = runs_.records();
    struct Head {
      std::uint64_t pair;
      std::size_t run;
      bool operator>(const Head& other) const {
        return pair != other.pair ? pair > other.pair : run > other.run;
      }
    };
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    std::vector<std::uint64_t> at(ends_.size());
    for (std::size_t run = 0; run < ends_.size(); ++run) {
      at[run] = run == 0 ? 0 : ends_[run - 1];
      if (at[run] < ends_[run]) heads.push({entries[at[run]].pair, run});
    }
    while (!heads.empty()) {
      const std::uint64_t pair = heads.top().pair;
      double count = 0;
      while (!heads.empty() && heads.top().pair == pair) {
        const std::size_t run = heads.top().run;
        heads.pop();
        count += entries[at[run]].count;
        if (++at[run] < ends_[run]) heads.push({entries[at[run]].pair, run});
      }
      take(pair, count);
    }
  }
  std::uint64_t entries() const { return runs_.size() + buffer_.size(); }

 private:
  void write_run() {
    runs_.append(std::span<const Entry>(buffer_));
    ends_.push_back(runs_.size());
    buffer_.clear();
  }
  Spill<Entry> runs_;
  std::vector<std::uint64_t> ends_;
  std::vector<Entry> buffer_;
  std::size_t limit_;
};

void count_windows(const Corpus& corpus, const CooccurrenceOptions& options, Counter& counter) {
  const auto ids = corpus.ids->records();
  std::size_t begin = 0;  // index of the start of the sentence
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % kWordsBetweenLooks == 0) {
      if (options.stopped && options.stopped()) return;
      if (options.progress) options.progress(static_cast<double>(i) / static_cast<double>(ids.size()));
    }
    if (ids[i] == kSentenceEnd) {
      begin = i + 1;
      continue;
    }
    const std::size_t reach = std::min<std::size_t>(static_cast<std::size_t>(options.window), i - begin);
    for (std::size_t distance = 1; distance <= reach; ++distance) {
      const double count = 1.0 / static_cast<double>(distance);
      counter.add(ids[i], ids[i - distance], count);
      if (options.symmetric) counter.add(ids[i - distance], ids[i], count);
    }
  }
}

}  // namespace

std::shared_ptr<Spill<Cooccurrence>> count_cooccurrences(const Corpus& corpus,
                                                         const CooccurrenceOptions& options) {
  if (options.window < 1 || options.window > 1000)
    throw usage_error("expected a window of 1 to 1000 words, found " + std::to_string(options.window));
  Counter counter(options);
  count_windows(corpus, options, counter);
  const std::size_t piles =
      std::min<std::size_t>(counter.entries() / std::max<std::size_t>(options.records, 16) + 1, kMostPiles);
  std::vector<std::unique_ptr<Spill<Cooccurrence>>> dealt;
  for (std::size_t pile = 0; pile < piles; ++pile)
    dealt.push_back(std::make_unique<Spill<Cooccurrence>>(options.temporary));
  RandomStream random({options.seed, 0, place_of("vectors.shuffle")});
  counter.merge([&](std::uint64_t pair, double count) {
    dealt[random.next_below(piles)]->append(Cooccurrence{static_cast<std::int32_t>(pair >> 32),
                                                         static_cast<std::int32_t>(pair & 0xFFFFFFFFu),
                                                         static_cast<float>(count)});
  });
  auto result = std::make_shared<Spill<Cooccurrence>>(options.temporary);
  for (auto& pile : dealt) {
    const auto records = pile->records();
    std::vector<Cooccurrence> shuffled(records.begin(), records.end());
    pile.reset();
    shuffle(shuffled, random);
    result->append(std::span<const Cooccurrence>(shuffled));
  }
  return result;
}

}  // namespace regard::vectors
