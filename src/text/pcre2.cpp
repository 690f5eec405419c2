// Regular expressions met in tokenizer files: translated from Oniguruma's dialect, compiled by PCRE2 with
// JIT, matched under limits.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "text/pattern.h"

namespace regard::text {
namespace {

// PCRE2's \s, \w and \d differ from Oniguruma's (U+180E, marks, letters without case): written out instead.
constexpr std::string_view kSpaceClass =
    "\\x{9}-\\x{d} \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kWordClass =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}"
    "-"
    "\\x{1f189}";

std::string translate(std::string_view expression) {
  std::string result;
  int depth = 0;  // of brackets
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char next = expression[++i];
      const std::string_view members = next == 's' || next == 'S'   ? kSpaceClass
                                       : next == 'w' || next == 'W' ? kWordClass
                                       : next == 'd' || next == 'D' ? std::string_view("\\p{Nd}")
                                                                    : std::string_view();
      const bool negated = next == 'S' || next == 'W' || next == 'D';
      if (members.empty() || (depth > 0 && negated)) {
        result.push_back('\\');
        result.push_back(next);
      } else if (depth > 0) {
        result.append(members);
      } else {
        result.append(negated ? "[^" : "[").append(members).append("]");
      }
      continue;
    }
    if (c == '[') ++depth;
    if (c == ']' && depth > 0) --depth;
    result.push_back(c);
  }
  return result;
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

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
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr));
    if (!code_)
      throw file_error(file, "a pattern cannot be compiled: " + message_of(error))
          .found(expression)
          .remedy("The place is near character " + std::to_string(place) + ".");
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without JIT it only is slower
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
        throw file_error(file_, "a pattern could not be matched: " + message_of(found)).found(expression_);
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
      add(after, ends[0], false);
      add(ends[0], ends[1], true);
      after = std::max(after, ends[1]);
      from = ends[1];
      if (ends[0] == ends[1]) {  // an empty match: look on from the next code point
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
