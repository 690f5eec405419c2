// Joining the symbols of one word by a table of merges.
#pragma once

#include <vector>

#include "text/bpe.h"

namespace regard::text {

// Joins neighbours in `symbols[first…]` in place: always the pair of lowest rank, the leftmost among equals.
// Short words are scanned; long ones use a heap, so n symbols take O(n log n) at most.
void merge_symbols(const MergeTable& merges, std::vector<Token>& symbols, std::size_t first);

}  // namespace regard::text
