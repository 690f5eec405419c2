// Reference implementation of ops::embedding.
#pragma once

#include <cstdint>
#include <span>

#include "base/namespaces.h"

namespace regard::ops::plain {

template <class Real>
void embedding(const Real* table, std::span<const std::int32_t> ids, std::int64_t features, Real factor,
               Real* y) {
  for (const std::int32_t id : ids)
    for (std::int64_t f = 0; f < features; ++f) *y++ = factor * table[id * features + f];
}

}  // namespace regard::ops::plain
