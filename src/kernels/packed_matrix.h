// The right operand B of a matrix product, packed once for the kernels of the active instruction set and used
// many times. Its elements are f32 or of a smaller type (WeightType).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/precision.h"
#include "regard/error.h"

namespace regard::kernels {

// Element type of a packed weight. f16 and bf16 are widened exactly, so a product is bit-identical to the
// product with the widened matrix. An i8 weight is q · scale[column] with |q| ≤ 127; int8.h describes its
// products.
enum class WeightType : std::uint8_t { f32, f16, bf16, i8 };

constexpr std::size_t bytes_of(WeightType type) {
  return type == WeightType::f32 ? 4 : type == WeightType::i8 ? 1 : 2;
}

// Largest k for which a sum of k products of bytes fits into 32 bits.
constexpr std::int64_t kLongestInt8Sum = 65536;

// A range of columns of B.
struct MatrixPart {
  const void* data = nullptr;  // [k, columns] with row stride `stride`; [columns, k] if transposed
  std::int64_t columns = 0;
  std::int64_t stride = 0;       // distance in elements between rows (between columns if transposed)
  const float* scale = nullptr;  // [columns], for i8 only
};

// The matrix to pack: the columns of all parts, concatenated. If there is more than one part, all parts must
// be transposed.
struct MatrixSource {
  WeightType type = WeightType::f32;
  std::int64_t k = 0;
  bool transposed = false;
  std::span<const MatrixPart> parts;
  // bf16 selects the layout for the products of bf16.h; it requires WeightType::bf16
  Precision precision = Precision::f32;
};

class PackedMatrix {
 public:
  PackedMatrix() = default;
  bool empty() const noexcept { return data_ == nullptr; }
  WeightType type() const noexcept { return type_; }
  Precision precision() const noexcept { return precision_; }  // precision of products with this matrix
  std::int64_t k() const noexcept { return k_; }
  std::int64_t n() const noexcept { return n_; }
  Isa isa() const noexcept { return isa_; }
  // Panels of columns, stored consecutively. Only the kernels may depend on this layout.
  const std::byte* data() const noexcept { return data_.get(); }
  std::byte* data() noexcept { return data_.get(); }
  const float* f32() const noexcept { return reinterpret_cast<const float*>(data_.get()); }
  const float* scale() const noexcept { return scale_; }  // [n], for i8 only
  float* scale() noexcept { return scale_; }
  const std::int32_t* sums() const noexcept { return sums_; }  // [n], for i8 only: Σ q over k
  std::int32_t* sums() noexcept { return sums_; }

 private:
  friend PackedMatrix make_packed(WeightType type, std::int64_t k, std::int64_t n, std::byte* memory);
  friend PackedMatrix make_packed_for_bf16(std::int64_t k, std::int64_t n);
  std::unique_ptr<std::byte, void (*)(void*)> data_{nullptr, nullptr};
  float* scale_ = nullptr;
  std::int32_t* sums_ = nullptr;
  std::int64_t k_ = 0, n_ = 0;
  WeightType type_ = WeightType::f32;
  Precision precision_ = Precision::f32;
  Isa isa_ = Isa::avx2;
};

// Throws usage if an i8 matrix contains −128, which no path supports, or if its k exceeds kLongestInt8Sum.
// Throws internal if there are several parts that are not transposed.
PackedMatrix pack(ThreadPool& pool, const MatrixSource& source);

// Return the error (internal) for a matrix that does not fit a product. The product needs a matrix with `k`
// rows and at least `end` columns, in whole panels of the active instruction set.
Error mismatch_of(const PackedMatrix& packed, std::int64_t k, std::int64_t end);

// Unpack columns to rows of y [rows, k] in f32: y[row] = factor · column ids[row]. The caller checks the ids.
void unpack_columns(ThreadPool& pool, const PackedMatrix& matrix, const std::int32_t* ids, std::int64_t rows,
                    float factor, float* y);

// Compute y[row] = factor · table[ids[row]] for a table [.., columns] of f16, or of bf16 if `brain`.
void widen_rows(ThreadPool& pool, const std::uint16_t* table, bool brain, const std::int32_t* ids,
                std::int64_t rows, std::int64_t columns, float factor, float* y);

}  // namespace regard::kernels
