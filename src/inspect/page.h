// The self-contained HTML page: one file with the data and the script that draws it, without external
// resources.
#pragma once

#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Return HTML that contains to_json(view), identical except that "<" is written as \u003c. The page shows a
// heat map and lines between tokens; kind, layer and head are selected by mouse or keyboard; light and dark
// themes.
std::string to_html(const View& view);

}  // namespace regard::inspect
