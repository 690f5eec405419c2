// Maximum number of tokens that a request generates.
#pragma once

#include <cstdint>

#include "infer/request.h"
#include "models/network.h"

namespace regard::infer {

// Return options.max_new. If it is 0, return its default (see
// SearchOptions::max_new). The result is limited by the positions of an
// encoder–decoder. A result below 1 means that the prompt leaves no room.
std::int64_t new_tokens_of(const Network& model, const Request& request, const SearchOptions& options);

}  // namespace regard::infer
