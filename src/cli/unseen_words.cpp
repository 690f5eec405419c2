#include "cli/unseen_words.h"

#include <filesystem>

#include "base/printable.h"
#include "cli/output.h"

namespace regard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPrinted = 20;

// Open the words of the run RUN, given as RUN, RUN/best or RUN/checkpoints/STEP.
std::optional<infer::TrainingWords> words_of_run(const fs::path& model) {
  if (auto words = infer::TrainingWords::open(model)) return words;
  std::error_code error;
  const fs::path folder = fs::canonical(model, error);
  if (error || folder.parent_path().filename() != "checkpoints") return std::nullopt;
  return infer::TrainingWords::open(folder.parent_path().parent_path());
}

}  // namespace

UnseenWords::UnseenWords(const std::string& model, bool quiet) : words_(words_of_run(model)), quiet_(quiet) {}

std::vector<std::string> UnseenWords::of(const std::string& text) {
  if (!words_) return {};
  std::vector<std::string> found = words_->unseen(text);
  if (quiet_ || printed_.size() >= kMostPrinted) return found;
  const bool first = printed_.empty();
  std::string names;
  for (const std::string& word : found)
    if (printed_.size() < kMostPrinted && printed_.insert(word).second)
      names += (names.empty() ? "" : ", ") + printable(word);
  if (names.empty()) return found;
  print_message("regard: not seen in training: {}\n", names);
  if (first) print_message("  hint: the model guesses their translation; --json names them for each line\n");
  if (printed_.size() == kMostPrinted) print_message("  further words are not named here\n");
  return found;
}

}  // namespace regard::cli
