// Self-contained HTML page: one file that contains a capture (docs/capture-format.md) and the program that
// displays it (viewer/), without external resources.
#pragma once

#include <string>

#include "inspect/attention_view.h"
#include "inspect/capture_json.h"

namespace regard::inspect {

// Return HTML that contains to_json(view, precision), identical except that "<" is written as \u003c.
std::string to_html(const View& view, Precision precision = Precision::bits8);

}  // namespace regard::inspect
