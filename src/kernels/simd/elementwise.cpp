#include "kernels/elementwise_table.h"
#include "kernels/simd/activation.h"
#include "kernels/simd/adam.h"
#include "kernels/simd/each_vector.h"
#include "kernels/simd/masked.h"
#include "kernels/simd/philox.h"

namespace regard::kernels::REGARD_ISA {
namespace {

void add(const float* a, const float* b, float* y, std::int64_t count) {
  const Floats d;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    store_first(hn::Add(load_first(d, a + i, left), load_first(d, b + i, left)), d, y + i, left);
  });
}

void multiply(const float* a, const float* b, float* y, std::int64_t count) {
  const Floats d;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    store_first(hn::Mul(load_first(d, a + i, left), load_first(d, b + i, left)), d, y + i, left);
  });
}

void multiply_add(const float* a, const float* b, float* y, std::int64_t count) {
  const Floats d;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector sum =
        hn::MulAdd(load_first(d, a + i, left), load_first(d, b + i, left), load_first(d, y + i, left));
    store_first(sum, d, y + i, left);
  });
}

void scale(const float* x, float factor, float* y, std::int64_t count) {
  const Floats d;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    store_first(hn::Mul(load_first(d, x + i, left), hn::Set(d, factor)), d, y + i, left);
  });
}

void axpy(float factor, const float* x, float* y, std::int64_t count) {
  const Floats d;
  each_vector(count, [=](std::int64_t i, std::int64_t left) {
    const FloatVector sum =
        hn::MulAdd(hn::Set(d, factor), load_first(d, x + i, left), load_first(d, y + i, left));
    store_first(sum, d, y + i, left);
  });
}

void activate(Activation kind, const float* x, float* y, std::int64_t count) {
  const Floats d;
  with_activation(kind, [=](auto constant) {
    each_vector(count, [=](std::int64_t i, std::int64_t left) {
      store_first(activation<decltype(constant)::value>(d, load_first(d, x + i, left)), d, y + i, left);
    });
  });
}

void activate_backward(Activation kind, const float* x, const float* dy, float* dx, std::int64_t count) {
  const Floats d;
  with_activation(kind, [=](auto constant) {
    each_vector(count, [=](std::int64_t i, std::int64_t left) {
      const FloatVector slope =
          activation_derivative<decltype(constant)::value>(d, load_first(d, x + i, left));
      store_first(hn::Mul(load_first(d, dy + i, left), slope), d, dx + i, left);
    });
  });
}

// A Philox block contains the draws of eight consecutive columns. Each draw is a 16-bit half of one of its
// words.
template <bool kResidual>
void dropout_rows(const DropoutRows& problem) {
  const Floats d;
  const Words words;
  const hn::RebindToSigned<Words> integers;
  const hn::Rebind<std::uint16_t, Floats> halves;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const FloatVector factor = hn::Set(d, problem.draw.kept);
  const auto below = hn::Set(integers, static_cast<std::int32_t>(problem.draw.threshold) - 1);
  HWY_ALIGN std::uint32_t draws[4 * hn::MaxLanes(Words())];
  const auto* first_half = reinterpret_cast<const std::uint16_t*>(draws);
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const std::uint64_t sequence = problem.sequence_index[row];
    const float* x = problem.x + row * problem.columns;
    const float* residual = kResidual ? problem.residual + row * problem.columns : nullptr;
    float* y = problem.y + row * problem.columns;
    for (std::int64_t column = 0; column < problem.columns; column += 8 * lanes) {
      const PhiloxBlocks counter{{hn::Set(words, static_cast<std::uint32_t>(sequence)),
                                  hn::Set(words, static_cast<std::uint32_t>(sequence >> 32)),
                                  hn::Set(words, static_cast<std::uint32_t>(problem.position[row])),
                                  hn::Iota(words, static_cast<std::uint32_t>(column / 8))}};
      const PhiloxBlocks drawn = philox(counter, problem.draw.key0, problem.draw.key1);
      hn::StoreInterleaved4(drawn.word[0], drawn.word[1], drawn.word[2], drawn.word[3], words, draws);
      for (std::int64_t i = 0; i < 8 * lanes && column + i < problem.columns; i += lanes) {
        const std::int64_t left = problem.columns - column - i;
        const auto draw = hn::PromoteTo(integers, hn::LoadU(halves, first_half + i));
        const FloatVector value = hn::Mul(load_first(d, x + column + i, left), factor);
        FloatVector result = hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(draw, below)), value);
        if constexpr (kResidual) result = hn::Add(result, load_first(d, residual + column + i, left));
        store_first(result, d, y + column + i, left);
      }
    }
  }
}

void dropout(const DropoutRows& problem) {
  if (problem.residual != nullptr)
    dropout_rows<true>(problem);
  else
    dropout_rows<false>(problem);
}

struct Pair {
  FloatVector first, second;
};

HWY_INLINE Pair rotate(FloatVector first, FloatVector second, FloatVector cosine, FloatVector sine) {
  return {hn::MulSub(first, cosine, hn::Mul(second, sine)), hn::MulAdd(second, cosine, hn::Mul(first, sine))};
}

// Apply the rotary position embedding to one attention head. A partial last vector is padded with zeros,
// which are not stored.
HWY_INLINE void rotate_head(const RotaryRows& problem, float* x, const float* cosine, const float* sine) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t half = problem.rotary_dim / 2;
  HWY_ALIGN float pairs[2 * hn::MaxLanes(Floats())];
  each_vector(half, [&](std::int64_t i, std::int64_t left) {
    const FloatVector c = load_first(d, cosine + i, left);
    FloatVector s = load_first(d, sine + i, left);
    if (problem.inverse) s = hn::Neg(s);
    if (!problem.interleaved) {
      const Pair turned = rotate(load_first(d, x + i, left), load_first(d, x + half + i, left), c, s);
      store_first(turned.first, d, x + i, left);
      store_first(turned.second, d, x + half + i, left);
      return;
    }
    float* at = x + 2 * i;
    hn::Store(load_first(d, at, 2 * left), d, pairs);
    hn::Store(2 * left > lanes ? load_first(d, at + lanes, 2 * left - lanes) : hn::Zero(d), d, pairs + lanes);
    FloatVector even, odd;
    hn::LoadInterleaved2(d, pairs, even, odd);
    const Pair turned = rotate(even, odd, c, s);
    hn::StoreInterleaved2(turned.first, turned.second, d, pairs);
    store_first(hn::Load(d, pairs), d, at, 2 * left);
    if (2 * left > lanes) store_first(hn::Load(d, pairs + lanes), d, at + lanes, 2 * left - lanes);
  });
}

void rotary(const RotaryRows& problem) {
  const std::int64_t half = problem.rotary_dim / 2;
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    const std::int64_t table_row = static_cast<std::int64_t>(problem.position[row]) * half;
    float* x = problem.x + row * problem.stride;
    for (std::int64_t head = 0; head < problem.heads; ++head)
      rotate_head(problem, x + head * problem.head_dim, problem.cosine + table_row, problem.sine + table_row);
  }
}

void gather_rows(const float* dy, const std::uint64_t* sorted, std::int64_t count, std::int64_t columns,
                 float factor, float* sum) {
  const Floats d;
  each_vector(columns, [=](std::int64_t i, std::int64_t left) {
    FloatVector total = load_first(d, sum + i, left);
    for (std::int64_t which = 0; which < count; ++which) {
      const auto row = static_cast<std::int64_t>(sorted[which] & 0xFFFFFFFFu);
      total = hn::MulAdd(hn::Set(d, factor), load_first(d, dy + row * columns + i, left), total);
    }
    store_first(total, d, sum + i, left);
  });
}

void adamw(const AdamW& step, float* weight, const float* gradient, float* first, float* second,
           std::int64_t count) {
  adam_step<true>(step, weight, gradient, first, second, count);
}

double sum_of_squares(const float* x, std::int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  hn::Vec<decltype(wide)> part[4];
  for (auto& one : part) one = hn::Zero(wide);
  for (std::int64_t i = 0; i < count; i += 4 * lanes)
    for (std::int64_t which = 0; which < 4 && i + which * lanes < count; ++which) {
      const std::int64_t at = i + which * lanes;
      const auto value = hn::PromoteTo(wide, load_first(narrow, x + at, count - at));
      part[which] = hn::MulAdd(value, value, part[which]);
    }
  return hn::GetLane(hn::SumOfLanes(wide, hn::Add(hn::Add(part[0], part[1]), hn::Add(part[2], part[3]))));
}

}  // namespace

extern const ElementwiseTable elementwise_table;
constinit const ElementwiseTable elementwise_table{
    add,     multiply, multiply_add, scale, axpy,          activate, activate_backward,
    dropout, rotary,   gather_rows,  adamw, sum_of_squares};

}  // namespace regard::kernels::REGARD_ISA
