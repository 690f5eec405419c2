// Maximum number of tokens that a request generates.
#pragma once

#include <cstdint>

#include "infer/request.h"
#include "models/network.h"

namespace regard::infer {

// options.max_new or, if that is 0, the number that SearchOptions derives from max_length, the prompt and
// the source; limited by the positions of an encoder–decoder. A result below 1 means that the prompt leaves
// no room.
std::int64_t new_tokens_of(const Network& model, const Request& request, const SearchOptions& options);

}  // namespace regard::infer
