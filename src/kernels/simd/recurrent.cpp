// The inner loops of kernels/recurrent.h. Each lane is one feature; a row's result depends on that row only.
#include "kernels/recurrent_table.h"
#include "kernels/simd/each_vector.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// sigmoid_slope and tanh_slope return σ'(z) and tanh'(z), given y = σ(z) or tanh(z).
HWY_INLINE FloatVector sigmoid_slope(FloatVector y) {
  return hn::NegMulAdd(y, y, y);
}
HWY_INLINE FloatVector tanh_slope(FloatVector y) {
  return hn::NegMulAdd(y, y, hn::Set(Floats(), 1.0f));
}

template <bool kRelu>
void plain_rows(const RecurrentStep& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    const float* x = step.x + token * step.x_stride;
    const float* s = step.s + row * step.hidden;
    float* h = step.h + row * step.hidden;
    float* out = step.out + token * step.hidden;
    each_vector(step.hidden, [=](std::int64_t i, std::int64_t left) {
      const FloatVector sum = hn::Add(load_first(d, x + i, left), load_first(d, s + i, left));
      const FloatVector y = kRelu ? at_least<Floats>(hn::Zero(d), sum) : tanh(d, sum);
      store_first(y, d, h + i, left);
      store_first(y, d, out + i, left);
    });
  }
}

void lstm_rows(const RecurrentStep& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t size = step.hidden;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    const float* x = step.x + token * step.x_stride;
    const float* s = step.s + row * 4 * size;
    float* h = step.h + row * size;
    float* c = step.c + row * size;
    float* out = step.out + token * size;
    float* cells = step.cells + token * size;
    float* gates = step.gates == nullptr ? nullptr : step.gates + token * 4 * size;
    each_vector(size, [=](std::int64_t i, std::int64_t left) {
      const auto sum = [=](std::int64_t gate) {
        const std::int64_t at = gate * size + i;
        return hn::Add(load_first(d, x + at, left), load_first(d, s + at, left));
      };
      const FloatVector in = sigmoid(d, sum(0)), forget = sigmoid(d, sum(1));
      const FloatVector fresh = tanh(d, sum(2)), open = sigmoid(d, sum(3));
      const FloatVector cell = hn::MulAdd(forget, load_first(d, c + i, left), hn::Mul(in, fresh));
      const FloatVector y = hn::Mul(open, tanh(d, cell));
      store_first(cell, d, c + i, left);
      store_first(cell, d, cells + i, left);
      store_first(y, d, h + i, left);
      store_first(y, d, out + i, left);
      if (gates == nullptr) return;
      store_first(in, d, gates + i, left);
      store_first(forget, d, gates + size + i, left);
      store_first(fresh, d, gates + 2 * size + i, left);
      store_first(open, d, gates + 3 * size + i, left);
    });
  }
}

void gru_rows(const RecurrentStep& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t size = step.hidden;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    const float* x = step.x + token * step.x_stride;
    const float* s = step.s + row * 3 * size;
    float* h = step.h + row * size;
    float* out = step.out + token * size;
    float* gates = step.gates == nullptr ? nullptr : step.gates + token * 3 * size;
    float* candidate = step.gates == nullptr ? nullptr : step.candidate + token * size;
    each_vector(size, [=](std::int64_t i, std::int64_t left) {
      const auto at = [=](const float* from, std::int64_t gate) {
        return load_first(d, from + gate * size + i, left);
      };
      const FloatVector reset = sigmoid(d, hn::Add(at(x, 0), at(s, 0)));
      const FloatVector update = sigmoid(d, hn::Add(at(x, 1), at(s, 1)));
      const FloatVector recurrent = at(s, 2);
      const FloatVector fresh = tanh(d, hn::MulAdd(reset, recurrent, at(x, 2)));
      const FloatVector y = hn::MulAdd(update, hn::Sub(load_first(d, h + i, left), fresh), fresh);
      store_first(y, d, h + i, left);
      store_first(y, d, out + i, left);
      if (gates == nullptr) return;
      store_first(reset, d, gates + i, left);
      store_first(update, d, gates + size + i, left);
      store_first(fresh, d, gates + 2 * size + i, left);
      store_first(recurrent, d, candidate + i, left);
    });
  }
}

void forward(const RecurrentStep& step, std::int64_t begin, std::int64_t end) {
  switch (step.cell) {
    case Cell::tanh:
      return plain_rows<false>(step, begin, end);
    case Cell::relu:
      return plain_rows<true>(step, begin, end);
    case Cell::lstm:
      return lstm_rows(step, begin, end);
    case Cell::gru:
      return gru_rows(step, begin, end);
  }
}

// Return the gradient of the new hidden state: the sum of the gradients from the next time step and from
// later operations.
HWY_INLINE FloatVector output_gradient(const RecurrentStepBackward& step, std::int64_t row,
                                       std::int64_t token, std::int64_t i, std::int64_t left) {
  const Floats d;
  const FloatVector carried = load_first(d, step.dh + row * step.hidden + i, left);
  if (step.out_gradient == nullptr) return carried;
  return hn::Add(carried, load_first(d, step.out_gradient + token * step.hidden + i, left));
}

template <bool kRelu>
void plain_rows_backward(const RecurrentStepBackward& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t size = step.hidden;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    each_vector(size, [&](std::int64_t i, std::int64_t left) {
      const FloatVector dh = output_gradient(step, row, token, i, left);
      const FloatVector y = load_first(d, step.out + token * size + i, left);
      const FloatVector da =
          kRelu ? hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), dh) : hn::Mul(dh, tanh_slope(y));
      store_first(da, d, step.dx + token * size + i, left);
      store_first(da, d, step.ds + row * size + i, left);
      store_first(hn::Zero(d), d, step.dh + row * size + i, left);
    });
  }
}

void lstm_rows_backward(const RecurrentStepBackward& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t size = step.hidden;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    const float* gates = step.gates + token * 4 * size;
    float* dx = step.dx + token * 4 * size;
    float* ds = step.ds + row * 4 * size;
    each_vector(size, [&](std::int64_t i, std::int64_t left) {
      const FloatVector in = load_first(d, gates + i, left), forget = load_first(d, gates + size + i, left);
      const FloatVector fresh = load_first(d, gates + 2 * size + i, left);
      const FloatVector open = load_first(d, gates + 3 * size + i, left);
      const FloatVector dh = output_gradient(step, row, token, i, left);
      const FloatVector bounded = tanh(d, load_first(d, step.cells + token * size + i, left));
      FloatVector dc = load_first(d, step.dc + row * size + i, left);
      if (step.cell_gradient != nullptr)
        dc = hn::Add(dc, load_first(d, step.cell_gradient + token * size + i, left));
      dc = hn::MulAdd(hn::Mul(dh, open), tanh_slope(bounded), dc);
      const auto store = [&](std::int64_t gate, FloatVector value) {
        store_first(value, d, dx + gate * size + i, left);
        store_first(value, d, ds + gate * size + i, left);
      };
      store(0, hn::Mul(hn::Mul(dc, fresh), sigmoid_slope(in)));
      store(1, hn::Mul(hn::Mul(dc, load_first(d, step.c_before + token * size + i, left)),
                       sigmoid_slope(forget)));
      store(2, hn::Mul(hn::Mul(dc, in), tanh_slope(fresh)));
      store(3, hn::Mul(hn::Mul(dh, bounded), sigmoid_slope(open)));
      store_first(hn::Mul(dc, forget), d, step.dc + row * size + i, left);
      store_first(hn::Zero(d), d, step.dh + row * size + i, left);
    });
  }
}

void gru_rows_backward(const RecurrentStepBackward& step, std::int64_t begin, std::int64_t end) {
  const Floats d;
  const std::int64_t size = step.hidden;
  for (std::int64_t row = begin; row < end; ++row) {
    const auto token = static_cast<std::int64_t>(step.token[row]);
    const float* gates = step.gates + token * 3 * size;
    each_vector(size, [&](std::int64_t i, std::int64_t left) {
      const FloatVector reset = load_first(d, gates + i, left);
      const FloatVector update = load_first(d, gates + size + i, left);
      const FloatVector fresh = load_first(d, gates + 2 * size + i, left);
      const FloatVector recurrent = load_first(d, step.candidate + token * size + i, left);
      const FloatVector before = load_first(d, step.h_before + token * size + i, left);
      const FloatVector dh = output_gradient(step, row, token, i, left);
      const FloatVector dn = hn::Mul(hn::NegMulAdd(dh, update, dh), tanh_slope(fresh));
      const auto store = [&](std::int64_t gate, FloatVector input, FloatVector state) {
        const std::int64_t at = gate * size + i;
        store_first(input, d, step.dx + token * 3 * size + at, left);
        store_first(state, d, step.ds + row * 3 * size + at, left);
        store_first(state, d, step.ds_by_token + token * 3 * size + at, left);
      };
      const FloatVector dr = hn::Mul(hn::Mul(dn, recurrent), sigmoid_slope(reset));
      const FloatVector dz = hn::Mul(hn::Mul(dh, hn::Sub(before, fresh)), sigmoid_slope(update));
      store(0, dr, dr);
      store(1, dz, dz);
      store(2, dn, hn::Mul(dn, reset));
      store_first(hn::Mul(dh, update), d, step.dh + row * size + i, left);
    });
  }
}

void backward(const RecurrentStepBackward& step, std::int64_t begin, std::int64_t end) {
  switch (step.cell) {
    case Cell::tanh:
      return plain_rows_backward<false>(step, begin, end);
    case Cell::relu:
      return plain_rows_backward<true>(step, begin, end);
    case Cell::lstm:
      return lstm_rows_backward(step, begin, end);
    case Cell::gru:
      return gru_rows_backward(step, begin, end);
  }
}

}  // namespace

extern const RecurrentTable recurrent_table;
constinit const RecurrentTable recurrent_table{forward, backward};

}  // namespace regard::kernels::REGARD_ISA
