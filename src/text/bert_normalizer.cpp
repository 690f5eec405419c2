// BERT's normalizer: removes control characters, surrounds CJK ideographs with spaces, strips accents, and
// converts to lower case.
#include <algorithm>
#include <array>
#include <atomic>

#include "base/utf8.h"

#include "text/normalizers.h"

namespace regard::text {
namespace {

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_hangul_syllable(char32_t c) {
  return c >= 0xAC00 && c < 0xD7A4;
}

// Append the canonical decomposition of a Hangul syllable (Unicode standard, section 3.12).
void append_jamo(std::string& out, char32_t syllable) {
  constexpr char32_t kVowels = 21, kFinals = 28;
  const char32_t place = syllable - 0xAC00;
  utf8::append(out, 0x1100 + place / (kVowels * kFinals));
  utf8::append(out, 0x1161 + place / kFinals % kVowels);
  if (place % kFinals != 0) utf8::append(out, 0x11A7 + place % kFinals);
}

class BertNormalizer final : public Normalizer {
 public:
  BertNormalizer(const Json& json, const std::string& file)
      : clean_(optional_value<bool>(json, "clean_text", file).value_or(true)),
        ideographs_(optional_value<bool>(json, "handle_chinese_chars", file).value_or(true)),
        lowercase_(optional_value<bool>(json, "lowercase", file).value_or(true)),
        strip_accents_(optional_value<bool>(json, "strip_accents", file).value_or(lowercase_)) {}

  // Fast path: rewrite one code point at a time. Use the general path if the result of a code point depends
  // on adjacent ones.
  bool rewrite(std::string_view text, std::string& out) const override {
    out.clear();
    bool first_gone = false;
    for (std::size_t i = 0; i < text.size();) {
      const utf8::Decoded symbol = utf8::decode(text, i);
      i += static_cast<std::size_t>(symbol.size);
      if (is_hangul_syllable(symbol.value) && strip_accents_) {
        append_jamo(out, symbol.value);
        continue;
      }
      const std::uint32_t fate = symbol.value < kRemembered    ? remembered(symbol.value)
                                 : is_left_alone(symbol.value) ? static_cast<std::uint32_t>(symbol.value)
                                                               : fate_of(symbol.value);
      if (fate == kDepends) return Normalizer::rewrite(text, out);
      if (fate == kGone) {
        first_gone = first_gone || out.empty();
      } else if (fate == kSetApart) {
        out.push_back(' ');
        utf8::append(out, symbol.value);
        out.push_back(' ');
      } else {
        utf8::append(out, static_cast<char32_t>(fate));
      }
    }
    return !first_gone;
  }

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
  // Result of rewriting a single code point: a code point or one of these values.
  enum Fate : std::uint32_t { kDepends = 0x110000, kGone, kSetApart };
  static constexpr char32_t kRemembered = 0x3100;

  static bool is_left_alone(char32_t c) {
    constexpr unsigned kTouched =
        unicode::kDecomposes | unicode::kHasLower | unicode::kIsBertAccent | unicode::kIsBertControl;
    return (unicode::properties(c).flags & kTouched) == 0 && !is_ideograph(c) && c != 0xFFFD;
  }

  std::uint32_t fate_of(char32_t c) const {
    const bool plain_ideograph = is_ideograph(c) && !unicode::has(c, unicode::kDecomposes);
    if (ideographs_ && plain_ideograph) return kSetApart;
    std::u32string text(1, c);
    AlignedText aligned(utf8::encode(text), {}, 0, false);
    apply(aligned);
    text = aligned.code_points();
    if (text.empty()) return kGone;
    // A combining mark that is not removed may have to be reordered among adjacent marks.
    return text.size() > 1 || unicode::has(text[0], unicode::kDecomposes)
               ? std::uint32_t{kDepends}
               : static_cast<std::uint32_t>(text[0]);
  }
  std::uint32_t remembered(char32_t c) const {
    std::atomic<std::uint32_t>& place = fates_[c];
    std::uint32_t fate = place.load(std::memory_order_relaxed);
    if (fate == 0) {  // the table contains fate_of() + 1, or 0 if not computed yet
      fate = fate_of(c) + 1;
      place.store(fate, std::memory_order_relaxed);
    }
    return fate - 1;
  }

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
  mutable std::array<std::atomic<std::uint32_t>, kRemembered> fates_{};
};

}  // namespace

std::unique_ptr<Normalizer> bert_normalizer(const Json& json, const std::string& file) {
  return std::make_unique<BertNormalizer>(json, file);
}

}  // namespace regard::text
