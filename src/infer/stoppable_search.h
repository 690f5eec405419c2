// Searches that can be stopped by the caller, and the upper limits of search options.
#pragma once

#include <functional>

#include "infer/search.h"

namespace regard::infer {

// Upper limit of `beam` and of `n_best`, because a model folder may contain excessive values.
inline constexpr std::int64_t kWidestBeam = 4096;
// Maximum number of new tokens of a request, because positions are 32-bit integers. Memory grows only as
// tokens are generated.
inline constexpr std::int64_t kMostNewTokens = (std::int64_t{1} << 31) - 1;

// Called after every decoding step. If it returns true, the search stops and returns an empty vector.
using Stop = std::function<bool()>;

// Like decode(), translate() and generate() of infer/search.h, but `stop` can end the search; it may be
// empty.
std::vector<std::vector<Hypothesis>> decode(Network& model, ThreadPool& pool,
                                            std::span<const ModelInput> inputs, const SearchOptions& options,
                                            const Stop& stop);
std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options, const Stop& stop);
std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options, const Stop& stop);

}  // namespace regard::infer
