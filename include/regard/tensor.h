// Tensor: a typed, row-major array that owns its memory or is a view of other memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "regard/export.h"

namespace regard {

enum class DType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
  f8_e4m3,
  f8_e5m2
};

REGARD_API std::size_t size_of(DType dtype) noexcept;  // bytes of one element
REGARD_API const char* name_of(DType dtype) noexcept;  // name of the dtype, such as "f32"

// Sizes of up to eight dimensions, stored inline; a shape without dimensions is a scalar. Sizes are not
// negative, and the product of the non-zero sizes is below 2⁶³.
class REGARD_API Shape {
 public:
  static constexpr int kMaxRank = 8;
  Shape() = default;
  // throws usage for negative sizes, too many sizes or an overflow of their product
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const noexcept { return rank_; }
  // Return the size of a dimension; 0 for rank() ≤ dimension < kMaxRank. Throws usage if dimension is not in
  // 0 to 7.
  std::int64_t operator[](int dimension) const {
    if (dimension < 0 || dimension >= kMaxRank) [[unlikely]]
      no_dimension(dimension);
    return sizes_[static_cast<std::size_t>(dimension)];
  }
  std::int64_t back() const noexcept { return rank_ == 0 ? 1 : sizes_[static_cast<std::size_t>(rank_ - 1)]; }
  std::int64_t elements() const noexcept;  // product of all sizes; 1 for a scalar
  // number of rows of the tensor as a matrix [rows, back()]: elements() / back()
  std::int64_t rows() const noexcept;
  std::span<const std::int64_t> sizes() const noexcept {
    return {sizes_.data(), static_cast<std::size_t>(rank_)};
  }
  std::string text() const;  // text such as "[2, 3]"
  friend REGARD_API bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  [[noreturn]] static void no_dimension(int dimension);
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

// A handle to elements: copies of the handle share the elements, and clone() copies the elements. As with a
// std::shared_ptr, several threads may copy and read one handle, and modify their own handles to the same
// elements. While a thread writes elements, no other thread may use these elements. While a thread assigns to
// a handle, no other thread may use this handle.
//
// The row stride may exceed the row length, for example to view the query columns of a joint projection
// without a copy. All dimensions before the last then form one sequence of rows with that stride. Code that
// requires contiguous rows checks contiguous().
//
// A moved-from tensor is undefined, like a default-constructed one. Public functions that compute with
// tensors throw usage for an undefined tensor and for an unsupported dtype.
class REGARD_API Tensor {
 public:
  Tensor() = default;  // creates an undefined tensor: defined() returns false
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Tensor() = default;

  // Allocate memory owned by the tensor, 64-byte aligned. Throws usage for 2⁶³ bytes or more,
  // resource_exhausted if the allocation fails.
  static Tensor zeros(Shape shape, DType dtype = DType::f32);
  static Tensor empty(Shape shape, DType dtype = DType::f32);  // like zeros(), but uninitialised
  // View memory of the caller. The memory must outlive the tensor unless `keeper` owns it.
  static Tensor view(void* data, Shape shape, DType dtype = DType::f32, std::shared_ptr<void> keeper = {});
  static Tensor of(std::initializer_list<float> values);  // f32 tensor [number of values]
  // throws usage if the number of values does not fit the shape
  static Tensor of(Shape shape, std::initializer_list<float> values);

  bool defined() const noexcept { return data_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t elements() const noexcept { return shape_.elements(); }
  std::int64_t rows() const noexcept { return shape_.rows(); }
  std::int64_t columns() const noexcept { return shape_.back(); }
  // distance between the starts of two consecutive rows, in elements
  std::int64_t row_stride() const noexcept { return row_stride_; }
  bool contiguous() const noexcept { return row_stride_ == shape_.back(); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * size_of(dtype_); }

  void* data() const noexcept { return data_; }
  // Typed access; an undefined tensor has dtype f32, and its f32() returns null. Throws usage if the dtype
  // differs; u8() also accepts boolean.
  float* f32() const { return as<float>(DType::f32); }
  double* f64() const { return as<double>(DType::f64); }
  std::int64_t* i64() const { return as<std::int64_t>(DType::i64); }
  std::int32_t* i32() const { return as<std::int32_t>(DType::i32); }
  std::uint8_t* u8() const { return as<std::uint8_t>(dtype_ == DType::boolean ? dtype_ : DType::u8); }
  // row of an f32 tensor; 0 ≤ index < rows()
  float* row(std::int64_t index) const { return f32() + index * row_stride_; }

  Tensor reshape(Shape shape) const;  // view with another shape; throws usage unless contiguous
  // slice along the first dimension; shares memory
  Tensor slice_rows(std::int64_t begin, std::int64_t end) const;
  Tensor slice_columns(std::int64_t begin,
                       std::int64_t end) const;  // slice along the last dimension; shares memory
  Tensor borrowed() const;                       // view that does not keep the memory alive
  Tensor clone() const;  // contiguous copy that owns its memory; throws usage if undefined
  // Convert to f32, f64, f16, bf16, an integer dtype or boolean. Values are rounded once: to nearest even for
  // floating-point dtypes, towards zero for integers. Throws usage for another dtype or an undefined tensor,
  // numeric if a value is outside the range of an integer dtype or is NaN.
  Tensor to(DType dtype) const;

  // Return one element as a double, with bounds checks (throws usage). Slow: for examples and tests.
  double at(std::initializer_list<std::int64_t> index) const;

 private:
  template <class T>
  T* as(DType dtype) const {
    if (dtype_ != dtype) [[unlikely]]
      wrong_dtype(dtype);
    return static_cast<T*>(data_);
  }
  [[noreturn]] void wrong_dtype(DType wanted) const;
  void require_defined(const char* what) const;
  void swap(Tensor& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(dtype_, other.dtype_);
    std::swap(row_stride_, other.row_stride_);
    keeper_.swap(other.keeper_);
  }
  void* data_ = nullptr;
  Shape shape_{std::initializer_list<std::int64_t>{0}};
  DType dtype_ = DType::f32;
  std::int64_t row_stride_ = 0;
  std::shared_ptr<void> keeper_;
};

// Convert single values. Results are exact if representable, otherwise rounded to nearest even.
REGARD_API float from_f16(std::uint16_t bits) noexcept;
REGARD_API std::uint16_t to_f16(float value) noexcept;
REGARD_API float from_bf16(std::uint16_t bits) noexcept;
REGARD_API std::uint16_t to_bf16(float value) noexcept;

}  // namespace regard
