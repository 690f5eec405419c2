#include "text/pre_tokenizers.h"

#include <fmt/format.h>

#include <vector>

#include "text/byte_letters.h"
#include "text/pattern.h"
#include "text/scanners.h"
#include "text/unicode.h"
#include "text/unicode_scripts.h"

namespace regard::text {
namespace {

bool never(std::string_view) {
  return false;
}

// Append one match for each code point for which matches(c) is true. Append the ranges between these as
// non-matches, as Hugging Face's library does for predicates.
template <class Predicate>
void find_each(std::string_view text, Predicate matches, std::vector<Match>& found) {
  std::uint32_t open = 0, place = 0;
  const auto close = [&] {
    if (open < place) found.push_back({open, place, false});
  };
  while (place < text.size()) {
    const utf8::Decoded symbol = utf8::decode(text, place);
    const std::uint32_t next = place + static_cast<std::uint32_t>(symbol.size);
    if (matches(symbol.value)) {
      close();
      found.push_back({place, next, true});
      open = next;
    }
    place = next;
  }
  close();
}

// Splits at each code point for which `matches` returns true.
template <class Predicate>
class ClassSplit final : public PreTokenizer {
 public:
  ClassSplit(Predicate matches, SplitBehavior behavior, Cutting cutting)
      : matches_(matches), behavior_(behavior), cutting_(cutting) {}
  Cutting cutting() const override { return cutting_; }
  void apply(Pieces& pieces) const override {
    std::vector<Match> found;
    pieces.split([&](std::string_view text, auto add) {
      found.clear();
      find_each(text, matches_, found);
      cut_at(found, behavior_, add);
    });
  }

 private:
  Predicate matches_;
  SplitBehavior behavior_;
  Cutting cutting_;
};

template <class Predicate>
std::unique_ptr<PreTokenizer> class_split(Predicate matches, SplitBehavior behavior,
                                          Cutting cutting = Cutting::none) {
  return std::make_unique<ClassSplit<Predicate>>(matches, behavior, cutting);
}

class PatternSplit final : public PreTokenizer {
 public:
  // `scan` is the scanner equivalent to the pattern, or `none`.
  PatternSplit(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert, WordScan scan)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert), scan_(scan) {}
  // A pattern with a scanner matches at every position. Its matches are the words if the behavior is
  // `isolated`, or if the pattern is inverted and the behavior is `removed`.
  Cutting cutting() const override {
    const bool every =
        behavior_ == SplitBehavior::isolated || (behavior_ == SplitBehavior::removed && invert_);
    return scan_ != WordScan::none && every ? Cutting::scanner : Cutting::none;
  }
  WordScan scan() const override { return scan_; }
  void apply(Pieces& pieces) const override {
    std::vector<Match> found;
    pieces.split([&](std::string_view text, auto add) {
      found.clear();
      pattern_->find(text, found);
      if (invert_)
        for (Match& match : found) match.matched = !match.matched;
      cut_at(found, behavior_, add);
    });
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
  WordScan scan_;
};

// Splits a text into the matches of \w+|[^\w\s]+.
class Whitespace final : public PreTokenizer {
 public:
  Cutting cutting() const override { return Cutting::at_spaces; }
  void apply(Pieces& pieces) const override {
    enum class Kind { space, word, other };
    pieces.split([](std::string_view text, auto add) {
      Kind open_kind = Kind::space;
      std::size_t open = 0;
      for (std::size_t place = 0; place < text.size();) {
        const utf8::Decoded symbol = utf8::decode(text, place);
        const Kind kind = unicode::is_word(symbol.value)          ? Kind::word
                          : unicode::is_white_space(symbol.value) ? Kind::space
                                                                  : Kind::other;
        if (kind != open_kind) {
          if (open_kind != Kind::space) add(open, place);
          open = place;
          open_kind = kind;
        }
        place += static_cast<std::size_t>(symbol.size);
      }
      if (open_kind != Kind::space) add(open, text.size());
    });
  }
};

class Bert final : public PreTokenizer {
 public:
  Cutting cutting() const override { return Cutting::at_signs; }
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto add) {
      std::size_t open = 0;
      for (std::size_t place = 0; place < text.size();) {
        const utf8::Decoded symbol = utf8::decode(text, place);
        const std::size_t next = place + static_cast<std::size_t>(symbol.size);
        const bool space = unicode::is_white_space(symbol.value);
        if (space || unicode::is_bert_punctuation(symbol.value)) {
          add(open, place);
          if (!space) add(place, next);
          open = next;
        }
        place = next;
      }
      add(open, text.size());
    });
  }
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool prefix_space, bool use_regex, bool letters)
      : prefix_space_(prefix_space), use_regex_(use_regex), letters_(letters) {}
  bool does_nothing() const { return !prefix_space_ && !use_regex_ && !letters_; }
  Cutting cutting() const override {
    return use_regex_ && !prefix_space_ && !letters_ ? Cutting::scanner : Cutting::none;
  }
  WordScan scan() const override { return WordScan::gpt2; }

  void apply(Pieces& pieces) const override {
    if (prefix_space_)
      pieces.rewrite([](std::string_view text) { return text.starts_with(' '); },
                     [](AlignedText& text) {
                       if (!text.text().starts_with(' ')) text.prepend(" ");
                     });
    if (use_regex_) {
      pieces.split([](std::string_view text, auto add) {
        const Scanner find_end = gpt2_scanner();
        for (std::size_t begin = 0; begin < text.size();) {
          const std::size_t end = find_end(text, begin);
          add(begin, end);
          begin = end;
        }
      });
    }
    if (letters_) pieces.rewrite(never, to_byte_letters);
  }

 private:
  bool prefix_space_, use_regex_, letters_;
};

class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend { always, first, never };
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : replacement_(std::move(replacement)),
        prepend_(prepend),
        split_(split),
        space_(literal_pattern(" ")),
        cut_(literal_pattern(replacement_)) {}

  Cutting cutting() const override { return split_ ? Cutting::at_spaces : Cutting::none; }
  bool cuts_at(std::string_view mark) const override { return mark == " " || mark == replacement_; }
  void apply(Pieces& pieces) const override {
    pieces.rewrite(never, [this](AlignedText& text) {
      std::vector<Match> spaces;
      space_->find(text.text(), spaces);
      text.replace(spaces, replacement_);
      if (prepend_ == Prepend::never || text.text().starts_with(replacement_)) return;
      if (prepend_ == Prepend::always || text.origin() == 0) text.prepend(replacement_);
    });
    if (!split_) return;
    std::vector<Match> found;
    pieces.split([&](std::string_view text, auto add) {
      found.clear();
      cut_->find(text, found);
      cut_at(found, SplitBehavior::merged_with_next, add);
    });
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  bool split_;
  std::unique_ptr<Pattern> space_, cut_;
};

// Splits before each change of script. The space and unassigned code points belong to the script before them;
// at the start, before the first script, they are dropped, as in the reference implementation.
class UnicodeScripts final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto add) {
      std::uint32_t last = 0;
      std::size_t open = text.size();
      for (std::size_t place = 0; place < text.size();) {
        const utf8::Decoded symbol = utf8::decode(text, place);
        const std::uint32_t script = unicode::script_of(symbol.value);
        if (script != 0 && script != last) {
          if (last != 0) add(open, place);
          open = place;
          last = script;
        }
        place += static_cast<std::size_t>(symbol.size);
      }
      add(open, text.size());
    });
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}
  void apply(Pieces& pieces) const override {
    pieces.split([this](std::string_view text, auto add) {
      std::size_t open = 0, count = 0, place = 0;
      while (place < text.size()) {
        place += static_cast<std::size_t>(utf8::decode(text, place).size);
        if (++count < length_) continue;
        add(open, place);
        open = place;
        count = 0;
      }
      add(open, text.size());
    });
  }

 private:
  std::size_t length_;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) part->apply(pieces);
  }
  // The split points of the first pre-tokenizer remain valid, because the later pre-tokenizers process each
  // of its pieces separately.
  Cutting cutting() const override {
    if (parts_.empty()) return Cutting::none;
    const Cutting first = parts_.front()->cutting();
    return first == Cutting::scanner && parts_.size() > 1 ? Cutting::none : first;
  }
  WordScan scan() const override { return parts_.front()->scan(); }
  bool cuts_at(std::string_view mark) const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [mark](const auto& part) { return part->cuts_at(mark); });
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

char32_t one_code_point(const std::string& text, const char* key, const std::string& file) {
  const std::u32string all = utf8::code_points(text);
  if (all.size() != 1)
    throw file_error(file, fmt::format("expected '{}' to be one character", key)).found(text);
  return all[0];
}

std::unique_ptr<PreTokenizer> read_metaspace(const Json& json, const std::string& file) {
  const std::string replacement = optional_value<std::string>(json, "replacement", file).value_or("\u2581");
  one_code_point(replacement, "replacement", file);
  // Older files contain add_prefix_space instead of prepend_scheme.
  const bool add = optional_value<bool>(json, "add_prefix_space", file).value_or(true);
  const std::string scheme =
      optional_value<std::string>(json, "prepend_scheme", file).value_or(add ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    throw file_error(file, "unknown prepend_scheme").found(scheme).expected("always, first or never");
  const auto prepend = scheme == "always"  ? Metaspace::Prepend::always
                       : scheme == "first" ? Metaspace::Prepend::first
                                           : Metaspace::Prepend::never;
  return std::make_unique<Metaspace>(replacement, prepend,
                                     optional_value<bool>(json, "split", file).value_or(true));
}

WordScan scan_of_pattern(const Json& pattern) {
  return pattern.is_object() && pattern.contains("Regex") ? scan_of(pattern.at("Regex").get<std::string>())
                                                          : WordScan::none;
}

std::unique_ptr<PreTokenizer> read_one(const std::string& type, const Json& json, const std::string& file) {
  if (type == "BertPreTokenizer") return std::make_unique<Bert>();
  if (type == "Metaspace") return read_metaspace(json, file);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit")
    return class_split(unicode::is_white_space, SplitBehavior::removed, Cutting::at_spaces);
  if (type == "CharDelimiterSplit") {
    const char32_t delimiter =
        one_code_point(require<std::string>(json, "delimiter", file), "delimiter", file);
    return class_split([delimiter](char32_t c) { return c == delimiter; }, SplitBehavior::removed);
  }
  if (type == "Punctuation")
    return class_split(
        unicode::is_bert_punctuation,
        read_behavior(optional_value<std::string>(json, "behavior", file).value_or("Isolated"), file));
  if (type == "Digits")
    return class_split(unicode::is_numeric,
                       optional_value<bool>(json, "individual_digits", file).value_or(false)
                           ? SplitBehavior::isolated
                           : SplitBehavior::contiguous);
  if (type == "Split")
    return std::make_unique<PatternSplit>(read_pattern(require<Json>(json, "pattern", file), file),
                                          read_behavior(require<std::string>(json, "behavior", file), file),
                                          optional_value<bool>(json, "invert", file).value_or(false),
                                          scan_of_pattern(json.at("pattern")));
  if (type == "UnicodeScripts") return std::make_unique<UnicodeScripts>();
  if (type == "FixedLength")
    return std::make_unique<FixedLength>(
        static_cast<std::size_t>(require_in<std::int64_t>(json, "length", file, 1, 1 << 30)));
  throw file_error(file, "unsupported type of pre-tokenizer")
      .found(type)
      .remedy("Use a tokenizer without this pre-tokenizer, or a newer version of regard");
}

}  // namespace

PreTokenizerParts read_pre_tokenizer(const Json& json, const std::string& file, bool bytes) {
  if (json.is_null()) return {};
  const auto type = require<std::string>(json, "type", file);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<PreTokenizer>> parts;
    const auto listed = require<std::vector<Json>>(json, "pretokenizers", file);
    bool letters_left_out = false;
    for (std::size_t i = 0; i < listed.size(); ++i) {
      PreTokenizerParts part = read_pre_tokenizer(listed[i], file, bytes && i + 1 == listed.size());
      letters_left_out = part.letters_left_out;
      if (part.pre_tokenizer) parts.push_back(std::move(part.pre_tokenizer));
    }
    std::erase_if(parts, [](const auto& part) {
      const auto* const byte_level = dynamic_cast<const ByteLevel*>(part.get());
      return byte_level != nullptr && byte_level->does_nothing();
    });
    return {std::make_unique<PreTokenizerSequence>(std::move(parts)), letters_left_out};
  }
  if (type == "ByteLevel") {
    const bool prefix = optional_value<bool>(json, "add_prefix_space", file).value_or(true);
    const bool regex = optional_value<bool>(json, "use_regex", file).value_or(true);
    return {std::make_unique<ByteLevel>(prefix, regex, !bytes), bytes};
  }
  return {read_one(type, json, file), false};
}

}  // namespace regard::text
