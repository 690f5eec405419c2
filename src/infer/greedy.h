// Greedy decoding: the likeliest token at each place, all sequences together over one cache. A translation
// never depends on its company.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/model.h"

namespace regard {

struct GreedyOptions {
  std::int32_t start_id = -1;  // what the decoder reads first
  std::int32_t end_id = -1;    // where a sequence ends
  std::int64_t max_new = 0;    // tokens at most; 0: twice the source and 20
};

// An encoder–decoder's translations, in order: the ids written, end_id last where it came to that.
std::vector<std::vector<std::int32_t>> greedy_translations(Model& model, ThreadPool& pool,
                                                           std::span<const std::vector<std::int32_t>> sources,
                                                           const GreedyOptions& options);

}  // namespace regard
