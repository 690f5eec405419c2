#include "text/word_counts.h"

#include <algorithm>
#include <memory>

#include "base/line_reader.h"
#include "text/pieces.h"
#include "text/vocabulary.h"

namespace regard::text {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
constexpr std::size_t kTaskLines = 256;

class Counter {
 public:
  void add(std::string_view word) {
    const auto known = words_.find(word);
    if (known) {
      ++counts_[static_cast<std::size_t>(*known)];
      return;
    }
    words_.add(word, static_cast<std::int32_t>(counts_.size()));
    counts_.push_back(1);
  }
  void append_to(std::vector<WordCount>& all) const {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      all.push_back({std::string(*words_.token(static_cast<std::int32_t>(i))), counts_[i]});
  }

 private:
  Vocabulary words_;
  std::vector<std::int64_t> counts_;
};

void count_line(const std::string& line, const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                Counter& counter) {
  Pieces pieces(line, false);
  if (normalizer != nullptr)
    pieces.rewrite([&](std::string_view text) { return normalizer->surely_unchanged(text); },
                   [&](AlignedText& text) { normalizer->apply(text); });
  if (pre_tokenizer != nullptr) pre_tokenizer->apply(pieces);
  for (const Piece& piece : pieces.list()) counter.add(pieces.text_of(piece));
}

}  // namespace

LineSource lines_of_files(std::vector<std::filesystem::path> files, bool line_ends, SkippedLines* skipped) {
  struct State {
    std::vector<std::filesystem::path> files;
    std::size_t next = 0;
    std::unique_ptr<LineReader> reader;
  };
  auto state = std::make_shared<State>(State{std::move(files), 0, nullptr});
  const BadUtf8 policy = skipped != nullptr ? BadUtf8::flag : BadUtf8::refuse;
  return [state, line_ends, skipped, policy](std::string& line) {
    for (;;) {
      while (state->reader && state->reader->next(line)) {
        if (!state->reader->valid()) {
          if (skipped->count++ == 0) {
            skipped->file = state->reader->name();
            skipped->line = state->reader->line_number();
          }
          continue;
        }
        if (line_ends) line.push_back('\n');
        return true;
      }
      if (state->next == state->files.size()) return false;
      state->reader = std::make_unique<LineReader>(state->files[state->next++], policy);
    }
  };
}

LineSource lines_of(std::span<const std::string> lines) {
  return [lines, next = std::size_t{0}](std::string& line) mutable {
    if (next == lines.size()) return false;
    line = lines[next++];
    return true;
  };
}

std::vector<WordCount> count_words(const LineSource& lines, const Normalizer* normalizer,
                                   const PreTokenizer* pre_tokenizer, ThreadPool* pool) {
  std::vector<Counter> counters(pool != nullptr ? static_cast<std::size_t>(pool->size()) : 1);
  std::vector<std::string> batch;
  const auto count_batch = [&] {
    const auto tasks = static_cast<std::int64_t>((batch.size() + kTaskLines - 1) / kTaskLines);
    const auto one = [&](std::int64_t task, int worker) {
      const std::size_t begin = static_cast<std::size_t>(task) * kTaskLines;
      const std::size_t end = std::min(begin + kTaskLines, batch.size());
      for (std::size_t i = begin; i < end; ++i)
        count_line(batch[i], normalizer, pre_tokenizer, counters[static_cast<std::size_t>(worker)]);
    };
    if (pool != nullptr) {
      pool->parallel_for(tasks, one);
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) one(task, 0);
    }
    batch.clear();
  };
  std::string line;
  std::size_t bytes = 0;
  while (lines(line)) {
    bytes += line.size();
    batch.push_back(std::move(line));
    line.clear();
    if (bytes < kBatchBytes) continue;
    count_batch();
    bytes = 0;
  }
  count_batch();
  std::vector<WordCount> all;
  for (const Counter& counter : counters) counter.append_to(all);
  std::sort(all.begin(), all.end(), [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kept > 0 && all[kept - 1].word == all[i].word) {
      all[kept - 1].count += all[i].count;
    } else {
      if (kept != i) all[kept] = std::move(all[i]);
      ++kept;
    }
  }
  all.resize(kept);
  return all;
}

}  // namespace regard::text
