// Searches that can be given up, and the bounds of every search.
#pragma once

#include <functional>

#include "infer/search.h"

namespace regard::infer {

inline constexpr std::int64_t kWidestBeam = 4096;  // rows of one request: bounds what a folder may ask for
// Tokens that a request may generate: positions are 32-bit numbers. Memory is taken as they are generated.
inline constexpr std::int64_t kMostNewTokens = (std::int64_t{1} << 31) - 1;

// Asked after every step of decoding; true: the search is given up and returns no results at all.
using Stop = std::function<bool()>;

// As translate() and generate() of infer/search.h. A stop that is empty is never asked.
std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options, const Stop& stop);
std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options, const Stop& stop);

}  // namespace regard::infer
