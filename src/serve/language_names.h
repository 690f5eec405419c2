// English names of languages.
#pragma once

#include <string>

namespace regard::serve {

// Return the English name of a language, such as "German" for "de" (ISO 639-1), or the code itself if it is
// not known.
std::string language_name(const std::string& code);

}  // namespace regard::serve
