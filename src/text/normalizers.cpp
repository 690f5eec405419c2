#include "text/normalizers.h"

#include <algorithm>
#include <vector>

#include "text/byte_letters.h"
#include "text/pattern.h"
#include "text/sentencepiece.h"

namespace regard::text {
namespace {

class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(unicode::Form form) : form_(form) {}
  void apply(AlignedText& text) const override { text.normalize(form_); }
  bool surely_unchanged(std::string_view text) const override { return unicode::surely_normal(form_, text); }
  // A combining stroke (U+0338) composes with a preceding "=", so a text cannot be split at punctuation for
  // NFC and NFKC.
  Locality locality() const override {
    return form_ == unicode::Form::nfd ? Locality::at_signs : Locality::at_spaces;
  }

 private:
  unicode::Form form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(AlignedText& text) const override { text.lowercase(); }
  Locality locality() const override { return Locality::at_signs; }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text) const override { text.strip(left_, right_); }
  // A text cannot be split if spaces are stripped on the left: every part except the first starts with a
  // space that must be kept. Parts never end with white space, so stripping on the right is valid for each
  // part.
  Locality locality() const override { return left_ ? Locality::none : Locality::at_spaces; }

 private:
  bool left_, right_;
};

class StripAccents final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) { return !unicode::is_combining_mark(c); });
  }
  bool surely_unchanged(std::string_view text) const override {
    return std::all_of(text.begin(), text.end(), [](char c) {
      // combining marks start at U+0300, whose first byte is 0xCC
      return static_cast<unsigned char>(c) < 0xCC;
    });
  }
  Locality locality() const override { return Locality::at_signs; }
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(AlignedText& text) const override { text.prepend(prefix_); }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  // Set `within_words` only if all spaces of a match are at its start.
  Replace(std::unique_ptr<Pattern> pattern, std::string content, bool within_words)
      : pattern_(std::move(pattern)), content_(std::move(content)), within_words_(within_words) {
    std::vector<Match> matches;
    pattern_->find("  ", matches);
    if (matches.front().matched)
      space_mark_ = content_.substr(0, content_.starts_with(' ') ? 1 : content_.size());
  }
  Locality locality() const override { return within_words_ ? Locality::at_spaces : Locality::none; }
  std::string_view space_mark() const override { return space_mark_; }
  void apply(AlignedText& text) const override {
    std::vector<Match> matches;
    pattern_->find(text.text(), matches);
    text.replace(matches, content_);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_, space_mark_ = " ";
  bool within_words_;
};

// Return true if the pattern is " {2,}", " +" or a literal that is not empty and in which only the first
// character may be a space.
bool stays_within_words(const Json& pattern) {
  if (pattern.is_object() && pattern.contains("Regex")) {
    const std::string expression = pattern.at("Regex");
    return expression == " {2,}" || expression == " +";
  }
  const Json& literal = pattern.is_object() && pattern.contains("String") ? pattern.at("String") : pattern;
  return literal.is_string() && !literal.get<std::string>().empty() &&
         literal.get<std::string>().find(' ', 1) == std::string::npos;
}

class ByteLetters final : public Normalizer {
 public:
  void apply(AlignedText& text) const override { to_byte_letters(text); }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> parts) : parts_(std::move(parts)) {}
  void apply(AlignedText& text) const override {
    for (const auto& part : parts_) part->apply(text);
  }
  bool surely_unchanged(std::string_view text) const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [text](const auto& part) { return part->surely_unchanged(text); });
  }
  bool rewrite(std::string_view text, std::string& out) const override {
    bool at_start = true;
    std::string before;
    out.assign(text);
    for (const auto& part : parts_) {
      if (part->surely_unchanged(out)) continue;
      before.swap(out);
      at_start = part->rewrite(before, out) && at_start;
    }
    return at_start;
  }
  Locality locality() const override {
    Locality least = Locality::at_signs;
    for (const auto& part : parts_) least = std::min(least, part->locality());
    return least;
  }
  std::string_view space_mark() const override {
    std::string_view mark = " ";
    for (const auto& part : parts_)
      if (part->space_mark() != " ") mark = part->space_mark();
    return mark;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace

bool Normalizer::rewrite(std::string_view text, std::string& out) const {
  AlignedText aligned(text, {}, 0, false);
  apply(aligned);
  out = aligned.text();
  return aligned.origin() == 0;
}

std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& file) {
  const auto type = require<std::string>(json, "type", file);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<Normalizer>> parts;
    for (const Json& part : require<std::vector<Json>>(json, "normalizers", file))
      parts.push_back(read_normalizer(part, file));
    return std::make_unique<NormalizerSequence>(std::move(parts));
  }
  if (type == "NFC") return std::make_unique<FormNormalizer>(unicode::Form::nfc);
  if (type == "NFD") return std::make_unique<FormNormalizer>(unicode::Form::nfd);
  if (type == "NFKC") return std::make_unique<FormNormalizer>(unicode::Form::nfkc);
  if (type == "NFKD") return std::make_unique<FormNormalizer>(unicode::Form::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "Strip")
    return std::make_unique<Strip>(optional_value<bool>(json, "strip_left", file).value_or(true),
                                   optional_value<bool>(json, "strip_right", file).value_or(true));
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Prepend") return std::make_unique<Prepend>(require<std::string>(json, "prepend", file));
  if (type == "Replace")
    return std::make_unique<Replace>(read_pattern(require<Json>(json, "pattern", file), file),
                                     require<std::string>(json, "content", file),
                                     stays_within_words(json.at("pattern")));
  if (type == "ByteLevel") return std::make_unique<ByteLetters>();
  if (type == "BertNormalizer") return bert_normalizer(json, file);
  if (type == "Precompiled") return precompiled_normalizer(json, file);
  if (type == "SentencePiece") return sentencepiece_normalizer(json, file);
  if (type == "Nmt") return nmt_normalizer();
  throw file_error(file, "unsupported type of normalizer")
      .found(type)
      .remedy("Use a tokenizer without this normalizer, or a newer version of regard");
}

}  // namespace regard::text
