// Division of a training step among ranks: the micro-batches and, with a sharded optimiser, the parameters
// that each rank updates (ZeRO stage 1; Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "distributed/ranks.h"
#include "formats/safetensors.h"
#include "models/network.h"
#include "ops/parameter.h"

namespace regard::train {

// Return the number of micro-batches of each rank, accumulate / ranks. Throws usage if it is not an integer.
std::int64_t micro_batches_of_rank(std::int64_t accumulate, int ranks);

// Divide `parameters` into one shard per rank, with about the same number of trained elements; no parameter
// is divided. Return ranks + 1 bounds: rank r updates the parameters [bounds[r], bounds[r + 1]).
std::vector<std::size_t> shard_bounds(std::span<Parameter* const> parameters, int ranks);

// Collective. Copy the values of each shard from its rank to all other ranks.
void share_weights(distributed::Ranks& ranks, std::span<Parameter* const> parameters,
                   std::span<const std::size_t> bounds);

// Collective. Copy the values of all parameters from rank 0 to all other ranks.
void share_weights_of_first(distributed::Ranks& ranks, std::span<Parameter* const> parameters);

// Collective. On rank 0, return the f32 tensors of all ranks in the order of ranks. Tensors of rank 0 are
// views; tensors of other ranks are copies. On other ranks, return an empty list.
std::vector<formats::NamedTensor> gather_tensors(distributed::Ranks& ranks,
                                                 const std::vector<formats::NamedTensor>& mine);

// A hash of a property that must be equal on all ranks.
struct Agreement {
  std::string what;  // name of the property, such as "the data"
  std::uint64_t value = 0;
};
// Collective. Throws usage on every rank if a property has a different value on some rank than on rank 0. The
// message names the property and the rank.
void check_agreement(distributed::Ranks& ranks, std::span<const Agreement> properties);

// Return the XXH3 hash of the values of all parameters.
std::uint64_t weights_hash(std::span<Parameter* const> parameters);

}  // namespace regard::train
