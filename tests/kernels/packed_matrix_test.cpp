// Packed f16 and bf16 matrices: products are bit-identical to products with the widened f32 matrix. A matrix
// can be packed from several parts side by side.
#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/gemm.h"
#include "kernels/isa_fixture.h"
#include "regard/tensor.h"

namespace regard::kernels {
namespace {

using testing::EachIsa;

struct PackedMatrixTest : EachIsa {};

std::size_t weight_at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::vector<float> random_weights(std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("packed_matrix_test")});
  std::vector<float> values(weight_at(count));
  for (float& value : values) value = stream.next_uniform() - 0.5f;
  return values;
}

struct Halves {
  std::vector<std::uint16_t> bits;
  std::vector<float> wide;

  Halves(WeightType type, std::int64_t count, std::uint64_t seed) {
    for (const float value : random_weights(count, seed)) {
      bits.push_back(type == WeightType::bf16 ? to_bf16(value) : to_f16(value));
      wide.push_back(type == WeightType::bf16 ? from_bf16(bits.back()) : from_f16(bits.back()));
    }
  }
};

std::vector<float> product(ThreadPool& pool, const std::vector<float>& a, std::int64_t m,
                           const PackedMatrix& packed) {
  std::vector<float> c(weight_at(m * packed.n()));
  Gemm problem;
  problem.m = m, problem.n = packed.n(), problem.k = packed.k();
  problem.a = a.data(), problem.lda = packed.k();
  problem.packed = &packed;
  problem.c = c.data(), problem.ldc = packed.n();
  problem.epilogue.activation = Activation::gelu;
  gemm(pool, problem);
  return c;
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_P(PackedMatrixTest, HalvesMultiplyAsTheirWidenedMatrix) {
  ThreadPool pool(2);
  for (const WeightType type : {WeightType::f16, WeightType::bf16})
    for (const bool transposed : {true, false})
      for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                            {1, 50, 33},
                                                                            {3, 96, 64},
                                                                            {8, 100, 131},
                                                                            {16, 47, 20},
                                                                            {17, 49, 1030},
                                                                            {1, 150, 701},
                                                                            {2, 96, 512},
                                                                            {2, 39, 300},
                                                                            {210, 50, 1201},
                                                                            {90, 200, 77}}) {
        const Halves halves(type, n * k, 3);
        const std::vector<float> a = random_weights(m * k, 4);
        const std::int64_t stride = transposed ? k : n;
        const MatrixPart narrow{halves.bits.data(), n, stride}, wide{halves.wide.data(), n, stride};
        const PackedMatrix packed = pack(pool, {type, k, transposed, {&narrow, 1}});
        const PackedMatrix plain = pack(pool, {WeightType::f32, k, transposed, {&wide, 1}});
        EXPECT_TRUE(equal_bits(product(pool, a, m, packed), product(pool, a, m, plain)))
            << m << "x" << n << "x" << k << (transposed ? " transposed" : "")
            << (type == WeightType::f16 ? " f16" : " bf16");
      }
}

TEST_P(PackedMatrixTest, PartsLieSideBySide) {
  ThreadPool pool(1);
  const std::int64_t k = 37;
  const std::vector<float> whole = random_weights(130 * k, 5);
  const MatrixPart one{whole.data(), 130, k};
  const std::array<MatrixPart, 3> parts{
      {{whole.data(), 50, k}, {whole.data() + 50 * k, 7, k}, {whole.data() + 57 * k, 73, k}}};
  const std::vector<float> a = random_weights(2 * k, 6);
  EXPECT_TRUE(equal_bits(product(pool, a, 2, pack(pool, {WeightType::f32, k, true, {&one, 1}})),
                         product(pool, a, 2, pack(pool, {WeightType::f32, k, true, parts}))));
}

TEST_P(PackedMatrixTest, ColumnsComeBack) {
  ThreadPool pool(2);
  const std::int64_t n = 117, k = 45;
  const std::vector<std::int32_t> ids{116, 0, 48, 15, 16, 96, 3};
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    const Halves halves(type, n * k, 7);
    const bool full = type == WeightType::f32;
    const MatrixPart part{full ? static_cast<const void*>(halves.wide.data()) : halves.bits.data(), n, k};
    const PackedMatrix packed = pack(pool, {type, k, true, {&part, 1}});
    std::vector<float> y(ids.size() * weight_at(k));
    unpack_columns(pool, packed, ids.data(), std::ssize(ids), 3.0f, y.data());
    for (std::size_t row = 0; row < ids.size(); ++row)
      for (std::int64_t i = 0; i < k; ++i)
        EXPECT_EQ(y[row * weight_at(k) + weight_at(i)], 3.0f * halves.wide[weight_at(ids[row] * k + i)]);
  }
}

REGARD_EACH_ISA(PackedMatrixTest);

}  // namespace
}  // namespace regard::kernels
