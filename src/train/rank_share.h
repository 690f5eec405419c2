// Division of a training step among ranks: micro-batches and, with a sharded optimiser, the parameters that
// each rank updates (Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054, ZeRO stage 1).
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

// Return the number of micro-batches of each rank: accumulate / ranks. Throws usage if that is not a whole
// number.
std::int64_t micro_batches_of_rank(std::int64_t accumulate, int ranks);

// Return indices into `parameters`, one more than ranks: rank r updates the parameters from the r-th index
// to the next. The shards have about equal numbers of trained elements; a parameter is not divided.
std::vector<std::size_t> shard_bounds(std::span<Parameter* const> parameters, int ranks);

// Collective. Copy each shard's values from its rank to all others.
void share_weights(distributed::Ranks& ranks, std::span<Parameter* const> parameters,
                   std::span<const std::size_t> bounds);

// Collective. Copy the values of all parameters from rank 0 to all others.
void share_weights_of_first(distributed::Ranks& ranks, std::span<Parameter* const> parameters);

// Collective. On rank 0, return the f32 tensors of all ranks, in order of ranks: views of its own and copies
// of the others. On other ranks, return nothing.
std::vector<formats::NamedTensor> gather_tensors(distributed::Ranks& ranks,
                                                 const std::vector<formats::NamedTensor>& mine);

// A property that must be equal on all ranks, as a hash.
struct Agreement {
  std::string what;  // "the data"
  std::uint64_t value = 0;
};
// Collective. Throws usage on every rank if a property differs from that of rank 0, naming it and the rank.
void check_agreement(distributed::Ranks& ranks, std::span<const Agreement> properties);

// Return the XXH3 hash of the values of all parameters.
std::uint64_t weights_hash(std::span<Parameter* const> parameters);

}  // namespace regard::train
