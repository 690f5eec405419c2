// The page that viewer/ builds, with an empty element "data" for the capture. Generated from
// viewer/page.html by cmake/page.cmake.
#pragma once

#include <string_view>

namespace regard::inspect {

extern const std::string_view kPageSource;

}  // namespace regard::inspect
