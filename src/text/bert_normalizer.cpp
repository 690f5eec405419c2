// BERT's normalizer: cleans control characters, sets CJK ideographs apart, strips accents, lowers case.
#include <algorithm>

#include "text/normalizers.h"

namespace regard::text {
namespace {

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer final : public Normalizer {
 public:
  BertNormalizer(const Json& json, const std::string& file)
      : clean_(optional_value<bool>(json, "clean_text", file).value_or(true)),
        ideographs_(optional_value<bool>(json, "handle_chinese_chars", file).value_or(true)),
        lowercase_(optional_value<bool>(json, "lowercase", file).value_or(true)),
        strip_accents_(optional_value<bool>(json, "strip_accents", file).value_or(lowercase_)) {}

  void apply(AlignedText& text) const override {
    if (clean_) clean(text);
    if (ideographs_) set_apart(text);
    if (strip_accents_) {
      text.normalize(unicode::Form::nfd);
      text.filter([](char32_t c) { return !unicode::is_bert_accent(c); });
    }
    if (lowercase_) text.lowercase();
  }

  Locality locality() const override { return Locality::at_signs; }
  bool surely_unchanged(std::string_view text) const override {
    return std::all_of(text.begin(), text.end(), [this](char c) {
      return c >= ' ' && c <= '~' && !(lowercase_ && c >= 'A' && c <= 'Z');
    });
  }

 private:
  static void clean(AlignedText& text) {
    text.filter([](char32_t c) { return c != 0 && c != 0xFFFD && !unicode::is_bert_control(c); });
    text.map([](char32_t c) { return unicode::is_white_space(c) ? U' ' : c; });
  }

  static void set_apart(AlignedText& text) {
    const std::u32string all = text.code_points();
    if (std::none_of(all.begin(), all.end(), is_ideograph)) return;
    std::vector<unicode::Change> changes;
    changes.reserve(all.size() + 16);
    for (const char32_t c : all) {
      if (is_ideograph(c)) {
        changes.insert(changes.end(), {{' ', 0}, {c, 1}, {' ', 1}});
      } else {
        changes.push_back({c, 0});
      }
    }
    text.transform(changes);
  }

  bool clean_, ideographs_, lowercase_, strip_accents_;
};

}  // namespace

std::unique_ptr<Normalizer> bert_normalizer(const Json& json, const std::string& file) {
  return std::make_unique<BertNormalizer>(json, file);
}

}  // namespace regard::text
