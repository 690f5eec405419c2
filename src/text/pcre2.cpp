// Regular expressions of tokenizer files. They are translated from Oniguruma's dialect, compiled by PCRE2
// with JIT, and matched under limits.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace regard::text {
namespace {

// PCRE2's \s, \w and \d differ from Oniguruma's (U+180E, marks, caseless letters). Therefore the members of
// these classes are listed.
constexpr std::string_view kSpaceClass =
    "\\x{9}-\\x{d} \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kWordClass =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}"
    "-\\x{1f189}";
// In Oniguruma, \w outside brackets includes Latin-1's superscript digits and fractions.
constexpr std::string_view kWordAlone = "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

struct Newer {
  char32_t first = 0, last = 0;
  unicode::Category category = unicode::Category::unassigned;
};

// Return the code points that are assigned in this library's Unicode tables but not in PCRE2's, in order.
std::vector<Newer> find_newer() {
  std::u32string assigned;
  for (char32_t c = 0x80; c < 0xF0000; ++c) {
    const unicode::Category category = unicode::category(c);
    if (category != unicode::Category::unassigned && category < unicode::Category::surrogate)
      assigned.push_back(c);
  }
  const std::string text = utf8::encode(assigned);
  int error = 0;
  PCRE2_SIZE place = 0;
  const std::unique_ptr<pcre2_code, FreeCode> unknown(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>("\\p{Cn}"), PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &place, nullptr));
  if (!unknown) return {};
  const std::unique_ptr<pcre2_match_data, FreeData> data(pcre2_match_data_create(1, nullptr));
  std::vector<Newer> all;
  PCRE2_SIZE from = 0;
  while (data && pcre2_match(unknown.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                             PCRE2_NO_UTF_CHECK, data.get(), nullptr) > 0) {
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
    const char32_t c = utf8::decode(text, ends[0]).value;
    const unicode::Category category = unicode::category(c);
    if (!all.empty() && all.back().last + 1 == c && all.back().category == category) {
      all.back().last = c;
    } else {
      all.push_back({c, c, category});
    }
    from = ends[1];
  }
  return all;
}

bool belongs(unicode::Category category, std::string_view property) {
  static constexpr std::array<std::string_view, 23> kNames = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc",
                                                              "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
                                                              "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"};
  const auto place = static_cast<std::size_t>(category);
  return !property.empty() && place > 0 && place < kNames.size() && kNames[place].starts_with(property);
}

// Return the code points that belong to a class but are missing from PCRE2's tables, as text for use inside
// brackets.
std::string newer_members(std::initializer_list<std::string_view> properties) {
  static const std::vector<Newer> newer = find_newer();
  std::string members;
  for (const Newer& range : newer) {
    if (std::none_of(properties.begin(), properties.end(),
                     [&](std::string_view property) { return belongs(range.category, property); }))
      continue;
    const auto number = [](char32_t c) { return static_cast<std::uint32_t>(c); };
    members += range.first == range.last
                   ? fmt::format("\\x{{{:x}}}", number(range.first))
                   : fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", number(range.first), number(range.last));
  }
  return members;
}

struct Class {
  std::string members;  // members of the class; empty if the escape sequence names no class
  bool negated = false;
  std::size_t size = 2;  // length in bytes of the escape sequence in the expression
};

// Return the class that an escape sequence names.
Class class_at(std::string_view escape, bool in_brackets) {
  const char letter = escape[1];
  const bool negated = letter == 'S' || letter == 'W' || letter == 'D' || letter == 'P';
  switch (letter) {
    case 's':
    case 'S':
      return {std::string(kSpaceClass), negated};
    case 'w':
    case 'W':
      return {std::string(kWordClass).append(in_brackets ? std::string_view() : kWordAlone) +
                  newer_members({"L", "M", "Nd", "Nl", "Pc"}),
              negated};
    case 'd':
    case 'D':
      return {"\\p{Nd}" + newer_members({"Nd"}), negated};
    case 'p':
    case 'P': {
      const std::size_t close = escape.find('}');
      if (escape.size() < 4 || escape[2] != '{' || close == std::string_view::npos) return {};
      const std::string_view property = escape.substr(3, close - 3);
      if (property.starts_with('^')) return {};
      return {fmt::format("\\p{{{}}}", property) + newer_members({property}), negated, close + 1};
    }
    default:
      return {};
  }
}

// Replace classes with Oniguruma's definitions. A negated class inside brackets keeps PCRE2's definition.
std::string translate(std::string_view expression) {
  std::string result;
  int depth = 0;  // nesting depth of brackets
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const Class named = class_at(expression.substr(i), depth > 0);
      if (named.members.empty() || (depth > 0 && named.negated)) {
        result.append(expression.substr(i, 2));
        ++i;
        continue;
      }
      result.append(depth > 0       ? ""
                    : named.negated ? "[^"
                                    : "[")
          .append(named.members)
          .append(depth > 0 ? "" : "]");
      i += named.size - 1;
      continue;
    }
    if (c == '[') ++depth;
    if (c == ']' && depth > 0) --depth;
    result.push_back(c);
  }
  return result;
}

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

class Pcre2Pattern final : public Pattern {
 public:
  Pcre2Pattern(const std::string& expression, const std::string& file)
      : expression_(expression), file_(file) {
    const std::string translated = translate(expression);
    int error = 0;
    PCRE2_SIZE place = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                              &place, nullptr));
    if (!code_) {
      Error wrong =
          file_error(file, "the pattern cannot be compiled: " + message_of(error)).found(expression);
      // `place` is an offset in the translated expression, in bytes.
      if (translated == expression) wrong.remedy("Correct the pattern near byte " + std::to_string(place));
      throw wrong;
    }
    // An error is ignored, because matching without JIT is only slower.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  void find(std::string_view text, std::vector<Match>& matches) const override {
    const std::unique_ptr<pcre2_match_data, FreeData> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const std::unique_ptr<pcre2_match_context, FreeContext> context(pcre2_match_context_create(nullptr));
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), 10'000'000);
    const auto add = [&](std::size_t begin, std::size_t end, bool matched) {
      if (begin < end)
        matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), matched});
    };
    std::size_t after = 0, from = 0;
    while (from <= text.size()) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                    PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0)
        throw file_error(file_, "cannot match the pattern \"" + expression_ + "\": " + message_of(found));
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
      add(after, ends[0], false);
      add(ends[0], ends[1], true);
      after = std::max(after, ends[1]);
      from = ends[1];
      if (ends[0] == ends[1]) {  // after an empty match, continue at the next code point
        ++from;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0u) == 0x80u) ++from;
      }
    }
    add(after, text.size(), false);
  }

 private:
  std::string expression_, file_;
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

}  // namespace

std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression, const std::string& file) {
  return std::make_unique<Pcre2Pattern>(expression, file);
}

}  // namespace regard::text
