// int8 products for one instruction set: quantisation of rows, the multiplication paths, and the conversion
// of sums to C.
#include "kernels/int8_table.h"
#include "kernels/simd/gemm_finish.h"
#include "kernels/simd/int8_amx.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>
#include <limits>
#include <utility>

namespace regard::kernels::REGARD_ISA {
namespace {

using Words = hn::ScalableTag<std::int32_t>;
using Bytes = hn::Rebind<std::int8_t, Words>;

// If `half` is below this number, to_bytes() stores zeros, because 127 / half could be infinite.
constexpr float kNothing = 1e-30f;
constexpr std::int64_t kPanelVectors = kTileVectors;

struct Extent {
  float least, most;
  bool finite;
};

Extent extent_of(const float* x, std::int64_t columns) {
  const Floats d;
  const auto zero = hn::Zero(d);
  // Use two accumulators for the minimum and two for the maximum, because the latency of a single dependency
  // chain would limit the speed.
  FloatVector least[2] = {hn::Inf(d), hn::Inf(d)}, most[2] = {hn::Neg(least[0]), hn::Neg(least[0])};
  FloatVector odd[2] = {zero, zero};  // sums of 0 · value, which become NaN if a value is not finite
  const auto take = [&](FloatVector value, int chain) HWY_ATTR __attribute__((always_inline)) {
    least[chain] = hn::Min(least[chain], value), most[chain] = hn::Max(most[chain], value);
    odd[chain] = hn::MulAdd(value, zero, odd[chain]);
  };
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= columns; i += 2 * kLanes) {
    take(hn::LoadU(d, x + i), 0);
    take(hn::LoadU(d, x + i + kLanes), 1);
  }
  for (; i < columns; i += kLanes)  // lanes beyond the end of the row hold copies of x[0]
    take(hn::IfThenElse(first_lanes(d, columns - i), load_first(d, x + i, columns - i), hn::Set(d, x[0])), 0);
  return {hn::GetLane(hn::MinOfLanes(d, hn::Min(least[0], least[1]))),
          hn::GetLane(hn::MaxOfLanes(d, hn::Max(most[0], most[1]))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(odd[0], odd[1]))) == 0.0f};
}

// A row x [columns] and its quantised bytes q, zero-padded to `padded` bytes. Every byte is XORed with
// `flip`.
struct BytesOfRow {
  const float* x;
  std::int64_t columns, padded;
  std::uint8_t flip;
  std::int8_t* q;
};

// Quantise the row to row.q: the range [middle − half, middle + half] maps to [−127, 127], rounded to
// nearest. Return the step: half / 127, or 0 if `half` is below kNothing, or NaN if a value of the row is not
// finite.
float to_bytes(const BytesOfRow& row, float middle, float half, bool finite) {
  if (!finite || row.columns <= 0 || half < kNothing) {
    std::memset(row.q, row.flip, static_cast<std::size_t>(row.padded));
    return finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  const Floats d;
  const Bytes bytes;
  const auto centre = hn::Set(d, middle), factor = hn::Set(d, 127.0f / half);
  const auto flips = hn::Set(bytes, static_cast<std::int8_t>(row.flip));
  const auto of = [&](FloatVector x) HWY_ATTR {
    return hn::Xor(hn::DemoteTo(bytes, hn::NearestInt(hn::Mul(hn::Sub(x, centre), factor))), flips);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= row.columns; i += kLanes) hn::StoreU(of(hn::LoadU(d, row.x + i)), bytes, row.q + i);
  if (i < row.columns) {
    std::int8_t last[kLanes];
    hn::StoreU(of(load_first(d, row.x + i, row.columns - i)), bytes, last);
    std::memcpy(row.q + i, last, static_cast<std::size_t>(row.columns - i));
  }
  std::memset(row.q + row.columns, row.flip, static_cast<std::size_t>(row.padded - row.columns));
  return half / 127.0f;
}

float quantise(const float* x, std::int64_t columns, std::int8_t* q) {
  const auto [least, most, finite] = extent_of(x, columns);
  return to_bytes({x, columns, columns, 0, q}, 0.0f, most > -least ? most : -least, finite);
}

RowScale quantise_centred(const float* x, std::int64_t columns, std::int64_t padded, std::uint8_t flip,
                          std::int8_t* q) {
  const auto [least, most, finite] = extent_of(x, columns);
  // `middle` is rounded, so the distances to the two ends may differ. Use the larger one, so that no byte
  // exceeds ±127.
  const float middle = finite && columns > 0 ? 0.5f * least + 0.5f * most : 0.0f;
  const float above = most - middle, below = middle - least;
  return {to_bytes({x, columns, padded, flip, q}, middle, above > below ? above : below, finite), middle};
}

void dequantise(const std::int8_t* q, std::int64_t columns, float factor, float* y) {
  const Floats d;
  const Words words;
  const Bytes bytes;
  for (std::int64_t i = 0; i < columns; i += kLanes) {
    const std::int64_t left = columns - i < kLanes ? columns - i : kLanes;
    std::int8_t part[kLanes] = {};
    std::memcpy(part, q + i, static_cast<std::size_t>(left));
    const auto wide = hn::ConvertTo(d, hn::PromoteTo(words, hn::LoadU(bytes, part)));
    store_first(hn::Mul(wide, hn::Set(d, factor)), d, y + i, left);
  }
}

// Compute C for kVectors vectors of columns, starting at column `first`: column scale · (float(sum) · row
// step + row middle · column sum) + bias, then activation and residual. The outer loop is over rows, so that
// each row is written contiguously.
template <Activation kActivation, int kVectors>
void finish_columns(const Int8Finish& block, std::int64_t first) {
  const Floats d;
  const Words words;
  const Epilogue& epilogue = *block.epilogue;
  FloatVector scale[kVectors], whole[kVectors], bias[kVectors];
  hn::Vec<Words> offset[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t column = first + v * kLanes, left = block.columns - column;
    scale[v] = load_first(d, block.column_scale + column, left);
    const auto sums = load_first(words, block.column_sums + column, left);
    offset[v] = block.flipped ? hn::ShiftLeft<7>(sums) : hn::Zero(words);
    whole[v] = hn::ConvertTo(d, sums);
    bias[v] =
        epilogue.bias == nullptr ? hn::Zero(d) : load_first(d, epilogue.bias + block.column + column, left);
  }
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const auto step = hn::Set(d, block.row_scale[row].step);
    const auto middle = hn::Set(d, block.row_scale[row].middle);
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t column = first + v * kLanes, left = block.columns - column;
      const auto sum = hn::Sub(hn::LoadU(words, block.sums + row * block.width + column), offset[v]);
      const auto inner = hn::MulAdd(hn::ConvertTo(d, sum), step, hn::Mul(middle, whole[v]));
      auto y = hn::MulAdd(inner, scale[v], bias[v]);
      if (epilogue.pre != nullptr)
        store_first(y, d, epilogue.pre + (block.row + row) * block.ldc + block.column + column, left);
      y = activation<kActivation>(d, y);
      if (epilogue.residual != nullptr)
        y = hn::Add(y, load_first(d,
                                  epilogue.residual + (block.row + row) * epilogue.residual_stride +
                                      block.column + column,
                                  left));
      store_first(y, d, block.c + row * block.ldc + column, left);
    }
  }
}

void finish(const Int8Finish& block) {
  with_activation(block.epilogue->activation, [&](auto constant) {
    constexpr Activation kActivation = decltype(constant)::value;
    const std::int64_t vectors = (block.columns + kLanes - 1) / kLanes;
    std::int64_t v = 0;
    for (; v + kPanelVectors <= vectors; v += kPanelVectors)
      finish_columns<kActivation, kPanelVectors>(block, v * kLanes);
    for (; v < vectors; ++v) finish_columns<kActivation, 1>(block, v * kLanes);
  });
}

// Scalar code for any processor.
void multiply_portable(const Int8Block& block) {
  const std::int64_t width = block.vectors * kLanes;
  for (std::int64_t row = 0; row < block.rows; ++row) {
    std::int32_t* sums = block.sums + row * width;
    std::memset(sums, 0, static_cast<std::size_t>(width) * sizeof(std::int32_t));
    for (std::int64_t group = 0; group < block.groups; ++group) {
      const std::int8_t* a = block.a + row * block.a_stride + group * 4;
      const std::int8_t* b = block.b + group * width * 4;
      for (std::int64_t column = 0; column < width; ++column)
        for (int byte = 0; byte < 4; ++byte) sums[column] += a[byte] * b[column * 4 + byte];
    }
  }
}

#if defined(__x86_64__)
std::int32_t four_bytes(const std::int8_t* bytes) {
  std::int32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
#endif

}  // namespace

#if defined(__x86_64__)
#if HWY_TARGET <= HWY_AVX3
namespace signs {
namespace {
constexpr int kTileRows = 6, kTileVectors = kPanelVectors;
using Vector = __m512i;
struct Weights {
  Vector magnitude;
  __mmask64 negative;
};
Vector zero() {
  return _mm512_setzero_si512();
}
Weights load(const std::int8_t* bytes) {
  const Vector w = _mm512_loadu_si512(bytes);
  return {_mm512_abs_epi8(w), _mm512_movepi8_mask(w)};
}
Vector broadcast(const std::int8_t* bytes) {
  return _mm512_set1_epi32(four_bytes(bytes));
}
// Return sum + a · w, computed as |w| · (sign(w) a), because the instruction multiplies unsigned by signed
// bytes. The sum of two products of at most 127² each fits into 16 bits.
Vector dot(Vector sum, Vector a, Weights w) {
  const Vector factor = _mm512_mask_sub_epi8(a, w.negative, _mm512_setzero_si512(), a);
  const Vector pairs = _mm512_maddubs_epi16(w.magnitude, factor);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
void store(Vector sum, std::int32_t* to) {
  _mm512_storeu_si512(to, sum);
}
#include "kernels/simd/int8_tile.h"
}  // namespace
}  // namespace signs

HWY_PUSH_ATTRIBUTES("avx512vnni")
namespace dots {
namespace {
constexpr int kTileRows = 8, kTileVectors = kPanelVectors;
using Vector = __m512i;
using Weights = __m512i;
Vector zero() {
  return _mm512_setzero_si512();
}
Weights load(const std::int8_t* bytes) {
  return _mm512_loadu_si512(bytes);
}
Vector broadcast(const std::int8_t* bytes) {
  return _mm512_set1_epi32(four_bytes(bytes));
}
Vector dot(Vector sum, Vector a, Weights w) {
  return _mm512_dpbusd_epi32(sum, a, w);
}
void store(Vector sum, std::int32_t* to) {
  _mm512_storeu_si512(to, sum);
}
#include "kernels/simd/int8_tile.h"
}  // namespace
}  // namespace dots
HWY_POP_ATTRIBUTES

#else
namespace signs {
namespace {
constexpr int kTileRows = 4, kTileVectors = kPanelVectors;
using Vector = __m256i;
struct Weights {
  Vector magnitude, value;
};
Vector zero() {
  return _mm256_setzero_si256();
}
Weights load(const std::int8_t* bytes) {
  const Vector w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  return {_mm256_abs_epi8(w), w};
}
Vector broadcast(const std::int8_t* bytes) {
  return _mm256_set1_epi32(four_bytes(bytes));
}
// Return sum + a · w, computed as |w| · (sign(w) a), because the instruction multiplies unsigned by signed
// bytes. The sum of two products of at most 127² each fits into 16 bits.
Vector dot(Vector sum, Vector a, Weights w) {
  const Vector pairs = _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(a, w.value));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
void store(Vector sum, std::int32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
}
#include "kernels/simd/int8_tile.h"
}  // namespace
}  // namespace signs

HWY_PUSH_ATTRIBUTES("avxvnni")
namespace dots {
namespace {
constexpr int kTileRows = 6, kTileVectors = kPanelVectors;
using Vector = __m256i;
using Weights = __m256i;
Vector zero() {
  return _mm256_setzero_si256();
}
Weights load(const std::int8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}
Vector broadcast(const std::int8_t* bytes) {
  return _mm256_set1_epi32(four_bytes(bytes));
}
Vector dot(Vector sum, Vector a, Weights w) {
  return _mm256_dpbusd_avx_epi32(sum, a, w);
}
void store(Vector sum, std::int32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
}
#include "kernels/simd/int8_tile.h"
}  // namespace
}  // namespace dots
HWY_POP_ATTRIBUTES
#endif
#endif

extern const Int8Table int8_table;
constinit const Int8Table int8_table = [] {
  Int8Table t{kLanes, kPanelVectors * kLanes, quantise, quantise_centred, dequantise, finish, {}};
  const auto set = [&t](Int8Path path, Int8Table::Multiply multiply) {
    t.multiply[static_cast<int>(path)] = multiply;
  };
  set(Int8Path::portable, multiply_portable);
#if defined(__x86_64__) && HWY_TARGET <= HWY_AVX3
  set(Int8Path::avx512, signs::multiply);
  set(Int8Path::avx512_vnni, dots::multiply);
  set(Int8Path::amx, amx::multiply);
#elif defined(__x86_64__)
  set(Int8Path::avx2, signs::multiply);
  set(Int8Path::avx_vnni, dots::multiply);
#endif
  return t;
}();

}  // namespace regard::kernels::REGARD_ISA
