// A View as JSON: the capture format (docs/capture-format.md), which `attend --json` prints and the page
// reads.
#pragma once

#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Parsing the numbers of a map yields the same f32 values.
std::string to_json(const View& view);

// Drop the query, key and value vectors (Map::values) of the least telling heads until at most `numbers`
// numbers remain, and say so in view.left_out.
void limit_values(View& view, std::size_t numbers);

}  // namespace regard::inspect
