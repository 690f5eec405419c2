#include "regard/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/counted.h"
#include "regard/error.h"

namespace regard {
namespace {

constexpr std::size_t kAlignment = 64;

// Map zeroed memory from the system, so that freed memory returns to the system at once. The heap may keep
// large freed blocks; a model whose weights are packed one by one would then use twice the memory.
std::shared_ptr<void> allocate_own(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw out_of_memory(bytes);
  return {memory, [bytes](void* own) { munmap(own, bytes); }};
}

std::shared_ptr<void> allocate(std::size_t bytes, bool zeroed) {
  constexpr std::size_t kOwn = std::size_t{1} << 20;
  if (bytes >= kOwn) return allocate_own(bytes);
  const std::size_t rounded =
      (bytes + kAlignment - 1) / kAlignment * kAlignment + (bytes == 0 ? kAlignment : 0);
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw out_of_memory(rounded);
  if (zeroed) std::memset(memory, 0, rounded);
  return {memory, std::free};
}

// Return the size of a tensor in bytes. Throws usage if it exceeds the range of pointer differences.
std::size_t checked_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements(), static_cast<std::int64_t>(size_of(dtype)), &bytes))
    throw usage_error("a tensor is too large")
        .found("shape " + shape.text() + " of dtype " + name_of(dtype))
        .expected("fewer than 2^63 bytes");
  return static_cast<std::size_t>(bytes);
}

Tensor owning(const Shape& shape, DType dtype, bool zeroed) {
  std::shared_ptr<void> memory = allocate(checked_bytes(shape, dtype), zeroed);
  void* data = memory.get();
  return Tensor::view(data, shape, dtype, std::move(memory));
}

// Return the product of the sizes. It can overflow only if one of the sizes is 0; the product is then 0.
std::int64_t product(std::span<const std::int64_t> sizes) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product)) return 0;
  return product;
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  if (sizes.size() > static_cast<std::size_t>(kMaxRank))
    throw usage_error("a tensor has too many dimensions")
        .found(std::to_string(sizes.size()))
        .expected("at most " + std::to_string(kMaxRank) + " dimensions");
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  std::int64_t product = 1;
  for (std::int64_t size : sizes) {
    if (size < 0)
      throw usage_error("a size of a tensor is negative").found(std::to_string(size)).expected("at least 0");
    const std::int64_t before = product;
    if (!empty && __builtin_mul_overflow(before, size, &product))
      throw usage_error("the number of elements of a tensor exceeds the range of 64-bit integers")
          .found(std::to_string(before) + " × " + std::to_string(size))
          .expected("at most 2^63 - 1 elements");
    sizes_[static_cast<std::size_t>(rank_++)] = size;
  }
}

void Shape::no_dimension(int dimension) {
  throw usage_error("the index of a tensor's dimension is out of range")
      .found(std::to_string(dimension))
      .expected("0 to 7");
}

std::int64_t Shape::elements() const noexcept {
  return product(sizes());
}

std::int64_t Shape::rows() const noexcept {
  return rank_ == 0 ? 1 : product(sizes().first(static_cast<std::size_t>(rank_ - 1)));
}

std::string Shape::text() const {
  std::string text = "[";
  for (int d = 0; d < rank_; ++d) text += (d > 0 ? ", " : "") + std::to_string((*this)[d]);
  return text + "]";
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return a.rank_ == b.rank_ && a.sizes_ == b.sizes_;
}

Tensor Tensor::view(void* data, Shape shape, DType dtype, std::shared_ptr<void> keeper) {
  if (data != nullptr) checked_bytes(shape, dtype);
  Tensor tensor;
  tensor.data_ = data;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.row_stride_ = shape.back();
  tensor.keeper_ = std::move(keeper);
  return tensor;
}

Tensor Tensor::empty(Shape shape, DType dtype) {
  return owning(shape, dtype, false);
}

Tensor Tensor::zeros(Shape shape, DType dtype) {
  return owning(shape, dtype, true);
}

void Tensor::wrong_dtype(DType wanted) const {
  throw usage_error("wrong dtype of a tensor").found(name_of(dtype_)).expected(name_of(wanted));
}

void Tensor::require_defined(const char* what) const {
  if (!defined())
    throw usage_error("expected a Tensor with memory")
        .found(std::string("a default-constructed or moved-from Tensor, which ") + what);
}

Tensor Tensor::of(std::initializer_list<float> values) {
  return of({static_cast<std::int64_t>(values.size())}, values);
}

Tensor Tensor::of(Shape shape, std::initializer_list<float> values) {
  if (shape.elements() != static_cast<std::int64_t>(values.size()))
    throw usage_error("the number of values does not match the shape " + shape.text())
        .found(base::counted(values.size(), "value"))
        .expected(base::counted(shape.elements(), "value"));
  Tensor tensor = empty(shape);
  std::memcpy(tensor.data_, values.begin(), values.size() * sizeof(float));
  return tensor;
}

Tensor Tensor::reshape(Shape shape) const {
  if (!contiguous())
    throw usage_error("a tensor that is not contiguous cannot be reshaped").remedy("Call clone() first");
  if (shape.elements() != elements())
    throw usage_error("shape " + shape_.text() + " cannot be viewed as " + shape.text())
        .found(base::counted(shape.elements(), "element"))
        .expected(base::counted(elements(), "element"));
  return view(data_, shape, dtype_, keeper_);
}

Tensor Tensor::slice_rows(std::int64_t begin, std::int64_t end) const {
  if (shape_.rank() < 1 || begin < 0 || end < begin || end > shape_[0])
    throw usage_error("the range of rows is outside of the tensor")
        .found("[" + std::to_string(begin) + ", " + std::to_string(end) + ")")
        .expected("a range in [0, " + std::to_string(shape_.rank() < 1 ? 0 : shape_[0]) + ")");
  Tensor part = *this;
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  std::int64_t rows_each = 1;
  for (int d = 0; d < shape_.rank(); ++d) sizes[static_cast<std::size_t>(d)] = shape_[d];
  for (int d = 1; d + 1 < shape_.rank(); ++d) rows_each *= shape_[d];
  sizes[0] = end - begin;
  part.shape_ = Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(shape_.rank())));
  const std::int64_t step = shape_.rank() == 1 ? 1 : rows_each * row_stride_;
  if (data_ != nullptr)
    part.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(begin * step) * size_of(dtype_);
  if (shape_.rank() == 1) part.row_stride_ = end - begin;
  return part;
}

Tensor Tensor::slice_columns(std::int64_t begin, std::int64_t end) const {
  if (shape_.rank() < 1 || begin < 0 || end < begin || end > shape_.back())
    throw usage_error("the range of columns is outside of the tensor")
        .found("[" + std::to_string(begin) + ", " + std::to_string(end) + ")")
        .expected("a range within the columns of a tensor of shape " + shape_.text());
  Tensor part = *this;
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  for (int d = 0; d < shape_.rank(); ++d) sizes[static_cast<std::size_t>(d)] = shape_[d];
  sizes[static_cast<std::size_t>(shape_.rank() - 1)] = end - begin;
  part.shape_ = Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(shape_.rank())));
  if (data_ != nullptr)
    part.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(begin) * size_of(dtype_);
  if (shape_.rank() == 1) part.row_stride_ = end - begin;  // a vector has only one row
  return part;
}

Tensor Tensor::borrowed() const {
  Tensor same = *this;
  same.keeper_.reset();
  return same;
}

Tensor Tensor::clone() const {
  require_defined("cannot be copied");
  Tensor copy = empty(shape_, dtype_);
  const std::size_t width = static_cast<std::size_t>(columns()) * size_of(dtype_);
  const std::size_t stride = static_cast<std::size_t>(row_stride_) * size_of(dtype_);
  for (std::int64_t r = 0; r < rows() && width > 0; ++r)
    std::memcpy(static_cast<std::byte*>(copy.data_) + static_cast<std::size_t>(r) * width,
                static_cast<const std::byte*>(data_) + static_cast<std::size_t>(r) * stride, width);
  return copy;
}

}  // namespace regard
