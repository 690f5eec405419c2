// The self-contained page: one file with the numbers, the drawing and nothing from outside.
#pragma once

#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

// HTML with to_json(view) in it, byte for byte but for "<", which is written \u003c there. Kind, layer and
// head are chosen in the page, also by keyboard; heat map and lines between tokens; light and dark.
std::string to_html(const View& view);

}  // namespace regard::inspect
