// One direction of one recurrent layer over a ragged batch: torch.nn.RNN, LSTM or GRU with PyTorch's
// equations (kernels/recurrent.h) and order of gates.
#pragma once

#include "base/namespaces.h"
#include "kernels/packed_matrix.h"
#include "kernels/recurrent.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

struct RecurrenceOptions {
  kernels::Cell cell = kernels::Cell::tanh;
  bool reverse = false;  // process each sequence from its last token to the first
  // The state before the first step: [sequences, hidden], for LSTM [sequences, h | c]. Null means zeros.
  Var initial = nullptr;
  const kernels::PackedMatrix* packed = nullptr;  // the packed weight; used if no gradient is needed
};

struct Recurrence {
  Var hidden = nullptr;  // [tokens, hidden]: h after each token
  Var cell = nullptr;    // [tokens, hidden]: c after each token; LSTM only
};

// Run the layer with `weight` W_hh [gates × hidden, hidden] and `bias` b_hh [gates × hidden] or null; x
// [tokens, gates × hidden] is W_ih · input + b_ih for every token, computed by linear(). `shape` must stay
// valid until the backward pass.
Recurrence recurrence(Tape& tape, Var x, Var weight, Var bias, const Ragged& shape,
                      const RecurrenceOptions& options);

}  // namespace regard::ops
