// The element-wise part of one step of a recurrent layer, forward and backward, with PyTorch's equations and
// order of gates (torch.nn.RNN, LSTM, GRU). The matrix products are gemm()'s.
//
//   s = W_hh h + b_hh            the recurrent part, given
//   tanh, relu   h' = activation(x + s)
//   lstm         i, f, o = σ(x + s); g = tanh(x + s); c' = f c + i g; h' = o tanh(c')    gates i, f, g, o
//   gru          r, z = σ(x + s); n = tanh(x + r s); h' = (1 − z) n + z h                gates r, z, n
//
// A step has one row for each sequence that has a token at this step. Rows of `step order` are consecutive
// from 0; rows of `token order` are addressed by token[row].
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
  float* h = nullptr;        // [rows, hidden], step order: the state before, then after the step
  float* c = nullptr;        // [rows, hidden], step order: the LSTM's cell, before and after
  float* out = nullptr;      // [tokens, hidden], token order: h'
  float* cells = nullptr;    // [tokens, hidden], token order: c' of the LSTM
  // Values for the backward pass, in token order; null if not kept.
  float* gates = nullptr;      // [tokens, gates × hidden] after their activations: lstm, gru
  float* candidate = nullptr;  // [tokens, hidden]: the part of s for n: gru
};
void recurrent_step(ThreadPool& pool, const RecurrentStep& step);

struct RecurrentStepBackward {
  Cell cell = Cell::tanh;
  std::int64_t rows = 0, hidden = 0;
  const std::int32_t* token = nullptr;  // [rows]
  // Values of the forward pass.
  const float* gates = nullptr;
  const float* candidate = nullptr;
  const float* out = nullptr;
  const float* cells = nullptr;
  const float* h_before = nullptr;  // [tokens, hidden], token order: gru
  const float* c_before = nullptr;  // [tokens, hidden], token order: lstm
  // Gradients of `out` and `cells` from later operations, in token order; null means zero.
  const float* out_gradient = nullptr;
  const float* cell_gradient = nullptr;
  // Step order: the gradient of the state after the step; then the part of the gradient of the state before
  // it that does not pass through s.
  float* dh = nullptr;
  float* dc = nullptr;
  float* dx = nullptr;           // [tokens, gates × hidden], token order: assigned
  float* ds = nullptr;           // [rows, gates × hidden], step order: assigned
  float* ds_by_token = nullptr;  // gru: ds in token order; the other cells have ds = dx
};
void recurrent_step_backward(ThreadPool& pool, const RecurrentStepBackward& step);

}  // namespace regard::kernels
