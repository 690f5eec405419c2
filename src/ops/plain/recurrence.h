// Reference implementation of ops::recurrence for one sequence: the equations of torch.nn.RNN, LSTM and GRU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/namespaces.h"
#include "kernels/recurrent.h"
#include "ops/plain/activation.h"

namespace regard::ops::plain {

struct Recurrence {
  kernels::Cell cell = kernels::Cell::tanh;
  std::int64_t tokens = 0, hidden = 0;
  bool reverse = false;
};

// Compute `out` and, for LSTM, `cells` [tokens, hidden]. x: [tokens, gates × hidden]; weight: [gates ×
// hidden, hidden]; bias: [gates × hidden] or null; initial: [hidden], for LSTM [h | c], or null.
template <class Real>
void recurrence(const Recurrence& shape, const Real* x, const Real* weight, const Real* bias,
                const Real* initial, Real* out, Real* cells) {
  const std::int64_t size = shape.hidden, width = kernels::gates_of(shape.cell) * size;
  std::vector<Real> h(static_cast<std::size_t>(size), 0), c(h), s(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; initial != nullptr && i < size; ++i) {
    h[static_cast<std::size_t>(i)] = initial[i];
    if (shape.cell == kernels::Cell::lstm) c[static_cast<std::size_t>(i)] = initial[size + i];
  }
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    const std::int64_t token = shape.reverse ? shape.tokens - 1 - t : t;
    const Real* in = x + token * width;
    for (std::int64_t g = 0; g < width; ++g) {
      Real sum = bias == nullptr ? 0 : bias[g];
      for (std::int64_t i = 0; i < size; ++i) sum += weight[g * size + i] * h[static_cast<std::size_t>(i)];
      s[static_cast<std::size_t>(g)] = sum;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto part = [&](std::int64_t gate) { return s[static_cast<std::size_t>(gate * size + i)]; };
      const auto sum = [&](std::int64_t gate) { return in[gate * size + i] + part(gate); };
      if (shape.cell == kernels::Cell::lstm) {
        c[at] = sigmoid(sum(1)) * c[at] + sigmoid(sum(0)) * std::tanh(sum(2));
        h[at] = sigmoid(sum(3)) * std::tanh(c[at]);
      } else if (shape.cell == kernels::Cell::gru) {
        const Real z = sigmoid(sum(1)), n = std::tanh(in[2 * size + i] + sigmoid(sum(0)) * part(2));
        h[at] = (1 - z) * n + z * h[at];
      } else {
        h[at] = shape.cell == kernels::Cell::relu ? std::max<Real>(sum(0), 0) : std::tanh(sum(0));
      }
      out[token * size + i] = h[at];
      if (cells != nullptr) cells[token * size + i] = c[at];
    }
  }
}

}  // namespace regard::ops::plain
