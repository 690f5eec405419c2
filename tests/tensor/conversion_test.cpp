// Conversions between all dtypes: the limits of each integer dtype, and NaN and infinities in 16 bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "regard/error.h"
#include "regard/tensor.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

const std::vector<DType> kIntegers{DType::i8,  DType::u8,  DType::i16, DType::u16,
                                   DType::i32, DType::u32, DType::i64, DType::u64};

Tensor of_doubles(std::initializer_list<double> values) {
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(values.size())}, DType::f64);
  std::copy(values.begin(), values.end(), tensor.f64());
  return tensor;
}

bool is_signed(DType dtype) {
  return std::string(name_of(dtype))[0] == 'i';
}

double largest(DType dtype) {
  return std::exp2(8.0 * static_cast<double>(size_of(dtype)) - (is_signed(dtype) ? 1 : 0));
}

TEST(Conversion, IntegersHoldTheirWholeRangeAndNoMore) {
  for (const DType dtype : kIntegers) {
    const double limit = largest(dtype), least = is_signed(dtype) ? -limit : 0.0;
    const double below = size_of(dtype) < 8 ? limit - 1 : std::nextafter(limit, 0.0);
    const double outside = size_of(dtype) < 8 ? least - 1 : std::nextafter(least - 1, -limit * 4);
    const Tensor kept = of_doubles({least, below, 3.9, size_of(dtype) < 8 ? below + 0.5 : below}).to(dtype);
    EXPECT_EQ(kept.dtype(), dtype);
    for (const auto& [i, value] : {std::pair(0, least), {1, below}, {2, 3.0}, {3, below}})
      EXPECT_EQ(kept.at({i}), value) << name_of(dtype);
    for (const double wrong : {limit, outside, std::nan("")})
      EXPECT_REGARD_ERROR(of_doubles({wrong}).to(dtype), ErrorKind::numeric,
                          std::string("a number is out of range of the dtype ") + name_of(dtype));
  }
  EXPECT_REGARD_ERROR(Tensor::of({300}).to(DType::u8), ErrorKind::numeric,
                      "dtype u8 (expected 0 to 255, found 300.000000)");
}

// Every integer dtype is converted to every other one and to bool, f64 and f32.
TEST(Conversion, EveryPairOfDTypesKeepsSmallNumbers) {
  std::vector<DType> all = kIntegers;
  all.insert(all.end(), {DType::f32, DType::f64, DType::f16, DType::bf16});
  for (const DType from : all)
    for (const DType to : all) {
      const Tensor converted = Tensor::of({0, 1, 2, 100}).to(from).to(to);
      for (const auto& [i, value] : {std::pair(0, 0.0), {1, 1.0}, {2, 2.0}, {3, 100.0}})
        EXPECT_EQ(converted.at({i}), value) << name_of(from) << " to " << name_of(to);
      const Tensor truth = Tensor::of({0, 1, 2, 100}).to(from).to(DType::boolean);
      for (const auto& [i, value] : {std::pair(0, 0.0), {1, 1.0}, {2, 1.0}, {3, 1.0}})
        EXPECT_EQ(truth.to(to).at({i}), value) << name_of(from);
    }
}

TEST(Conversion, SixteenBitsKeepNaNAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto quiet = std::bit_cast<float>(0x7FC12345u), minus = std::bit_cast<float>(0xFF800001u);
  for (const float value : {quiet, minus}) {
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(value))));
    EXPECT_TRUE(std::isnan(from_f16(to_f16(value))));
    EXPECT_EQ(std::signbit(from_bf16(to_bf16(value))), std::signbit(value));
    EXPECT_EQ(std::signbit(from_f16(to_f16(value))), std::signbit(value));
  }
  EXPECT_EQ(to_bf16(quiet), 0x7FC1);
  EXPECT_EQ(to_bf16(minus), 0xFFC0) << "the upper bits alone would be an infinity";
  EXPECT_EQ(from_bf16(to_bf16(kInfinity)), kInfinity);
  EXPECT_EQ(from_f16(to_f16(-kInfinity)), -kInfinity);
  EXPECT_EQ(from_f16(to_f16(65519.0f)), 65504.0f) << "the largest f16";
  EXPECT_EQ(from_f16(to_f16(65520.0f)), kInfinity);
  EXPECT_EQ(from_f16(to_f16(0x1p-24f)), 0x1p-24f) << "the smallest f16";
  EXPECT_EQ(from_f16(to_f16(0x1p-25f)), 0.0f) << "to even";
}

TEST(Conversion, RefusesEightBitFloatsAsTheResult) {
  EXPECT_REGARD_ERROR(
      Tensor::of({1}).to(DType::f8_e4m3), ErrorKind::usage,
      "numbers cannot be converted to this dtype (expected f32, f64, f16, bf16, boolean, or an "
      "integer type from i8 to u64, found f8_e4m3)");
  EXPECT_REGARD_ERROR(Tensor().to(DType::f64), ErrorKind::usage, "which cannot be converted");
  EXPECT_REGARD_ERROR((void)Tensor().at({0}), ErrorKind::usage, "which has no elements");
  EXPECT_REGARD_ERROR((void)Tensor().clone(), ErrorKind::usage, "which cannot be copied");
}

TEST(Conversion, StridedTensorsAreConvertedRowByRow) {
  const Tensor part = Tensor::of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}).slice_columns(1, 3);
  for (const DType to : {DType::f64, DType::f16, DType::bf16, DType::i32}) {
    const Tensor converted = part.to(to);
    EXPECT_TRUE(converted.contiguous());
    EXPECT_EQ(converted.at({1, 0}), 5) << name_of(to);
    const Tensor wide =
        Tensor::of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}).to(to).slice_columns(1, 3).to(DType::f32);
    EXPECT_EQ(wide.at({1, 1}), 6) << name_of(to);
  }
}

TEST(DType, NamesAndSizes) {
  const std::vector<std::pair<std::string, std::size_t>> all{
      {"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}, {"i8", 1},   {"u8", 1},      {"i16", 2},    {"u16", 2},
      {"i32", 4}, {"u32", 4}, {"i64", 8}, {"u64", 8},  {"bool", 1}, {"f8_e4m3", 1}, {"f8_e5m2", 1}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(name_of(static_cast<DType>(i)), all[i].first);
    EXPECT_EQ(size_of(static_cast<DType>(i)), all[i].second) << all[i].first;
  }
  EXPECT_STREQ(name_of(static_cast<DType>(all.size())), "unknown");
}

}  // namespace
}  // namespace regard::testing
