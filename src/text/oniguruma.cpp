#include "text/oniguruma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/pcre2_pointers.h"
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
constexpr std::string_view kHexClass = "0-9A-Fa-f";

// Return the compiled expression, or null if it is not a valid expression.
CodePointer compiled(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE place = 0;
  return CodePointer(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                   PCRE2_UTF, &error, &place, nullptr));
}

// A range of code points of the same category.
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
  const CodePointer unknown = compiled("\\p{Cn}");
  if (!unknown) return {};
  const MatchDataPointer data(pcre2_match_data_create(1, nullptr));
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

std::string word_members() {
  return std::string(kWordClass) + newer_members({"L", "M", "Nd", "Nl", "Pc"});
}

// Return the members of \p{PROPERTY}. In Oniguruma, the name of a script means the characters of this script.
// In PCRE2, it also means characters that are used with the script.
std::string property_members(std::string_view property) {
  const std::string script = fmt::format("\\p{{sc:{}}}", property);
  if (property.size() > 2 && compiled(script)) return script;
  return fmt::format("\\p{{{}}}", property) + newer_members({property});
}

// Return the members of the class [:NAME:]; empty if Oniguruma has no such class.
std::string posix_members(std::string_view name) {
  if (name == "alnum") return "\\p{Alphabetic}\\p{Nd}" + newer_members({"L", "Nl", "Nd"});
  if (name == "alpha") return "\\p{Alphabetic}" + newer_members({"L", "Nl"});
  if (name == "blank") return "\\t\\p{Zs}";
  if (name == "cntrl") return "\\p{Cc}";
  if (name == "digit") return "\\p{Nd}" + newer_members({"Nd"});
  if (name == "lower") return "\\p{Lowercase}" + newer_members({"Ll"});
  if (name == "punct") return "\\p{P}\\p{S}" + newer_members({"P", "S"});
  if (name == "space") return std::string(kSpaceClass);
  if (name == "upper") return "\\p{Uppercase}" + newer_members({"Lu"});
  if (name == "word") return word_members();
  if (name == "xdigit") return std::string(kHexClass);
  if (name != "graph" && name != "print") return {};
  return std::string("\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}") + (name == "print" ? "\\p{Zs}" : "") +
         newer_members({"L", "M", "N", "P", "S"});
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
    case 'h':
    case 'H':
      return {std::string(kHexClass), letter == 'H'};
    case 'v':
      return {"\\x{b}"};
    case 'V':
      return {"V"};
    case 'u':
      if (escape.substr(2, 4).find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos ||
          escape.size() < 6)
        return {};
      return {fmt::format("\\x{{{}}}", escape.substr(2, 4)), false, 6};
    case 's':
    case 'S':
      return {std::string(kSpaceClass), negated};
    case 'w':
    case 'W':
      return {word_members().append(in_brackets ? std::string_view() : kWordAlone), negated};
    case 'd':
    case 'D':
      return {"\\p{Nd}" + newer_members({"Nd"}), negated};
    case 'p':
    case 'P': {
      const std::size_t close = escape.find('}');
      if (escape.size() < 4 || escape[2] != '{' || close == std::string_view::npos) return {};
      const std::string_view property = escape.substr(3, close - 3);
      if (property.starts_with('^')) return {};
      return {property_members(property), negated, close + 1};
    }
    default:
      return {};
  }
}

// Operand of a set of characters: members for use inside brackets, and patterns that match one character.
struct Operand {
  std::string members;
  std::vector<std::string> patterns;
};

std::string pattern_of(const Operand& operand) {
  std::string all = operand.members.empty() ? "" : "[" + operand.members + "]";
  for (const std::string& pattern : operand.patterns) all.append(all.empty() ? "" : "|").append(pattern);
  return all.empty() ? "(?!)" : "(?:" + all + ")";
}

// Return a pattern that matches one character that all operands contain or, if `negated` is true, any other
// character.
std::string intersection(const std::vector<Operand>& operands, bool negated) {
  const Operand& last = operands.back();
  if (operands.size() == 1 && last.patterns.empty())
    return fmt::format("[{}{}]", negated ? "^" : "", last.members);
  std::string all = "(?:";
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) all.append("(?=" + pattern_of(operands[i]) + ")");
  all.append(pattern_of(last) + ")");
  return negated ? "(?:(?!" + all + ")(?s:.))" : all;
}

class Translator {
 public:
  Translator(std::string_view expression, const std::string& file) : text_(expression), file_(file) {}

  std::string run() {
    while (place_ < text_.size()) {
      const char c = text_[place_];
      if (c == '\\' && place_ + 1 < text_.size()) {
        escape();
      } else if (c == '[') {
        atom_ = out_.size();
        out_.append(brackets(0));
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        interval();
      } else {
        if (c == ')' && !groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        } else if (std::string_view("*+?)").find(c) == std::string_view::npos &&
                   (static_cast<unsigned char>(c) & 0xC0u) != 0x80u) {
          atom_ = out_.size();
        }
        out_.push_back(c);
        ++place_;
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr int kDeepest = 100;

  void escape() {
    atom_ = out_.size();
    const char letter = text_[place_ + 1];
    if (letter == 'b' || letter == 'B') {  // PCRE2's words have no combining marks
      const std::string word = word_members().append(kWordAlone);
      out_.append(fmt::format("(?:(?<=[{0}])(?{1}[{0}])|(?<![{0}])(?{2}[{0}]))", word,
                              letter == 'b' ? '!' : '=', letter == 'b' ? '=' : '!'));
      place_ += 2;
      return;
    }
    const Class named = class_at(text_.substr(place_), false);
    out_.append(named.members.empty() ? std::string(text_.substr(place_, 2))
                                      : fmt::format("[{}{}]", named.negated ? "^" : "", named.members));
    place_ += named.members.empty() ? 2 : named.size;
  }

  // Translate the set that starts at place_. Oniguruma's sets may contain sets and intersections (&&).
  std::string brackets(int depth) {
    if (depth == kDeepest)
      throw file_error(file_, "the pattern has too many nested brackets")
          .expected(fmt::format("at most {}", kDeepest));
    const std::size_t open = place_++;
    const bool negated = text_.substr(place_).starts_with('^');
    if (negated) ++place_;
    std::vector<Operand> operands(1);
    for (const std::size_t first = place_; place_ < text_.size();) {
      Operand& operand = operands.back();
      const std::string_view rest = text_.substr(place_);
      if (rest[0] == ']' && place_ > first) {
        ++place_;
        return intersection(operands, negated);
      }
      if (rest.starts_with("&&")) {
        operands.emplace_back();
        place_ += 2;
      } else if (rest[0] == '[' && !rest.starts_with("[:")) {
        operand.patterns.push_back(brackets(depth + 1));
      } else {
        member(rest, operand);
      }
    }
    return std::string(text_.substr(open));  // the closing bracket is missing
  }

  // Add the character or the class at place_ to the operand.
  void member(std::string_view rest, Operand& operand) {
    Class named;
    if (const std::size_t close = rest.find(":]"); rest[0] == '[' && close != std::string_view::npos) {
      const bool negated = rest.substr(2).starts_with('^');
      const std::size_t begin = negated ? 3 : 2;
      named = {posix_members(rest.substr(begin, close - std::min(begin, close))), negated, close + 2};
    } else if (rest[0] == '\\' && rest.size() > 1) {
      named = class_at(rest, true);
      if (named.members.empty()) named.members = rest.substr(0, 2);
    }
    if (named.members.empty()) {
      if (operand.members.empty() && (rest[0] == '^' || rest[0] == ']')) operand.members.push_back('\\');
      operand.members.push_back(rest[0]);
      ++place_;
      return;
    }
    if (named.negated) {
      operand.patterns.push_back("[^" + named.members + "]");
    } else {
      operand.members.append(named.members);
    }
    place_ += named.size;
  }

  // Copy the start of a group. Oniguruma's option m is PCRE2's option s.
  void group() {
    groups_.push_back(out_.size());
    std::size_t end = place_ + 1;
    if (const std::string_view rest = text_.substr(place_); rest.starts_with("(?#")) {
      end = std::min(rest.find(')'), rest.size()) + place_;
    } else if (rest.starts_with("(?")) {
      const std::size_t after = rest.find_first_not_of("imsx-", 2);
      if (after != std::string_view::npos && (rest[after] == ':' || rest[after] == ')')) {
        std::string options(rest.substr(0, after));
        std::replace(options.begin(), options.end(), 'm', 's');
        out_.append(options);
        place_ += after;
        return;
      }
    }
    out_.append(text_.substr(place_, end - place_));
    place_ = end;
  }

  // Copy the quantifier {n,m}. In Oniguruma, {,m} means {0,m}, and a + after the braces or a ? after {n} is a
  // second quantifier. It does not make the first quantifier possessive or lazy.
  void interval() {
    const std::string_view rest = text_.substr(place_);
    const std::size_t close = std::min(rest.find('}'), rest.size());
    std::string_view least = rest.substr(1, close - 1), most;
    const std::size_t comma = least.find(',');
    if (comma != std::string_view::npos) {
      most = least.substr(comma + 1);
      least = least.substr(0, comma);
    }
    const auto number = [](std::string_view digits) {
      return digits.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (close == rest.size() || !number(least) || !number(most) || (least.empty() && most.empty())) {
      atom_ = out_.size();
      out_.push_back('{');
      ++place_;
      return;
    }
    const std::string_view after = rest.substr(close + 1);
    const bool second = after.starts_with('+') || (after.starts_with('?') && comma == std::string_view::npos);
    if (second) out_.insert(atom_, "(?:");
    out_.append(least.empty() ? "{0" : "{").append(rest.substr(1, close)).append(second ? ")" : "");
    place_ += close + 1;
  }

  std::string_view text_;
  const std::string& file_;
  std::string out_;
  std::size_t place_ = 0, atom_ = 0;  // next character of text_; start of the last atom in out_
  std::vector<std::size_t> groups_;   // starts of the open groups in out_
};

}  // namespace

std::string oniguruma_to_pcre2(std::string_view expression, const std::string& file) {
  return Translator(expression, file).run();
}

}  // namespace regard::text
