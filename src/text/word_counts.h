// How often each word of a corpus occurs: what every trainer starts from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "text/normalizers.h"
#include "text/pre_tokenizers.h"

namespace regard::text {

// Hands out the next line, or returns false at the end.
using LineSource = std::function<bool(std::string& line)>;

// Lines that were left out because they are not UTF-8.
struct SkippedLines {
  std::int64_t count = 0;
  std::string file;  // of the first
  std::int64_t line = 0;
};

// The lines of files, one after another; `line_ends` keeps a "\n" at each. A line that is not UTF-8 is left
// out and added to `skipped`, which must outlive the source; without it it is refused with file and line.
// Throws io.
LineSource lines_of_files(std::vector<std::filesystem::path> files, bool line_ends,
                          SkippedLines* skipped = nullptr);
// `lines` must outlive the source.
LineSource lines_of(std::span<const std::string> lines);

struct WordCount {
  std::string word;
  std::int64_t count = 0;
};

// Counted over the pool's threads (null: this one), sorted by bytes, so the result never depends on threads.
// `normalizer` and `pre_tokenizer` may be null. Memory grows with the number of different words only.
std::vector<WordCount> count_words(const LineSource& lines, const Normalizer* normalizer,
                                   const PreTokenizer* pre_tokenizer, ThreadPool* pool);

}  // namespace regard::text
