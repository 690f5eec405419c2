// Word counts of a corpus, the input of every tokenizer trainer.
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

// A function that stores the next line and returns true, or returns false at the end.
using LineSource = std::function<bool(std::string& line)>;

// Lines that were skipped because they are not UTF-8.
struct SkippedLines {
  std::int64_t count = 0;
  std::string file;  // file of the first skipped line
  std::int64_t line = 0;
};

// Return the lines of several files in order, with their line ends if `line_ends` is set. Lines that are not
// UTF-8 are skipped and counted in `skipped`, which must outlive the returned function. Throws io, and
// bad_file with file and line if a line is not UTF-8 and `skipped` is null.
LineSource lines_of_files(std::vector<std::filesystem::path> files, bool line_ends,
                          SkippedLines* skipped = nullptr);
// Return the elements of `lines`, which must outlive the returned function.
LineSource lines_of(std::span<const std::string> lines);

struct WordCount {
  std::string word;
  std::int64_t count = 0;
};

// Count the words of `lines`; `normalizer`, `pre_tokenizer` and `pool` may be null. The result is sorted by
// bytes, so it does not depend on the number of threads. Memory use depends only on the number of distinct
// words.
std::vector<WordCount> count_words(const LineSource& lines, const Normalizer* normalizer,
                                   const PreTokenizer* pre_tokenizer, ThreadPool* pool);

}  // namespace regard::text
