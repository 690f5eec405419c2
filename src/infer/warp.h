// Warping of scores before sampling, like Hugging Face's logits warpers. The order is: temperature, top-k,
// top-p (nucleus; Holtzman et al. 2020), min-p (relative to the most probable token), typical (Meister et al.
// 2023), and the cut-offs epsilon and eta (Hewitt et al. 2022).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace regard::infer {

struct Warp {
  double temperature = 1.0;
  // number of tokens to keep; scores equal to the k-th are kept too; 0 disables the rule
  std::int64_t top_k = 0;
  double top_p = 1.0;      // probability mass to keep; 1 disables the rule
  double min_p = 0.0;      // minimum probability relative to the most probable token; 0 disables the rule
  double typical_p = 1.0;  // probability mass to keep, smallest |−log p − entropy| first; 1 disables the rule
  double epsilon = 0.0;       // minimum probability; 0 disables the rule
  double eta = 0.0;           // minimum probability, adapted to the entropy; 0 disables the rule
  std::int64_t min_keep = 1;  // minimum number of tokens that remain

  bool removes_nothing() const {
    return top_k <= 0 && top_p >= 1.0 && min_p <= 0.0 && typical_p >= 1.0 && epsilon <= 0.0 && eta <= 0.0;
  }
  bool changes_nothing() const { return temperature == 1.0 && removes_nothing(); }
};

// Warp the scores in place; removed tokens get −∞. `order` is a buffer, reused between calls.
void warp(const Warp& how, std::span<float> scores, std::vector<std::int32_t>& order);

// Return the index selected by `uniform` in [0, 1), where index i has the weight exp(scores[i]). Throws
// numeric if no score is finite.
std::int32_t draw(std::span<const float> scores, double uniform);

}  // namespace regard::infer
