// Translation of regular expressions from the syntax of Oniguruma, which tokenizer files use, to that of
// PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace regard::text {

// Return the expression in the syntax of PCRE2 with the options PCRE2_UTF, PCRE2_UCP and
// PCRE2_MULTILINE. Syntax that is not known here is copied, so that PCRE2 reports the error. Throws bad_file,
// naming `file`, if brackets are nested too deeply.
std::string oniguruma_to_pcre2(std::string_view expression, const std::string& file);

}  // namespace regard::text
