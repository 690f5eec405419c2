// HTML of the page built from viewer/, with an empty element "data" into which a capture is inserted.
// Generated from viewer/page.html by cmake/page.cmake.
#pragma once

#include <string_view>

namespace regard::inspect {

extern const std::string_view kPageSource;

}  // namespace regard::inspect
