// Reference implementation of ops::ctc_loss for one short sequence. It sums the probabilities of all label
// paths (Graves et al. 2006, equation 3).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"

namespace regard::ops::plain {

// Return −log Σ Π_t softmax(logits)[t, path[t]], summed over all paths [frames] that reduce to `targets`. The
// time is proportional to labels^frames.
template <class Real>
Real ctc_loss(std::int64_t frames, std::int64_t labels, const Real* logits,
              std::span<const std::int32_t> targets, std::int32_t blank) {
  std::vector<Real> p(static_cast<std::size_t>(frames * labels));
  for (std::int64_t t = 0; t < frames; ++t) {
    Real sum = 0;
    for (std::int64_t c = 0; c < labels; ++c) sum += std::exp(logits[t * labels + c]);
    for (std::int64_t c = 0; c < labels; ++c)
      p[static_cast<std::size_t>(t * labels + c)] = std::exp(logits[t * labels + c]) / sum;
  }
  Real total = 0;
  std::vector<std::int32_t> path(static_cast<std::size_t>(frames), 0), reduced;
  for (bool more = true; more;) {
    Real product = 1;
    reduced.clear();
    for (std::size_t t = 0; t < path.size(); ++t) {
      product *= p[t * static_cast<std::size_t>(labels) + static_cast<std::size_t>(path[t])];
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) reduced.push_back(path[t]);
    }
    if (std::equal(reduced.begin(), reduced.end(), targets.begin(), targets.end())) total += product;
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == labels) path[t++] = 0;
    more = t < path.size();
  }
  return -std::log(total);
}

}  // namespace regard::ops::plain
