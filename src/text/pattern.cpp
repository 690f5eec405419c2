#include "text/pattern.h"

#include "text/scanners.h"

namespace regard::text {
namespace {

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : literal_(std::move(text)) {}

  void find(std::string_view text, std::vector<Match>& matches) const override {
    std::size_t after = 0;
    const auto add = [&](std::size_t begin, std::size_t end, bool matched) {
      if (begin < end)
        matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), matched});
    };
    for (std::size_t place = 0; (place = text.find(literal_, after)) != std::string_view::npos;) {
      add(after, place, false);
      add(place, place + literal_.size(), true);
      after = place + literal_.size();
    }
    add(after, text.size(), false);
  }

 private:
  std::string literal_;
};

class ScannerPattern final : public Pattern {
 public:
  explicit ScannerPattern(Scanner scanner) : scanner_(scanner) {}

  void find(std::string_view text, std::vector<Match>& matches) const override {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = scanner_(text, begin);
      matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), true});
      begin = end;
    }
  }

 private:
  Scanner scanner_;
};

}  // namespace

std::unique_ptr<Pattern> literal_pattern(std::string text) {
  if (text.empty()) return pcre2_pattern("", "");  // an empty text matches before and after each character
  return std::make_unique<LiteralPattern>(std::move(text));
}

std::unique_ptr<Pattern> regex_pattern(const std::string& expression, const std::string& file) {
  if (const Scanner scanner = published_scanner(expression)) return std::make_unique<ScannerPattern>(scanner);
  return pcre2_pattern(expression, file);
}

std::unique_ptr<Pattern> read_pattern(const Json& json, const std::string& file) {
  if (json.is_string()) return literal_pattern(json.get<std::string>());
  if (json.is_object() && json.contains("String"))
    return literal_pattern(require<std::string>(json, "String", file));
  if (json.is_object() && json.contains("Regex"))
    return regex_pattern(require<std::string>(json, "Regex", file), file);
  throw file_error(file, "expected a String or a Regex as pattern").found(describe(json));
}

SplitBehavior read_behavior(const std::string& name, const std::string& file) {
  if (name == "Removed" || name == "removed") return SplitBehavior::removed;
  if (name == "Isolated" || name == "isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious" || name == "merged_with_previous")
    return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext" || name == "merged_with_next") return SplitBehavior::merged_with_next;
  if (name == "Contiguous" || name == "contiguous") return SplitBehavior::contiguous;
  throw file_error(file, "unknown split behavior")
      .found(name)
      .expected("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

}  // namespace regard::text
