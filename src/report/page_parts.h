// The constant parts of the HTML page of a report.
#pragma once

#include <string_view>

namespace regard::report {

extern const std::string_view kStyle;        // style sheet of the page (CSS)
extern const std::string_view kBody;         // HTML from <body> to the start of the data
extern const std::string_view kChartScript;  // JavaScript: draws one line chart
extern const std::string_view kPageScript;  // JavaScript: builds the page from the JSON of the element "data"

}  // namespace regard::report
