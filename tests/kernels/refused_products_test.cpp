// Products that no kernel computes are refused with the sizes, and paths that the processor lacks are refused
// with the paths that it has.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "base/poison.h"
#include "bf16_fixture.h"
#include "kernels/bf16.h"
#include "kernels/call_scratch.h"
#include "kernels/gemm.h"
#include "kernels/int8.h"
#include "kernels/packed_matrix.h"
#include "kernels/peak.h"
#include "kernels/rows.h"
#include "regard/error.h"
#include "support/throws.h"

namespace regard::kernels {
namespace {

class RefusedProducts : public testing::EachBf16Path {
 protected:
  // Return a product of 4 rows with a packed matrix of 40 rows and 200 columns.
  Gemm product(const PackedMatrix& packed) {
    Gemm problem;
    problem.m = 4, problem.n = 200, problem.k = 40;
    problem.a = a_.data(), problem.lda = 50;
    problem.c = c_.data(), problem.ldc = 300;
    problem.packed = &packed;
    return problem;
  }
  PackedMatrix packed(WeightType type) {
    const MatrixPart part{bytes_.data(), 200, 40, scale_.data()};
    return pack(pool_, {type, 40, true, {&part, 1}});
  }
  void expect_refused(const PackedMatrix& packed, const std::function<void(Gemm&)>& change, int rows,
                      int columns) {
    Gemm problem = product(packed);
    change(problem);
    testing::expect_error_text(
        ErrorKind::internal,
        "the packed matrix does not fit the product (expected " + std::to_string(rows) + " rows, at least " +
            std::to_string(columns) +
            " columns, in whole panels of the active instruction set, found 40 rows, 200 columns)",
        [&] { gemm(pool_, problem); });
  }

  ThreadPool pool_{2};
  std::vector<float> a_ = std::vector<float>(50 * 50, 1.0f), c_ = std::vector<float>(4 * 300),
                     scale_ = std::vector<float>(200, 1.0f);
  std::vector<std::uint32_t> bytes_ = std::vector<std::uint32_t>(200 * 40);
};

TEST_P(RefusedProducts, OfPackedMatrices) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::i8}) {
    const PackedMatrix matrix = packed(type);
    gemm(pool_, product(matrix));
    expect_refused(
        matrix, [](Gemm& g) { g.k = 39; }, 39, 200);
    expect_refused(
        matrix, [](Gemm& g) { g.n = 201; }, 40, 201);
    expect_refused(
        matrix, [](Gemm& g) { g.n = 1; }, 40, 1);
    expect_refused(
        matrix, [](Gemm& g) { g.packed_column = 1, g.n = 199; }, 40, 200);
    expect_refused(
        matrix, [](Gemm& g) { g.packed_column = -192, g.n = 192; }, 40, 0);
    if (type != WeightType::f32)
      expect_refused(
          matrix, [](Gemm& g) { g.transpose_a = true; }, 40, 200);
    if (type == WeightType::i8)
      expect_refused(
          matrix, [](Gemm& g) { g.accumulate = true; }, 40, 200);
    for (const Isa other : available()) {
      if (other == GetParam()) continue;
      set_active(other);
      expect_refused(
          matrix, [](Gemm&) {}, 40, 200);
      set_active(GetParam());
    }
  }
}

// The last panels of a matrix may be multiplied alone.
TEST_P(RefusedProducts, ButNotOfWholePanels) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::i8}) {
    const PackedMatrix matrix = packed(type);
    for (const auto& [column, columns] : {std::pair{0, 96}, {96, 96}, {96, 104}, {192, 8}}) {
      Gemm problem = product(matrix);
      problem.packed_column = column, problem.n = columns;
      EXPECT_NO_THROW(gemm(pool_, problem)) << column;
    }
  }
}

TEST_P(RefusedProducts, OfPackedParts) {
  const std::vector<MatrixPart> parts(3, MatrixPart{bytes_.data(), 5, 40});
  testing::expect_error_text(
      ErrorKind::internal,
      "weights with one column per output cannot be packed together (expected 1 weight, or weights with one "
      "row per output, found 3 weights)",
      [&] {
        pack(pool_, {WeightType::f32, 7, false, parts});
      });
  testing::expect_error_text(ErrorKind::usage,
                             "an int8 matrix has too many rows (expected at most " +
                                 std::to_string(kLongestInt8Sum) + ", found " +
                                 std::to_string(kLongestInt8Sum + 1) + ")",
                             [&] {
                               pack(pool_, {WeightType::i8, kLongestInt8Sum + 1, true, {parts.data(), 1}});
                             });
}

TEST_P(RefusedProducts, OfPathsThatTheProcessorLacks) {
  std::string isas, paths;
  for (const Isa isa : available()) isas += (isas.empty() ? "" : ", ") + std::string(name_of(isa));
  for (const Int8Path path : available_int8_paths())
    paths += (paths.empty() ? "" : ", ") + std::string(name_of(path));
#if defined(__x86_64__)
  testing::expect_error_text(
      ErrorKind::usage,
      "the instruction set is not available on this processor (expected " + isas + ", found neon)",
      [] { set_active(Isa::neon); });
  const bool wide = GetParam() == Isa::avx512;
  testing::expect_error_text(ErrorKind::usage,
                             "the int8 path is not available on this processor (expected " + paths +
                                 ", found " + (wide ? "avx2" : "avx512") + ")",
                             [&] { set_int8_path(wide ? Int8Path::avx2 : Int8Path::avx512); });
  EXPECT_TRUE(paths.starts_with(wide ? "portable, avx512" : "portable, avx2")) << paths;
#endif
  for (const Int8Path path : available_int8_paths()) {
    set_int8_path(path);
    EXPECT_EQ(active_int8_path(), path);
  }
  std::string known;
  for (const Bf16Path path : bf16_paths()) known += std::string(name_of(path)) + ", ";
  if (!bf16_paths().empty()) return;
  testing::expect_error_text(
      ErrorKind::usage,
      "the bf16 path is not available on this processor (expected " + known + "emulated, found amx_bf16)",
      [] { set_bf16_path(Bf16Path::amx_bf16); });
}

TEST_P(RefusedProducts, OfBf16Storage) {
  set_bf16_path(Bf16Path::emulated);
  std::vector<std::uint16_t> halves(64), other(64);
  const std::uint64_t sequence[4] = {};
  const std::int32_t position[4] = {};
  Dropout dropout;
  dropout.sequence_index = sequence, dropout.position = position, dropout.rows = dropout.columns = 4;
  const auto multiply = [&](const Bf16Storage& stored, const std::function<void(Gemm&)>& change) {
    Gemm problem;
    problem.m = problem.n = problem.k = 4;
    problem.a = problem.b = a_.data(), problem.lda = problem.ldb = 4;
    problem.c = c_.data(), problem.ldc = 4;
    change(problem);
    gemm_bf16(pool_, problem, nullptr, stored);
  };
  const auto expect_wrong = [&](
                                const char* why, const Bf16Storage& stored,
                                const std::function<void(Gemm&)>& change = [](Gemm&) {}) {
    testing::expect_error_text(ErrorKind::internal,
                               std::string("invalid arguments of a product with bf16 storage: ") + why,
                               [&] { multiply(stored, change); });
  };
  multiply({.c = halves.data(), .pre = other.data(), .dropout = &dropout}, [](Gemm&) {});
  const auto empty = [](Gemm& g) { g.k = 0; };
  expect_wrong("k must be at least 1", {.a = halves.data()}, empty);
  expect_wrong("k must be at least 1", {.b = halves.data()}, empty);
  expect_wrong("k must be at least 1", {.c = halves.data()}, empty);
  multiply({}, empty);
  const char* const sums = "C in bf16 cannot be combined with accumulation or a residual";
  expect_wrong(sums, {.c = halves.data()}, [](Gemm& g) { g.accumulate = true; });
  expect_wrong(sums, {.c = halves.data()}, [&](Gemm& g) { g.epilogue.residual = a_.data(); });
  expect_wrong("pre and dropout require C in bf16", {.pre = other.data()});
  expect_wrong("pre and dropout require C in bf16", {.dropout = &dropout});
  const char* const activated = "activated requires pre and cannot be combined with a bias";
  expect_wrong(activated, {.c = halves.data(), .activated = other.data()});
  expect_wrong(activated, {.c = halves.data(), .pre = halves.data(), .activated = other.data()},
               [&](Gemm& g) { g.epilogue.bias = a_.data(); });
}

TEST_P(RefusedProducts, OfMatricesPackedForBf16) {
  set_bf16_path(Bf16Path::emulated);
  alignas(64) static std::byte memory[1 << 17];
  Gemm problem;
  problem.m = 4, problem.n = 200, problem.k = 40;
  problem.a = a_.data(), problem.lda = 40;
  problem.b = reinterpret_cast<const float*>(bytes_.data()), problem.ldb = 200;
  problem.c = c_.data(), problem.ldc = 200;
  ASSERT_LE(bf16_packed_bytes(40, 200), std::ssize(memory));
  const Bf16Matrix matrix = pack_bf16(pool_, problem, memory);
  gemm_bf16(pool_, problem, &matrix);
  const PackedMatrix packed_f32 = packed(WeightType::f32);
  const auto refused = [&](const std::function<void(Gemm&)>& change, int rows, int columns) {
    Gemm wrong = problem;
    change(wrong);
    testing::expect_error_text(ErrorKind::internal,
                               "the packed matrix does not fit the product (expected a bf16 matrix of " +
                                   std::to_string(rows) + " rows and at least " + std::to_string(columns) +
                                   " columns)",
                               [&] { gemm_bf16(pool_, wrong, &matrix); });
  };
  refused([](Gemm& g) { g.k = 39; }, 39, 200);
  refused([](Gemm& g) { g.packed_column = 1, g.n = 100; }, 40, 101);
  refused([](Gemm& g) { g.packed_column = 96; }, 40, 296);
  refused([&](Gemm& g) { g.packed = &packed_f32; }, 40, 200);
}

TEST_P(RefusedProducts, PeakLoopsCountTheirOperations) {
  // 12 chains of multiply-adds on full vectors of 4 (NEON), 8 (AVX2) or 16 (AVX-512) lanes
  const std::int64_t lanes = GetParam() == Isa::neon ? 4 : GetParam() == Isa::avx2 ? 8 : 16;
  EXPECT_EQ(multiply_add_in_registers(0), 0);
  EXPECT_EQ(multiply_add_in_registers(5), 5 * 12 * lanes * 2);
  std::vector<float> numbers(2048);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  EXPECT_EQ(sum_of(numbers.data(), 0), 0.0f);
  EXPECT_EQ(sum_of(numbers.data(), 1024), 1024 * 1025 / 2);
  EXPECT_EQ(sum_of(numbers.data(), 2048), 2048 * 2049 / 2);
}

TEST(CallScratch, IsAlignedAndGrows) {
  std::byte* const first = call_scratch(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(call_scratch(500), first);
  EXPECT_FALSE(base::is_poisoned(first + 499));
  EXPECT_EQ(base::is_poisoned(first + 500), base::kPoisons);
  EXPECT_EQ(call_scratch(1500), first) << "half of the size is reserved for later calls";
  std::byte* const second = call_scratch(100000);
  std::fill_n(second, 100000, std::byte{1});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % 64, 0u);
  EXPECT_EQ(call_scratch(1), second);
}

REGARD_EACH_ISA(RefusedProducts);

}  // namespace
}  // namespace regard::kernels
