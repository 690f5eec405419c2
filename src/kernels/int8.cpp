// Select the int8 path, and divide int8 products into tasks. The path and the division do not change the
// result, because integer sums are exact.
#include "kernels/int8.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "kernels/amx.h"
#include "kernels/dispatch.h"
#include "kernels/gemm_tiling.h"
#include "kernels/int8_table.h"
#include "kernels/partition.h"
#include "regard/error.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(Int8Table, int8_table)

namespace {

// products with fewer multiply-adds run on one thread, which is faster
constexpr double kWorkForThreads = 1e6;
constexpr std::int64_t kChunkBytes = 512 << 10;  // size of a chunk of quantised rows in bytes
constexpr std::int64_t kBlockRows = 32;  // number of rows per block; the sums of a block fit in the L1 cache
constexpr std::int64_t kTasksForThread = 8, kPanelsInTask = 16;
constexpr std::int64_t kElementsForThreads = 16384;
// Products of fewer rows use VNNI, which is then faster, because most of an AMX tile would be empty.
constexpr std::int64_t kRowsForTiles = 4;

std::vector<Int8Path> find_paths(Isa isa) {
  std::vector<Int8Path> paths{Int8Path::portable};
#if defined(__x86_64__)
  if (isa == Isa::avx2) {
    paths.push_back(Int8Path::avx2);
    constexpr int kAvxVnni = 4;
    if (has_bit_of_leaf_7_1(kAvxVnni)) paths.push_back(Int8Path::avx_vnni);
  }
  if (isa == Isa::avx512) {
    paths.push_back(Int8Path::avx512);
    // the AMX path requires VNNI too, because products of few rows use it
    const bool vnni = __builtin_cpu_supports("avx512vnni");
    if (vnni) paths.push_back(Int8Path::avx512_vnni);
    if (vnni && has_amx(AmxFeature::int8)) paths.push_back(Int8Path::amx);
  }
#else
  static_cast<void>(isa);
#endif
  return paths;
}

// Return the fastest path that REGARD_ISA allows: `avx2` excludes AVX-VNNI, `avx512` excludes AMX.
Int8Path fastest(Isa isa) {
  std::vector<Int8Path> paths = find_paths(isa);
  const char* cap = std::getenv("REGARD_ISA");
  if (cap != nullptr && name_of(isa) == cap)
    std::erase_if(paths, [](Int8Path path) { return path == Int8Path::avx_vnni || path == Int8Path::amx; });
  return paths.back();
}

// The selected path. It is valid while `isa` is the active instruction set.
struct Choice {
  Isa isa;
  Int8Path path;
};

std::atomic<Choice>& chosen() {
  static std::atomic<Choice> choice{Choice{active(), fastest(active())}};
  return choice;
}

Int8Path path_for(std::int64_t rows) {
  const Int8Path path = active_int8_path();
  return path == Int8Path::amx && rows < kRowsForTiles ? Int8Path::avx512_vnni : path;
}

// Return true if the path's dot product requires bytes of A with an offset of 128 (unsigned).
bool wants_unsigned(Int8Path path) {
  return path == Int8Path::avx_vnni || path == Int8Path::avx512_vnni;
}

class Int8Product {
 public:
  Int8Product(ThreadPool& pool, const Gemm& problem)
      : pool_(pool),
        problem_(problem),
        packed_(*problem.packed),
        table_(dispatch_int8_table()),
        path_(path_for(problem.m)),
        stride_(round_up(problem.k, 4)) {}

  void run() {
    const std::int64_t first = problem_.packed_column, end = first + problem_.n;
    const bool whole_panels = first % table_.width == 0 && (end == packed_.n() || end % table_.width == 0);
    if (problem_.transpose_a || problem_.accumulate || packed_.k() != problem_.k || first < 0 ||
        end > packed_.n() || !whole_panels || packed_.isa() != active())
      throw mismatch_of(packed_, problem_.k, end);
    const auto turn = pool_.take_turn();
    caller_ = pool_.current_worker();
    const double work = estimated_work(problem_.m, problem_.n, problem_.k);
    threads_ = turn.owns_lock() && work >= kWorkForThreads ? pool_.size() : 1;
    const std::int64_t chunk = round_up(
        std::clamp<std::int64_t>(kChunkBytes / std::max<std::int64_t>(1, stride_), 64, 2048), kBlockRows);
    for (std::int64_t row = 0; row < problem_.m; row += chunk)
      multiply_chunk({row, std::min(problem_.m, row + chunk)});
  }

 private:
  template <class Body>
  void for_each(std::int64_t tasks, bool shared, Body&& body) {
    for_tasks(pool_, shared && threads_ > 1, caller_, tasks, body);
  }

  // Return the worker's buffer of sums. The scratch memory of the calling thread (worker caller_) starts with
  // the memory that all workers share; the buffer of sums comes after it.
  std::int32_t* sums_of(int worker) {
    const std::size_t before = worker == caller_ ? shared_bytes_ : 0;
    return reinterpret_cast<std::int32_t*>(pool_.scratch(worker, before + sums_bytes()) + before);
  }
  std::size_t sums_bytes() const {
    return static_cast<std::size_t>(kBlockRows * table_.width) * sizeof(std::int32_t);
  }

  // Quantise the rows, then multiply them by every panel.
  void multiply_chunk(Range rows) {
    const auto scale_bytes = static_cast<std::size_t>(round_up(rows.size(), 8)) * sizeof(RowScale);
    shared_bytes_ = scale_bytes + static_cast<std::size_t>(round_up(rows.size() * stride_, 64));
    for (int worker = 0; worker < (threads_ > 1 ? pool_.size() : 0); ++worker) sums_of(worker);
    std::byte* shared = reinterpret_cast<std::byte*>(sums_of(caller_)) - shared_bytes_;
    scale_ = reinterpret_cast<RowScale*>(shared);
    a_ = reinterpret_cast<std::int8_t*>(shared + scale_bytes);
    const std::uint8_t flip = wants_unsigned(path_) ? 0x80 : 0;
    const std::int64_t run =
        std::max<std::int64_t>(1, kElementsForThreads / std::max<std::int64_t>(1, stride_));
    for_each(ceil_divide(rows.size(), run), true, [&](std::int64_t task, int) {
      const Range own = part(rows.size(), run, task);
      for (std::int64_t row = own.begin; row < own.end; ++row)
        scale_[row] = table_.quantise_centred(problem_.a + (rows.begin + row) * problem_.lda, problem_.k,
                                              stride_, flip, a_ + row * stride_);
    });
    const std::int64_t panels = ceil_divide(problem_.n, table_.width);
    // If there are few panels, divide the rows too.
    const std::int64_t row_step =
        panels >= 4 * threads_ ? rows.size() : round_up(ceil_divide(rows.size(), 4), kBlockRows);
    const std::int64_t row_parts = ceil_divide(rows.size(), row_step);
    // The panels of one task are adjacent. Each panel is prefetched during the product with the preceding
    // panel.
    const std::int64_t side =
        std::clamp<std::int64_t>(panels / (kTasksForThread * threads_), 1, kPanelsInTask);
    for_each(ceil_divide(panels, side) * row_parts, true, [&](std::int64_t task, int worker) {
      const Range own = part(panels, side, task / row_parts);
      for (std::int64_t panel = own.begin; panel < own.end; ++panel)
        multiply_panel(part(rows.size(), row_step, task % row_parts), rows.begin, {panel, own.end}, worker);
    });
  }

  // Multiply the rows by the first panel of `panels`, and prefetch the second panel.
  void multiply_panel(Range rows, std::int64_t first_row, Range panels, int worker) {
    const Range columns = part(problem_.n, table_.width, panels.begin);
    const std::int64_t column = problem_.packed_column + columns.begin;
    Int8Block block;
    block.vectors = ceil_divide(columns.size(), table_.lanes);
    block.groups = stride_ / 4;
    block.a_stride = stride_;
    block.b = reinterpret_cast<const std::int8_t*>(packed_.data()) + column * stride_;
    block.sums = sums_of(worker);
    Int8Finish finish;
    finish.columns = columns.size(), finish.width = block.vectors * table_.lanes;
    finish.sums = block.sums;
    finish.flipped = wants_unsigned(path_);
    finish.column_sums = packed_.sums() + column;
    finish.column_scale = packed_.scale() + column;
    finish.ldc = problem_.ldc;
    finish.epilogue = &problem_.epilogue;
    finish.column = columns.begin;
    const Int8Table::Multiply multiply = table_.multiply[static_cast<std::size_t>(path_)];
    const std::int8_t* next = panels.size() > 1 ? block.b + columns.size() * stride_ : nullptr;
    for (std::int64_t row = rows.begin; row < rows.end; row += kBlockRows) {
      block.next = row == rows.begin ? next : nullptr;
      block.rows = finish.rows = std::min(kBlockRows, rows.end - row);
      block.a = a_ + row * stride_;
      multiply(block);
      finish.row_scale = scale_ + row;
      finish.row = first_row + row;
      finish.c = problem_.c + finish.row * problem_.ldc + columns.begin;
      table_.finish(finish);
    }
  }

  ThreadPool& pool_;
  const Gemm& problem_;
  const PackedMatrix& packed_;
  const Int8Table& table_;
  Int8Path path_;
  std::int64_t stride_;  // distance between quantised rows, in bytes
  int threads_ = 1, caller_ = 0;
  std::size_t shared_bytes_ = 0;
  RowScale* scale_ = nullptr;
  std::int8_t* a_ = nullptr;
};

}  // namespace

std::string_view name_of(Int8Path path) {
  constexpr std::string_view kNames[] = {"portable", "avx2", "avx_vnni", "avx512", "avx512_vnni", "amx"};
  return kNames[static_cast<std::size_t>(path)];
}

std::vector<Int8Path> available_int8_paths() {
  return find_paths(active());
}

Int8Path active_int8_path() {
  Choice choice = chosen().load(std::memory_order_relaxed);
  if (choice.isa != active()) {
    choice = {active(), fastest(active())};
    chosen().store(choice, std::memory_order_relaxed);
  }
  return choice.path;
}

void set_int8_path(Int8Path path) {
  const std::vector<Int8Path> all = available_int8_paths();
  if (std::find(all.begin(), all.end(), path) == all.end())
    throw usage_error("the int8 path is not available on this processor")
        .found(std::string(name_of(path)))
        .expected(names_of(all));
  chosen().store({active(), path}, std::memory_order_relaxed);
}

void quantise_rows(ThreadPool& pool, const float* x, std::int64_t stride, std::int64_t rows,
                   std::int64_t columns, std::int8_t* q, float* scale) {
  const Int8Table& table = dispatch_int8_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      scale[row] = table.quantise(x + row * stride, columns, q + row * columns);
  });
}

void dequantise_rows(ThreadPool& pool, const std::int8_t* q, const float* scale, const std::int32_t* ids,
                     std::int64_t rows, std::int64_t columns, float factor, float* y) {
  const Int8Table& table = dispatch_int8_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      table.dequantise(q + ids[row] * columns, columns, factor * scale[ids[row]], y + row * columns);
  });
}

void multiply_int8(ThreadPool& pool, const Gemm& problem) {
  Int8Product(pool, problem).run();
}

}  // namespace regard::kernels
