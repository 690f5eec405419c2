// The constant parts of the self-contained page.
#pragma once

#include <string_view>

namespace regard::inspect {

extern const std::string_view kPageStyle;   // CSS
extern const std::string_view kPageBody;    // from <body> to the start of the data
extern const std::string_view kPageScript;  // JavaScript; reads the JSON of the element "data"

}  // namespace regard::inspect
