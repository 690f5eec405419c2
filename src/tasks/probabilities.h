// Convert logits to probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "regard/error.h"

namespace regard::tasks {

inline void require_finite(std::span<const float> logits) {
  for (const float x : logits)
    if (!std::isfinite(x))
      throw Error(ErrorKind::numeric, "the model's scores are not finite")
          .remedy("The weights may be damaged. Use an undamaged copy of the model");
}

// Compute exp(x − max) / Σ exp(x − max), summed in double. Input and output may be the same memory.
inline void softmax(std::span<const float> logits, std::span<float> probabilities) {
  if (logits.empty()) return;
  const auto most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - most);
  for (std::size_t i = 0; i < logits.size(); ++i)
    probabilities[i] = static_cast<float>(std::exp(static_cast<double>(logits[i]) - most) / sum);
}

}  // namespace regard::tasks
