#include "base/regular_expression.h"

#include <array>
#include <new>

#include "base/pcre2_pointers.h"
#include "regard/error.h"

namespace regard::base {
namespace {

constexpr std::uint32_t kMostSteps = 1'000'000;  // PCRE2's match limit: less than a second

Error wrong(const std::string& file, const std::string& message) {
  return file.empty() ? usage_error(message) : file_error(file, message);
}

}  // namespace

std::string pcre2_error_text(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

struct RegularExpression::Compiled {
  CodePointer code;
};

RegularExpression::RegularExpression(std::string expression, std::string file)
    : expression_(std::move(expression)), file_(std::move(file)) {
  int error = 0;
  PCRE2_SIZE place = 0;
  CodePointer code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression_.data()), expression_.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr));
  if (!code)
    throw wrong(file_, "the regular expression cannot be compiled: " + pcre2_error_text(error))
        .found("\"" + expression_ + "\"")
        .remedy("Correct the expression near byte " + std::to_string(place));
  compiled_ = std::make_unique<const Compiled>(std::move(code));
}

RegularExpression::~RegularExpression() = default;

bool RegularExpression::matches(std::string_view text) const {
  return match(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED).has_value();
}

std::optional<std::size_t> RegularExpression::match_at_start(std::string_view text) const {
  return match(text, PCRE2_ANCHORED);
}

std::optional<std::size_t> RegularExpression::match(std::string_view text, unsigned options) const {
  const pcre2_code* const code = compiled_->code.get();
  const MatchDataPointer data(pcre2_match_data_create_from_pattern(code, nullptr));
  const MatchContextPointer context(pcre2_match_context_create(nullptr));
  if (!data || !context) throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), kMostSteps);
  const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, options,
                                data.get(), context.get());
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0)
    throw wrong(file_, "the regular expression cannot be matched: " + pcre2_error_text(found))
        .found("\"" + expression_ + "\"")
        .remedy("Simplify the expression");
  return pcre2_get_ovector_pointer(data.get())[1];
}

}  // namespace regard::base
