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

}  // namespace regard::cli
