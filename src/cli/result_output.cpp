#include "cli/result_output.h"

#include "cli/output.h"

namespace regard::cli {

ResultOutput::ResultOutput(const std::string& path) {
  if (!path.empty() && path != "-") file_ = std::make_unique<AtomicFile>(path);
}

void ResultOutput::write(std::string_view text) {
  file_ ? file_->write(text) : write_result(text);
}

void ResultOutput::flush() {
  if (!file_) flush_results();
}

void ResultOutput::finish() {
  file_ ? file_->commit() : flush_results();
}

void write_whole_result(const std::string& path, std::string_view content, bool quiet) {
  ResultOutput output(path);
  output.write(content);
  output.finish();
  if (path != "-" && !quiet) print_message("wrote {}\n", path);
}

}  // namespace regard::cli
