// Maximum number of tokens that a request generates.
#pragma once

#include <cstdint>

#include "infer/request.h"
#include "models/network.h"

namespace regard::infer {

// Return options.max_new or, if it is 0, its default (see SearchOptions::max_new). For an encoder–decoder,
// the result is limited by the model's positions; a result below 1 means that the prompt uses all positions.
std::int64_t new_tokens_of(const Network& model, const Request& request, const SearchOptions& options);
// Reduce options.max_new so that new_tokens_of() returns at most `most`.
void limit_new_tokens(const Network& model, const Request& request, std::int64_t most,
                      SearchOptions& options);

}  // namespace regard::infer
