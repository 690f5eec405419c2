// The element-wise part of one step of a recurrent layer, forward and backward. Equations and order of gates
// are those of PyTorch (torch.nn.RNN, LSTM, GRU). gemm() computes the matrix products.
//
//   s = W_hh h + b_hh            the recurrent part, an input of the step
//   tanh, relu   h' = activation(x + s)
//   lstm         i, f, o = σ(x + s); g = tanh(x + s); c' = f c + i g; h' = o tanh(c')    gates i, f, g, o
//   gru          r, z = σ(x + s); n = tanh(x + r s); h' = (1 − z) n + z h                gates r, z, n
//
// A step has one row for each sequence that has a token at this step. Arrays in `step order` have these rows
// consecutively, from 0. Arrays in `token order` are indexed by token[row].
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace regard::kernels {

enum class Cell : std::uint8_t { tanh, relu, lstm, gru };

constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
}

struct RecurrentStep {
  Cell cell = Cell::tanh;
  std::int64_t rows = 0, hidden = 0;
  const std::int32_t* token = nullptr;  // [rows]
  const float* x = nullptr;             // [tokens, gates × hidden], token order: W_ih x + b_ih
  std::int64_t x_stride = 0;
  const float* s = nullptr;  // [rows, gates × hidden], step order
  float* h = nullptr;        // [rows, hidden], step order: the state; updated by the step
  float* c = nullptr;        // [rows, hidden], step order: the LSTM's cell; updated by the step
  float* out = nullptr;      // [tokens, hidden], token order: h'
  float* cells = nullptr;    // [tokens, hidden], token order: c' of the LSTM
  // Values that the forward pass stores for the backward pass, in token order; null if not needed.
  float* gates = nullptr;      // [tokens, gates × hidden] after activation; lstm, gru
  float* candidate = nullptr;  // [tokens, hidden]: the part of s that belongs to gate n; gru only
};
void recurrent_step(ThreadPool& pool, const RecurrentStep& step);

struct RecurrentStepBackward {
  Cell cell = Cell::tanh;
  std::int64_t rows = 0, hidden = 0;
  const std::int32_t* token = nullptr;  // [rows]
  // Values that the forward pass stored, as in RecurrentStep.
  const float* gates = nullptr;
  const float* candidate = nullptr;
  const float* out = nullptr;
  const float* cells = nullptr;
  const float* h_before = nullptr;  // state before the step [tokens, hidden], token order; gru only
  const float* c_before = nullptr;  // cell before the step [tokens, hidden], token order; lstm only
  // Gradients of `out` and `cells` from later operations, in token order; null means zero.
  const float* out_gradient = nullptr;
  const float* cell_gradient = nullptr;
  // Step order. On input, the gradient of the state after the step; on output, the gradient of the state
  // before the step, without the part that passes through s.
  float* dh = nullptr;
  float* dc = nullptr;
  float* dx = nullptr;           // [tokens, gates × hidden], token order; overwritten
  float* ds = nullptr;           // [rows, gates × hidden], step order; overwritten
  float* ds_by_token = nullptr;  // ds in token order, for gru only; the other cells have ds = dx
};
void recurrent_step_backward(ThreadPool& pool, const RecurrentStepBackward& step);

}  // namespace regard::kernels
