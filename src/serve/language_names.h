// English names of languages.
#pragma once

#include <string>

namespace regard::serve {

// "German" for "de" (ISO 639-1); the code itself for others.
std::string language_name(const std::string& code);

}  // namespace regard::serve
