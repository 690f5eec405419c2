#include "cli/corpus_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/progress.h"

namespace regard::cli {
namespace {

constexpr int kLinesBetween = 1024;

// Return the total size of the files in bytes. A file of unknown size counts as 0.
double total_size(const std::vector<std::filesystem::path>& files) {
  double bytes = 0;
  for (const auto& file : files) {
    std::error_code none;
    const auto size = std::filesystem::file_size(file, none);
    if (!none) bytes += static_cast<double>(size);
  }
  return bytes;
}

struct CorpusProgress {
  CorpusProgress(bool quiet, double bytes) : progress(quiet), total(bytes) {}

  void show() {
    if (!progress.shown() || total <= 0) return;
    const double megabytes = read / 1e6;
    progress.update(std::min(read / total, 1.0), fmt::format("read {:.0f} MB · {:.0f} MB/s", megabytes,
                                                             megabytes / std::max(watch.seconds(), 1e-3)));
  }

  ProgressBar progress;
  double total, read = 0;  // total size of the files and number of bytes read so far
  int lines = 0;
  Stopwatch watch;
};

}  // namespace

text::LineSource with_progress(text::LineSource lines, const std::vector<std::filesystem::path>& files,
                               bool quiet) {
  return [lines = std::move(lines),
          state = std::make_shared<CorpusProgress>(quiet, total_size(files))](std::string& line) {
    if (!lines(line)) {
      state->progress.clear();
      return false;
    }
    state->read += static_cast<double>(line.size() + 1);
    if (++state->lines % kLinesBetween == 0) state->show();
    return true;
  };
}

}  // namespace regard::cli
