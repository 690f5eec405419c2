// Regular expressions of tokenizer files. They are translated from Oniguruma's dialect, compiled by PCRE2
// with JIT, and matched under limits.
#include "base/pcre2_pointers.h"
#include "text/oniguruma.h"
#include "text/pattern.h"

namespace regard::text {
namespace {

class Pcre2Pattern final : public Pattern {
 public:
  Pcre2Pattern(const std::string& expression, const std::string& file)
      : expression_(expression), file_(file) {
    const std::string translated = oniguruma_to_pcre2(expression, file);
    int error = 0;
    PCRE2_SIZE place = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                              &place, nullptr));
    if (!code_) {
      Error wrong =
          file_error(file, "the pattern cannot be compiled: " + pcre2_error_text(error)).found(expression);
      // `place` is an offset in the translated expression, in bytes.
      if (translated == expression) wrong.remedy("Correct the pattern near byte " + std::to_string(place));
      throw wrong;
    }
    // Errors are ignored: without JIT, matching is only slower.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  void find(std::string_view text, std::vector<Match>& matches) const override {
    const MatchDataPointer data(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const MatchContextPointer context(pcre2_match_context_create(nullptr));
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), 10'000'000);
    const auto add = [&](std::size_t begin, std::size_t end, bool matched) {
      matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), matched});
    };
    std::size_t after = 0, from = 0;
    bool any = false;
    while (!text.empty() && from <= text.size()) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                    PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0)
        throw file_error(file_,
                         "cannot match the pattern \"" + expression_ + "\": " + pcre2_error_text(found));
      const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
      const std::size_t begin = ends[0], end = ends[1];
      from = end;
      if (begin == end) {  // after an empty match, continue at the next code point
        ++from;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0u) == 0x80u) ++from;
        // As in Hugging Face's library, an empty match directly after another match does not count.
        if (any && end == after) continue;
      }
      if (after < begin) add(after, begin, false);
      add(begin, end, true);
      after = end;
      any = true;
    }
    if (after < text.size()) add(after, text.size(), false);
  }

 private:
  std::string expression_, file_;
  CodePointer code_;
};

}  // namespace

std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression, const std::string& file) {
  return std::make_unique<Pcre2Pattern>(expression, file);
}

}  // namespace regard::text
