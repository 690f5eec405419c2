#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "regard/error.h"
#include "regard/tensor.h"

namespace regard {

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    default:
      return 1;
  }
}

const char* name_of(DType dtype) noexcept {
  constexpr const char* kNames[] = {"f32", "f64", "f16", "bf16", "i8",   "u8",      "i16",    "u16",
                                    "i32", "u32", "i64", "u64",  "bool", "f8_e4m3", "f8_e5m2"};
  const auto at = static_cast<std::size_t>(dtype);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

float from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // a NaN remains a NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

float from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1Fu, fraction = bits & 0x3FFu;
  if (exponent == 0x1Fu) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;  // the value is subnormal
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  // the value rounds to infinity
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x38800000u) {  // the result is subnormal or zero
    const float scaled = std::bit_cast<float>(magnitude) * 0x1.0p24f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rebased = magnitude - (112u << 23);
  return static_cast<std::uint16_t>(sign | (rebased + 0xFFFu + (rebased >> 13 & 1u)) >> 13);
}

namespace {

float from_f8_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

// Return element i as the type Wide. double is exact for every dtype except i64 and u64; long double is exact
// for all.
template <class Wide>
Wide load(const void* data, DType dtype, std::int64_t i) {
  const auto at = [&]<class T>(T) { return static_cast<const T*>(data)[i]; };
  switch (dtype) {
    case DType::f32:
      return static_cast<Wide>(at(float{}));
    case DType::f64:
      return static_cast<Wide>(at(double{}));
    case DType::f16:
      return static_cast<Wide>(from_f16(at(std::uint16_t{})));
    case DType::bf16:
      return static_cast<Wide>(from_bf16(at(std::uint16_t{})));
    case DType::i8:
      return at(std::int8_t{});
    case DType::u8:
      return at(std::uint8_t{});
    case DType::i16:
      return at(std::int16_t{});
    case DType::u16:
      return at(std::uint16_t{});
    case DType::i32:
      return at(std::int32_t{});
    case DType::u32:
      return at(std::uint32_t{});
    case DType::i64:
      return static_cast<Wide>(at(std::int64_t{}));
    case DType::u64:
      return static_cast<Wide>(at(std::uint64_t{}));
    case DType::boolean:
      return at(std::uint8_t{}) != 0 ? 1 : 0;
    case DType::f8_e4m3:
      return static_cast<Wide>(from_f8_e4m3(at(std::uint8_t{})));
    // An f8_e5m2 has the layout of the upper byte of an f16.
    case DType::f8_e5m2:
      return static_cast<Wide>(
          from_f16(static_cast<std::uint16_t>(static_cast<unsigned>(at(std::uint8_t{})) << 8)));
  }
  return 0;
}

template <class T, class Wide>
T to_integer(Wide value, DType dtype) {
  const Wide whole = std::trunc(value), limit = std::ldexp(Wide{1}, std::numeric_limits<T>::digits);
  if (!(whole >= static_cast<Wide>(std::numeric_limits<T>::min()) && whole < limit))
    throw Error(ErrorKind::numeric, std::string("a number is out of range of the dtype ") + name_of(dtype))
        .found(std::to_string(value))
        .expected(std::to_string(std::numeric_limits<T>::min()) + " to " +
                  std::to_string(std::numeric_limits<T>::max()));
  return static_cast<T>(whole);
}

// Round `value` to f32 with rounding to odd. Rounding the result to 16 bits then equals rounding `value`
// directly (no double rounding).
template <class Wide>
float rounded_to_odd(Wide value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<Wide>(nearest) == value) return nearest;
  if ((std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) return nearest;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, static_cast<Wide>(nearest) < value ? kInfinity : -kInfinity);
}

template <class Wide>
void store(void* data, DType dtype, std::int64_t i, Wide value) {
  const auto put = [&]<class T>(T converted) { static_cast<T*>(data)[i] = converted; };
  switch (dtype) {
    case DType::f32:
      return put(static_cast<float>(value));
    case DType::f64:
      return put(static_cast<double>(value));
    case DType::f16:
      return put(to_f16(rounded_to_odd(value)));
    case DType::bf16:
      return put(to_bf16(rounded_to_odd(value)));
    case DType::i8:
      return put(to_integer<std::int8_t>(value, dtype));
    case DType::u8:
      return put(to_integer<std::uint8_t>(value, dtype));
    case DType::i16:
      return put(to_integer<std::int16_t>(value, dtype));
    case DType::u16:
      return put(to_integer<std::uint16_t>(value, dtype));
    case DType::i32:
      return put(to_integer<std::int32_t>(value, dtype));
    case DType::u32:
      return put(to_integer<std::uint32_t>(value, dtype));
    case DType::i64:
      return put(to_integer<std::int64_t>(value, dtype));
    case DType::u64:
      return put(to_integer<std::uint64_t>(value, dtype));
    case DType::boolean:
      return put(static_cast<std::uint8_t>(value != 0));
    default:
      throw usage_error("numbers cannot be converted to this dtype")
          .found(name_of(dtype))
          .expected("f32, f64, f16, bf16, boolean, or an integer type from i8 to u64");
  }
}

}  // namespace

Tensor Tensor::to(DType dtype) const {
  require_defined("cannot be converted");
  if (dtype == dtype_) return clone();
  Tensor converted = empty(shape_, dtype);
  const std::int64_t width = columns();
  if (contiguous() && dtype == DType::f32 && (dtype_ == DType::bf16 || dtype_ == DType::f16)) {
    const auto* from = static_cast<const std::uint16_t*>(data_);
    auto* to = static_cast<float*>(converted.data_);
    const auto widen = dtype_ == DType::bf16 ? from_bf16 : from_f16;
    for (std::int64_t i = 0; i < elements(); ++i) to[i] = widen(from[i]);
    return converted;
  }
  const auto convert = [&]<class Wide>(Wide) {
    for (std::int64_t i = 0; i < elements(); ++i)
      store(converted.data_, dtype, i, load<Wide>(data_, dtype_, i / width * row_stride_ + i % width));
  };
  if (dtype_ == DType::i64 || dtype_ == DType::u64)
    convert(static_cast<long double>(0));
  else
    convert(0.0);
  return converted;
}

double Tensor::at(std::initializer_list<std::int64_t> index) const {
  require_defined("has no elements");
  if (static_cast<int>(index.size()) != shape_.rank())
    throw usage_error("the number of indices differs from the number of dimensions")
        .found(std::to_string(index.size()) + " indices")
        .expected(std::to_string(shape_.rank()) + " indices for the shape " + shape_.text());
  std::int64_t row = 0, column = 0;
  int d = 0;
  for (std::int64_t i : index) {
    if (i < 0 || i >= shape_[d])
      throw usage_error("the index of dimension " + std::to_string(d) + " is out of range")
          .found(std::to_string(i))
          .expected("an index within the shape " + shape_.text());
    if (d + 1 == shape_.rank()) {
      column = i;
    } else {
      row = row * shape_[d] + i;
    }
    ++d;
  }
  return load<double>(data_, dtype_, row * row_stride_ + column);
}

}  // namespace regard
