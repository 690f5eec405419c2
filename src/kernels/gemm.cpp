// Blocking and threads. Whatever is chosen here, an element's chain over k runs in order and a block of k
// leaves its partial sums in C, so the choices cannot change a bit.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "kernels/dispatch.h"
#include "kernels/gemm_table.h"
#include "regard/error.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(GemmTable, gemm_table)

namespace {

constexpr std::int64_t kPanelBytes = 32 << 10;   // a block of a panel of B: the larger part of L1
constexpr std::int64_t kSharedBytes = 4 << 20;   // packed B of one phase
constexpr std::int64_t kRowsInBlock = 96;        // rows of A that pass over a panel while it is in L1
constexpr std::int64_t kFewRows = 24;            // too few to pay for packing B before multiplying
constexpr double kOperationsForThreads = 400e3;  // multiply-adds below which other threads cost more
constexpr double kOperationsInTask = 1e6;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_divide(a, b) * b;
}

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

Range part(std::int64_t whole, std::int64_t step, std::int64_t index) {
  return {index * step, std::min(whole, (index + 1) * step)};
}

// One product: what is asked, the inner loops, and where the parts of packed A and B are.
class Product {
 public:
  Product(ThreadPool& pool, const Gemm& problem)
      : pool_(pool), problem_(problem), table_(dispatch_gemm_table()) {
    k_block_ = kPanelBytes / 4 / table_.tile_columns / 16 * 16;
    const double operations =
        static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
    threaded_ = pool.size() > 1 && operations >= kOperationsForThreads;
  }

  void run() {
    const auto turn = pool_.take_turn();
    if (problem_.packed != nullptr) {
      multiply_prepacked();
    } else if (problem_.m <= kFewRows) {
      multiply_few_rows();
    } else {
      multiply_in_phases();
    }
  }

 private:
  template <class Body>
  void for_each(std::int64_t tasks, Body&& body) {
    if (threaded_ && tasks > 1) {
      pool_.parallel_for(tasks, body);
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, pool_.current_worker());
    }
  }

  // Blocks of k for [0, k); at least one, so that k = 0 writes C too.
  template <class Body>
  void for_each_k_block(Body&& body) const {
    std::int64_t begin = 0;
    do {
      const std::int64_t end = std::min(problem_.k, begin + k_block_);
      body(Range{begin, end});
      begin = end;
    } while (begin < problem_.k);
  }

  GemmBlock block(Range rows, Range columns, Range k) const {
    GemmBlock result;
    result.rows = rows.size();
    result.columns = columns.size();
    result.k = k.size();
    result.a_transposed = problem_.transpose_a;
    result.a = problem_.a + (problem_.transpose_a ? k.begin * problem_.lda + rows.begin
                                                  : rows.begin * problem_.lda + k.begin);
    result.a_stride = problem_.lda;
    result.a_sliver = table_.tile_rows * (problem_.transpose_a ? 1 : problem_.lda);
    result.c = problem_.c + rows.begin * problem_.ldc + columns.begin;
    result.ldc = problem_.ldc;
    result.accumulate = problem_.accumulate || k.begin > 0;
    if (k.end == problem_.k && has_epilogue()) result.epilogue = &problem_.epilogue;
    result.epilogue_row = rows.begin;
    result.epilogue_column = columns.begin;
    return result;
  }

  bool has_epilogue() const {
    const Epilogue& e = problem_.epilogue;
    return e.bias != nullptr || e.pre != nullptr || e.residual != nullptr || e.activation != Activation::none;
  }

  const float* source_of_b(std::int64_t k, std::int64_t column) const {
    return problem_.b + (problem_.transpose_b ? column * problem_.ldb + k : k * problem_.ldb + column);
  }

  void multiply_prepacked() {
    const PackedMatrix& packed = *problem_.packed;
    if (packed.k() != problem_.k || packed.n() != problem_.n || packed.isa() != active())
      throw Error(ErrorKind::internal, "a packed matrix does not fit its product");
    for_each_tile({0, problem_.n}, [&](Range rows, Range columns) {
      for_each_k_block([&](Range k) {
        GemmBlock part_of_c = block(rows, columns, k);
        const std::int64_t width = table_.tile_columns;
        part_of_c.b_packed = true;
        part_of_c.b = packed.data() + columns.begin * problem_.k;
        part_of_c.b_panel = width * problem_.k;
        part_of_c.b_start = k.begin;
        table_.multiply(part_of_c);
      });
    });
  }

  // Cuts [0, m) × columns into tiles, several for each thread, and calls body(rows, columns) for each.
  template <class Body>
  void for_each_tile(Range columns, Body&& body) {
    const std::int64_t row_step = round_up(std::min(problem_.m, kRowsInBlock), table_.tile_rows);
    const double per_column =
        static_cast<double>(row_step) * static_cast<double>(std::max<std::int64_t>(1, problem_.k));
    std::int64_t column_step =
        round_up(static_cast<std::int64_t>(kOperationsInTask / per_column) + 1, table_.tile_columns);
    const std::int64_t row_tasks = ceil_divide(problem_.m, row_step);
    column_step = std::min(column_step, round_up(columns.size(), table_.tile_columns));
    const std::int64_t column_tasks = ceil_divide(columns.size(), column_step);
    for_each(row_tasks * column_tasks, [&](std::int64_t task, int) {
      Range of_columns = part(columns.size(), column_step, task / row_tasks);
      of_columns = {columns.begin + of_columns.begin, columns.begin + of_columns.end};
      body(part(problem_.m, row_step, task % row_tasks), of_columns);
    });
  }

  void multiply_few_rows() {
    const std::int64_t width = table_.tile_columns;
    const std::int64_t panels = ceil_divide(problem_.n, width);
    for_each(panels, [&](std::int64_t panel, int worker) {
      const Range columns = part(problem_.n, width, panel);
      const bool in_place = !problem_.transpose_b && columns.size() == width;
      for_each_k_block([&](Range k) {
        GemmBlock part_of_c = block({0, problem_.m}, columns, k);
        const float* b = source_of_b(k.begin, columns.begin);
        if (in_place) {
          part_of_c.b = b;
          part_of_c.b_stride = problem_.ldb;
        } else {
          auto* packed = reinterpret_cast<float*>(
              pool_.scratch(worker, static_cast<std::size_t>(k_block_ * width) * sizeof(float)));
          table_.pack_b(b, problem_.ldb, problem_.transpose_b, k.size(), columns.size(), packed);
          part_of_c.b = packed;
          part_of_c.b_packed = true;
        }
        table_.multiply(part_of_c);
      });
    });
  }

  // For each range of columns and block of k: pack B (and A, where transposed) together, then multiply.
  void multiply_in_phases() {
    const std::int64_t width = table_.tile_columns;
    const std::int64_t n_block = round_up(kSharedBytes / 4 / k_block_, width);
    const std::int64_t n_padded = round_up(std::min(problem_.n, n_block), width);
    const std::int64_t slivers = problem_.transpose_a ? ceil_divide(problem_.m, table_.tile_rows) : 0;
    const std::int64_t sliver_size = table_.tile_rows * k_block_;
    auto* packed_b = reinterpret_cast<float*>(
        pool_.scratch(pool_.current_worker(),
                      static_cast<std::size_t>(n_padded * k_block_ + slivers * sliver_size + table_.lanes) *
                          sizeof(float)));
    float* packed_a = packed_b + n_padded * k_block_;

    for (std::int64_t begin = 0; begin < problem_.n; begin += n_block) {
      const Range columns{begin, std::min(problem_.n, begin + n_block)};
      const std::int64_t panels = ceil_divide(columns.size(), width);
      for_each_k_block([&](Range k) {
        for_each(panels + slivers, [&](std::int64_t task, int) {
          if (task < panels) {
            const Range own = part(columns.size(), width, task);
            table_.pack_b(source_of_b(k.begin, columns.begin + own.begin), problem_.ldb, problem_.transpose_b,
                          k.size(), own.size(), packed_b + task * width * k_block_);
          } else {
            const Range own = part(problem_.m, table_.tile_rows, task - panels);
            table_.pack_a(problem_.a + k.begin * problem_.lda + own.begin, problem_.lda, k.size(), own.size(),
                          packed_a + (task - panels) * sliver_size);
          }
        });
        for_each_tile(columns, [&](Range rows, Range own) {
          GemmBlock part_of_c = block(rows, own, k);
          part_of_c.b_packed = true;
          part_of_c.b = packed_b + (own.begin - columns.begin) * k_block_;
          part_of_c.b_panel = width * k_block_;
          if (problem_.transpose_a) {
            part_of_c.a = packed_a + rows.begin * k_block_;
            part_of_c.a_stride = table_.tile_rows;
            part_of_c.a_sliver = sliver_size;
          }
          table_.multiply(part_of_c);
        });
      });
    }
  }

  ThreadPool& pool_;
  const Gemm& problem_;
  const GemmTable& table_;
  std::int64_t k_block_ = 0;
  bool threaded_ = false;
};

}  // namespace

PackedMatrix pack(ThreadPool& pool, const float* b, std::int64_t ldb, bool transpose_b, std::int64_t k,
                  std::int64_t n) {
  const GemmTable& table = dispatch_gemm_table();
  const std::int64_t width = table.tile_columns;
  const std::int64_t columns = round_up(n, table.lanes);
  PackedMatrix result;
  result.k_ = k;
  result.n_ = n;
  result.isa_ = active();
  const std::size_t bytes =
      static_cast<std::size_t>(round_up(std::max<std::int64_t>(1, columns * k) * 4, 64));
  auto* data = static_cast<float*>(std::aligned_alloc(64, bytes));
  if (data == nullptr) throw std::bad_alloc();
  result.data_ = {data, std::free};
  pool.parallel_for(ceil_divide(n, width), [&](std::int64_t panel, int) {
    const Range own = part(n, width, panel);
    table.pack_b(b + (transpose_b ? own.begin * ldb : own.begin), ldb, transpose_b, k, own.size(),
                 data + own.begin * k);
  });
  return result;
}

void gemm(ThreadPool& pool, const Gemm& problem) {
  if (problem.m <= 0 || problem.n <= 0) return;
  Product(pool, problem).run();
}

}  // namespace regard::kernels
