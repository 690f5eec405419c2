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

// The lines of files, one after another; `line_ends` keeps a "\n" at each. Ill-formed UTF-8 is refused with
// file and line. Throws io.
LineSource lines_of_files(std::vector<std::filesystem::path> files, bool line_ends);
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
