#include "cli/unseen_words.h"

#include "base/printable.h"
#include "cli/output.h"

namespace regard::cli {
namespace {

constexpr std::size_t kMostPrinted = 20;

}  // namespace

UnseenWords::UnseenWords(const std::string& model, bool quiet)
    : words_(infer::TrainingWords::of_model(model)), quiet_(quiet) {}

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
