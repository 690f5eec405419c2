// Store the states of a recurrent decoder in a Cache: the key row of each token and layer contains the
// layer's state after the token.
#pragma once

#include <span>

#include "base/namespaces.h"
#include "models/model_input.h"
#include "nn/cache.h"
#include "ops/recurrence.h"
#include "ops/tape.h"

namespace regard::models {

// CacheShape::window, in tokens, of a cache that stores states. Only the last state is needed, so the pages
// of older tokens are released.
constexpr std::int64_t kStateWindow = 2;

// Reserve space for the batch's tokens. Throws usage if the tape records or the cache does not have one
// selected slot for each sequence, and resource_exhausted if the cache is full.
void reserve_states(const Tape& tape, Cache& cache, const TokenBatch& batch);

// Copy the state that the layer has after the slot's last token to `state` [size]. Return false if the slot
// is empty.
bool read_state(const Cache& cache, std::int64_t layer, std::int32_t slot, std::int64_t size, float* state);

// Return row `row` of a layer's keys or, if `value` is true, of its values, in a cache with one head. `width`
// is the number of floats in the row.
const float* cached_row(const ops::CachedKeys& rows, std::int64_t row, std::int64_t width, bool value);

// For each token of the batch, append the states of all layers after that token to the cache. Then advance
// the slots. `after` has one element per layer.
void write_states(Tape& tape, Cache& cache, const TokenBatch& batch, std::span<const ops::Recurrence> after);

}  // namespace regard::models
