#include "cli/unseen_words.h"

#include <fmt/ranges.h>

#include "base/printable.h"
#include "cli/output.h"

namespace regard::cli {
namespace {

constexpr std::size_t kMostPrinted = 20;

}  // namespace

UnseenWords::UnseenWords(const std::string& model, const text::Tokenizer& tokenizer, bool quiet)
    : words_(infer::TrainingWords::of_model(model)), tokenizer_(tokenizer), quiet_(quiet) {}

void UnseenWords::print(const char* what, const std::vector<std::string>& words, const char* hint) {
  if (words.empty()) return;
  print_message("regard: {}: {}\n", what, fmt::join(words, ", "));
  if (hints_.insert(hint).second) print_message("  hint: {}\n", hint);
}

UnseenWords::Report UnseenWords::of(const std::string& text) {
  if (!words_) return {};
  Report report{words_->unseen(text), {}};
  std::vector<std::string> unseen, other_case;  // words that this call prints
  const auto fresh = [this](const std::string& word) {
    return !quiet_ && printed_.size() < kMostPrinted && printed_.insert(word).second;
  };
  for (const std::string& word : report.unseen)
    if (fresh(word)) unseen.push_back(printable(word));
  const text::EncodeOptions plain{.add_special = false, .match_special = false};
  for (const auto& [word, trained] : words_->in_other_case(text)) {
    if (tokenizer_.encode(word, plain).ids == tokenizer_.encode(trained, plain).ids) continue;
    if (fresh(word)) other_case.push_back(printable(word) + " (" + printable(trained) + ")");
    report.other_case.push_back(word);
  }
  print("not seen in training", unseen, "their translation is often wrong; --json lists them for each line");
  print("seen in training only in another case", other_case,
        "the model treats upper and lower case as different words");
  if (printed_.size() == kMostPrinted && !(unseen.empty() && other_case.empty()))
    print_message("  further words are not listed\n");
  return report;
}

}  // namespace regard::cli
