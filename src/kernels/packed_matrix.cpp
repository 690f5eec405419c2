#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/large_pages.h"
#include "kernels/bf16.h"
#include "kernels/bf16_panels.h"
#include "kernels/dispatch.h"
#include "kernels/gemm_table.h"
#include "kernels/gemm_tiling.h"
#include "kernels/int8_table.h"
#include "kernels/partition.h"
#include "regard/error.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(GemmTable, gemm_table)
REGARD_KERNEL_TABLE(Int8Table, int8_table)

namespace {

// Return the number of consecutive steps of k that share a 32-bit lane of a panel.
std::int64_t group_of(WeightType type) {
  return static_cast<std::int64_t>(4 / bytes_of(type));
}

// Return the number of steps of k, rounded up to whole 32-bit lanes. The added steps are zeros.
std::int64_t padded(std::int64_t k, WeightType type) {
  return round_up(k, group_of(type));
}

std::size_t panel_bytes(std::int64_t k, std::int64_t n, WeightType type) {
  const std::int64_t columns = round_up(n, dispatch_gemm_table().lanes);
  return static_cast<std::size_t>(columns * padded(k, type)) * bytes_of(type) + 64;
}

// Reads columns of a MatrixSource, each as padded(k) consecutive numbers.
class ColumnReader {
 public:
  explicit ColumnReader(const MatrixSource& source)
      : source_(source), size_(bytes_of(source.type)), run_(padded(source.k, source.type)) {}

  std::size_t bytes(std::int64_t columns) const { return static_cast<std::size_t>(columns * run_) * size_; }

  // Return a pointer to the columns and set `stride` to the distance between columns, in 32-bit lanes. Return
  // null unless all of the columns are in one MatrixPart and each is stored contiguously in whole lanes.
  const std::byte* in_place(Range columns, std::int64_t& stride) const {
    std::int64_t first = 0;
    for (const MatrixPart& part : source_.parts) {
      const bool inside = columns.begin >= first && columns.end <= first + part.columns;
      if (inside && source_.transposed && run_ == source_.k && part.stride % group_of(source_.type) == 0) {
        stride = part.stride / group_of(source_.type);
        return static_cast<const std::byte*>(part.data) +
               static_cast<std::size_t>((columns.begin - first) * part.stride) * size_;
      }
      first += part.columns;
    }
    return nullptr;
  }

  void copy(Range columns, std::byte* to) const {
    if (source_.type == WeightType::i8)
      copy_as<std::uint8_t>(columns, reinterpret_cast<std::uint8_t*>(to));
    else if (source_.type == WeightType::f32)
      copy_as<std::uint32_t>(columns, reinterpret_cast<std::uint32_t*>(to));
    else
      copy_as<std::uint16_t>(columns, reinterpret_cast<std::uint16_t*>(to));
  }

 private:
  template <class Number>
  void copy_as(Range columns, Number* to) const {
    const std::size_t size = bytes(columns.size());
    if (size == 0) return;  // if k is 0, nothing is copied, and `to` may be null
    std::memset(to, 0, size);
    std::int64_t first = 0;
    for (const MatrixPart& part : source_.parts) {
      const Range own{std::max(columns.begin, first), std::min(columns.end, first + part.columns)};
      const auto* from = static_cast<const Number*>(part.data);
      Number* out = to + (own.begin - columns.begin) * run_;
      const std::int64_t column = own.begin - first;
      first += part.columns;
      if (own.size() <= 0) continue;
      if (source_.transposed) {
        for (std::int64_t c = 0; c < own.size(); ++c)
          std::memcpy(out + c * run_, from + (column + c) * part.stride,
                      static_cast<std::size_t>(source_.k) * sizeof(Number));
      } else {
        for (std::int64_t step = 0; step < source_.k; ++step)
          for (std::int64_t c = 0; c < own.size(); ++c)
            out[c * run_ + step] = from[step * part.stride + column + c];
      }
    }
  }

  const MatrixSource& source_;
  std::size_t size_;
  std::int64_t run_;
};

// De-interleave an f16 panel for the conversion in simd/gemm_half.h. Before, each column's elements of two
// consecutive steps of k are adjacent; after, the vector of the first step is followed by the vector of the
// second step.
void separate_pairs(std::uint16_t* panel, std::int64_t vectors) {
  const std::int64_t lanes = dispatch_gemm_table().lanes;
  std::uint16_t first[64], second[64];
  for (std::int64_t v = 0; v < vectors; ++v, panel += 2 * lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      first[lane] = panel[2 * lane];
      second[lane] = panel[2 * lane + 1];
    }
    std::memcpy(panel, first, static_cast<std::size_t>(lanes) * sizeof *panel);
    std::memcpy(panel + lanes, second, static_cast<std::size_t>(lanes) * sizeof *panel);
  }
}

// Compute Σ q of each column. Each column is contiguous, and columns start `stride` bytes apart. Throws usage
// if a weight is −128.
void sum_columns(const std::int8_t* runs, std::int64_t stride, std::int64_t k, std::int64_t columns,
                 std::int32_t* sums) {
  for (std::int64_t column = 0; column < columns; ++column, runs += stride) {
    std::int32_t sum = 0;
    std::int8_t least = 0;
    for (std::int64_t step = 0; step < k; ++step) {
      sum += runs[step];
      least = std::min(least, runs[step]);
    }
    if (least == -128)
      throw usage_error("an int8 weight is out of range").found("-128").expected("-127 to 127");
    sums[column] = sum;
  }
}

// Location of a column in a packed matrix: data and width of its panel, and its index in the panel.
struct PackedColumn {
  PackedColumn(const PackedMatrix& matrix, std::int64_t column) {
    const GemmTable& table = dispatch_gemm_table();
    const bool bf16 = matrix.precision() == Precision::bf16;
    const std::int64_t columns = bf16 ? kBf16PanelColumns : table.tile_columns;
    const std::int64_t steps = bf16 ? padded_steps(matrix.k()) : padded(matrix.k(), matrix.type());
    const std::int64_t panel = column / columns;
    lanes = bf16 ? kBf16Columns : table.lanes;
    width = std::min(columns, round_up(matrix.n() - panel * columns, lanes));
    place = column % columns;
    data = matrix.data() + static_cast<std::size_t>(panel * columns * steps) * bytes_of(matrix.type());
  }
  const std::byte* data;
  std::int64_t width, place, lanes;
};

void unpack_f32(const PackedMatrix& matrix, const PackedColumn& column, float factor, float* y) {
  const auto* from = reinterpret_cast<const float*>(column.data) + column.place;
  for (std::int64_t step = 0; step < matrix.k(); ++step) y[step] = from[step * column.width] * factor;
}

void unpack_i8(const PackedMatrix& matrix, const PackedColumn& column, float factor, std::byte* memory,
               float* y) {
  const std::byte* from = column.data + column.place * 4;
  const std::int64_t groups = padded(matrix.k(), WeightType::i8) / 4;
  for (std::int64_t group = 0; group < groups; ++group)
    std::memcpy(memory + group * 4, from + group * column.width * 4, 4);
  dispatch_int8_table().dequantise(reinterpret_cast<const std::int8_t*>(memory), matrix.k(), factor, y);
}

void unpack_half(const PackedMatrix& matrix, const PackedColumn& column, float factor, std::byte* memory,
                 float* y) {
  const bool brain = matrix.type() == WeightType::bf16;  // in bf16 panels, two steps of k share a 32-bit lane
  const std::int64_t second = brain ? 1 : column.lanes;
  const auto* from = reinterpret_cast<const std::uint16_t*>(column.data) +
                     (brain ? 2 * column.place
                            : column.place / column.lanes * 2 * column.lanes + column.place % column.lanes);
  auto* gathered = reinterpret_cast<std::uint16_t*>(memory);
  for (std::int64_t step = 0; step < matrix.k(); ++step)
    gathered[step] = from[step / 2 * 2 * column.width + step % 2 * second];
  dispatch_gemm_table().widen(gathered, brain, matrix.k(), factor, y);
}

}  // namespace

PackedMatrix make_packed(WeightType type, std::int64_t k, std::int64_t n, std::byte* memory) {
  PackedMatrix matrix;
  matrix.type_ = type;
  matrix.k_ = k, matrix.n_ = n;
  matrix.isa_ = active();
  if (memory != nullptr) {
    matrix.data_ = {memory, [](void*) {}};
    return matrix;
  }
  const std::size_t panels = panel_bytes(k, n, type), row = static_cast<std::size_t>(n) * sizeof(float);
  auto* own =
      static_cast<std::byte*>(allocate_in_large_pages(panels + (type == WeightType::i8 ? 2 * row : 0)));
  matrix.data_ = {own, free_in_large_pages};
  if (type == WeightType::i8) {
    matrix.scale_ = reinterpret_cast<float*>(own + panels);
    matrix.sums_ = reinterpret_cast<std::int32_t*>(own + panels + row);
  }
  return matrix;
}

std::int64_t packed_floats(std::int64_t k, std::int64_t n) {
  return static_cast<std::int64_t>(panel_bytes(k, n, WeightType::f32) / sizeof(float));
}

namespace {

// Pack all panels. Columns are read in place if possible, otherwise from a copy.
void fill(ThreadPool& pool, const MatrixSource& source, PackedMatrix& matrix) {
  const GemmTable& table = dispatch_gemm_table();
  const ColumnReader reader(source);
  const std::int64_t width = table.tile_columns, steps = padded(source.k, source.type);
  const std::int64_t lanes_of_k = steps / group_of(source.type);
  std::byte* data = matrix.data();
  std::int32_t* sums = matrix.sums();
  const bool plain = source.type == WeightType::f32 && !source.transposed;
  std::int64_t unused = 0;
  const bool copies =
      !plain && (source.parts.size() > 1 || reader.in_place({0, matrix.n()}, unused) == nullptr);
  const auto turn = pool.take_turn();
  if (copies && turn.owns_lock()) pool.reserve_scratch(reader.bytes(width));
  pool.parallel_for(ceil_divide(matrix.n(), width), [&](std::int64_t panel, int worker) {
    const Range own = part(matrix.n(), width, panel);
    std::byte* out = data + static_cast<std::size_t>(own.begin * steps) * bytes_of(source.type);
    const PackedPanels panels{reinterpret_cast<float*>(out), 0};
    if (plain) {
      const MatrixPart& whole = source.parts[0];
      return table.pack_b(static_cast<const float*>(whole.data) + own.begin, whole.stride, false, source.k,
                          own.size(), panels);
    }
    std::int64_t stride = lanes_of_k;
    const std::byte* runs = reader.in_place(own, stride);
    if (runs == nullptr) {
      std::byte* copy = pool.scratch(worker, reader.bytes(width));
      reader.copy(own, copy);
      runs = copy;
    }
    table.pack_b(reinterpret_cast<const float*>(runs), stride, true, lanes_of_k, own.size(), panels);
    if (source.type == WeightType::i8) {
      sum_columns(reinterpret_cast<const std::int8_t*>(runs), stride * 4, source.k, own.size(),
                  sums + own.begin);
    } else if (source.type == WeightType::f16) {
      separate_pairs(reinterpret_cast<std::uint16_t*>(out),
                     lanes_of_k * ceil_divide(own.size(), table.lanes));
    }
  });
}

// Pack all panels of a matrix that make_packed_for_bf16() returned.
void fill_for_bf16(ThreadPool& pool, const MatrixSource& source, PackedMatrix& matrix) {
  const Bf16Table::Path& path = bf16_functions().of[static_cast<int>(active_bf16_path())];
  const ColumnReader reader(source);
  const std::int64_t run = padded(source.k, source.type), steps = padded_steps(source.k);
  auto* data = reinterpret_cast<std::uint16_t*>(matrix.data());
  const auto turn = pool.take_turn();
  if (turn.owns_lock()) pool.reserve_scratch(reader.bytes(kBf16PanelColumns));
  pool.parallel_for(ceil_divide(matrix.n(), kBf16PanelColumns), [&](std::int64_t panel, int worker) {
    const Range own = part(matrix.n(), kBf16PanelColumns, panel);
    std::byte* copy = pool.scratch(worker, reader.bytes(kBf16PanelColumns));
    reader.copy(own, copy);
    path.pack_b(stored_source(reinterpret_cast<const std::uint16_t*>(copy), run, 1, own.size(), source.k),
                data + panel * kBf16PanelColumns * steps);
  });
}

}  // namespace

PackedMatrix make_packed_for_bf16(std::int64_t k, std::int64_t n) {
  PackedMatrix matrix;
  matrix.type_ = WeightType::bf16, matrix.precision_ = Precision::bf16;
  matrix.k_ = k, matrix.n_ = n;
  matrix.isa_ = active();
  const std::size_t bytes = static_cast<std::size_t>(bf16_packed_bytes(k, n)) + 64;
  matrix.data_ = {static_cast<std::byte*>(allocate_in_large_pages(bytes)), free_in_large_pages};
  return matrix;
}

PackedMatrix pack(ThreadPool& pool, const MatrixSource& source) {
  if (source.type == WeightType::i8 && source.k > kLongestInt8Sum)
    throw usage_error("an int8 matrix has too many rows")
        .found(std::to_string(source.k))
        .expected("at most " + std::to_string(kLongestInt8Sum));
  if (source.parts.size() > 1 && !source.transposed)
    throw Error(ErrorKind::internal, "weights with one column per output cannot be packed together")
        .found(std::to_string(source.parts.size()) + " weights")
        .expected("1 weight, or weights with one row per output");
  std::int64_t n = 0;
  for (const MatrixPart& part : source.parts) n += part.columns;
  if (source.precision == Precision::bf16) {
    PackedMatrix matrix = make_packed_for_bf16(source.k, n);
    fill_for_bf16(pool, source, matrix);
    return matrix;
  }
  PackedMatrix matrix = make_packed(source.type, source.k, n, nullptr);
  fill(pool, source, matrix);
  std::int64_t column = 0;
  for (const MatrixPart& part : source.parts) {
    if (source.type == WeightType::i8) std::copy_n(part.scale, part.columns, matrix.scale() + column);
    column += part.columns;
  }
  return matrix;
}

PackedMatrix pack(ThreadPool& pool, const Gemm& problem, float* memory) {
  PackedMatrix matrix =
      make_packed(WeightType::f32, problem.k, problem.n, reinterpret_cast<std::byte*>(memory));
  const MatrixPart part{problem.b, problem.n, problem.ldb};
  fill(pool, {WeightType::f32, problem.k, problem.transpose_b, {&part, 1}}, matrix);
  return matrix;
}

PackedMatrix pack(ThreadPool& pool, const float* b, std::int64_t ldb, bool transpose_b, std::int64_t k,
                  std::int64_t n) {
  const MatrixPart part{b, n, ldb};
  return pack(pool, {WeightType::f32, k, transpose_b, {&part, 1}});
}

void unpack_columns(ThreadPool& pool, const PackedMatrix& matrix, const std::int32_t* ids, std::int64_t rows,
                    float factor, float* y) {
  const auto size = static_cast<std::size_t>(padded(matrix.k(), matrix.type())) * bytes_of(matrix.type());
  const auto turn = pool.take_turn();
  if (turn.owns_lock()) pool.reserve_scratch(size);
  for_rows(pool, rows, matrix.k(), [&](std::int64_t begin, std::int64_t end) {
    std::byte* scratch = pool.scratch(pool.current_worker(), size);
    for (std::int64_t row = begin; row < end; ++row) {
      const PackedColumn column(matrix, ids[row]);
      float* out = y + row * matrix.k();
      if (matrix.type() == WeightType::f32)
        unpack_f32(matrix, column, factor, out);
      else if (matrix.type() == WeightType::i8)
        unpack_i8(matrix, column, factor * matrix.scale()[ids[row]], scratch, out);
      else
        unpack_half(matrix, column, factor, scratch, out);
    }
  });
}

Error mismatch_of(const PackedMatrix& packed, std::int64_t k, std::int64_t end) {
  return Error(ErrorKind::internal, "the packed matrix does not fit the product")
      .found(std::to_string(packed.k()) + " rows, " + std::to_string(packed.n()) + " columns")
      .expected(std::to_string(k) + " rows, at least " + std::to_string(end) +
                " columns, in whole panels of the active instruction set");
}

void widen_rows(ThreadPool& pool, const std::uint16_t* table, bool brain, const std::int32_t* ids,
                std::int64_t rows, std::int64_t columns, float factor, float* y) {
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      dispatch_gemm_table().widen(table + ids[row] * columns, brain, columns, factor, y + row * columns);
  });
}

}  // namespace regard::kernels
