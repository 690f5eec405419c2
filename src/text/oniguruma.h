// Translates regular expressions from Oniguruma's dialect, which tokenizer files use, to PCRE2's.
#pragma once

#include <string>
#include <string_view>

namespace regard::text {

// Return the expression in PCRE2's dialect. It assumes the options PCRE2_UTF, PCRE2_UCP and
// PCRE2_MULTILINE. Unknown syntax is returned unchanged, so that PCRE2 reports it. Throws bad_file with
// `file` if brackets are nested too deeply.
std::string oniguruma_to_pcre2(std::string_view expression, const std::string& file);

}  // namespace regard::text
