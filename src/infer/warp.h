// What sampling does to scores before it draws, as Hugging Face's logits warpers have it, in their order:
// temperature, the k most probable, the nucleus (Holtzman et al. 2020), the minimal share of the most
// probable, the typical (Meister et al. 2023), and the cut-offs epsilon and eta (Hewitt et al. 2022).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace regard::infer {

struct Warp {
  double temperature = 1.0;
  std::int64_t top_k = 0;     // 0: off; of equal scores at the limit all stay
  double top_p = 1.0;         // 1: off
  double min_p = 0.0;         // 0: off
  double typical_p = 1.0;     // 1: off
  double epsilon = 0.0;       // 0: off
  double eta = 0.0;           // 0: off
  std::int64_t min_keep = 1;  // tokens that stay whatever the limits say

  bool removes_nothing() const {
    return top_k <= 0 && top_p >= 1.0 && min_p <= 0.0 && typical_p >= 1.0 && epsilon <= 0.0 && eta <= 0.0;
  }
  bool changes_nothing() const { return temperature == 1.0 && removes_nothing(); }
};

// Scores of tokens that are removed become −∞. `order` is scratch that keeps its memory between calls.
void warp(const Warp& how, std::span<float> scores, std::vector<std::int32_t>& order);

// The index that a uniform draw in [0, 1) falls on when each has weight exp(score). Throws numeric where
// there is nothing to draw from.
std::int32_t draw(std::span<const float> scores, double uniform);

}  // namespace regard::infer
