// Divide matrix products into blocks and tasks. Results are bit-identical for every division: the
// multiply-adds of an element are executed in the order of k, and C keeps the partial sums between blocks of
// k.
#include "kernels/gemm.h"

#include <algorithm>
#include <atomic>

#include "kernels/bf16.h"
#include "kernels/dispatch.h"
#include "kernels/gemm_table.h"
#include "kernels/gemm_tiling.h"
#include "kernels/int8.h"
#include "kernels/partition.h"
#include "kernels/runs.h"
#include "regard/error.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(GemmTable, gemm_table)

namespace {

// maximum number of bytes of B that one phase packs; less than the shared L3 cache
constexpr std::int64_t kSharedBytes = 8 << 20;
constexpr std::int64_t kFloatsInPage = 1024;
// For products with at most this many rows, packing all of B first would be slower.
constexpr std::int64_t kFewRows = 24;
constexpr std::int64_t kRowsToWidenFor = 16;
// maximum number of rows of a tile if B has 16-bit elements, which are widened once per tile
constexpr std::int64_t kRowsOfWidened = 192;

// Prefetch distance, in floats, for a packed B that is read only once. The prefetched address may be in the
// next panel.
constexpr std::int64_t kStreamedAhead = 2048;

// Products with fewer multiply-adds run on one thread, which is faster.
constexpr double kWorkForThreads = 400e3;

// Computes one product: selects the path and calls the inner loops of the instruction set.
class Product {
 public:
  Product(ThreadPool& pool, const Gemm& problem)
      : pool_(pool), problem_(problem), table_(dispatch_gemm_table()) {
    const double work = estimated_work(problem.m, problem.n, problem.k);
    threads_ = work >= kWorkForThreads ? pool.size() : 1;
  }

  void run() {
    const auto turn = pool_.take_turn();
    caller_ = pool_.current_worker();
    if (!turn.owns_lock()) threads_ = 1;  // use one thread if the caller runs inside a task of the pool
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
    for_tasks(pool_, threads_ > 1, caller_, tasks, body);
  }

  // Call `body` for each block of k, and once if k = 0, so that C is written.
  template <class Body>
  void for_each_k_block(std::int64_t step, Body&& body) const {
    std::int64_t begin = 0;
    do {
      const std::int64_t end = std::min(problem_.k, begin + step);
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
    result.a = source_of_a(rows.begin, k.begin);
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

  // Transposed A is read in place unless its row stride is a multiple of the page size. In that case its rows
  // map to the same few cache sets, so it is packed.
  bool packs_a() const { return problem_.transpose_a && problem_.lda % kFloatsInPage == 0; }

  const float* source_of_a(std::int64_t row, std::int64_t k) const {
    return problem_.a + (problem_.transpose_a ? k * problem_.lda + row : row * problem_.lda + k);
  }

  const float* source_of_b(std::int64_t k, std::int64_t column) const {
    return problem_.b + (problem_.transpose_b ? column * problem_.ldb + k : k * problem_.ldb + column);
  }

  // Return `floats` floats of the worker's scratch memory. On the calling thread, they follow the packed B of
  // multiply_phase(), which all workers read.
  float* own_scratch(int worker, std::int64_t floats) {
    const std::int64_t before = worker == caller_ ? shared_floats_ : 0;
    const std::size_t bytes = static_cast<std::size_t>(before + floats) * sizeof(float);
    return reinterpret_cast<float*>(pool_.scratch(worker, bytes)) + before;
  }

  // Reserve scratch memory for every worker before the loop, so that no worker allocates in a later call.
  void reserve_scratch(std::int64_t floats) {
    for (int worker = 0; worker < (threads_ > 1 ? pool_.size() : 0); ++worker) own_scratch(worker, floats);
  }

  // Packed B: consecutive panels from column `first_column`, each over all of k.
  struct Panels {
    std::int64_t first_column = 0;
    const float* f32 = nullptr;
    const std::uint16_t* halves = nullptr;  // packed f16 elements (bf16 if `brain`), used instead of f32
    bool brain = false;
  };

  void set_panels(GemmBlock& tile, const Panels& panels, Range columns, Range k, float* widened) const {
    const std::int64_t column = columns.begin - panels.first_column;
    if (panels.halves == nullptr) {
      tile.b_packed = true;
      tile.b = panels.f32 + column * problem_.k;
      tile.b_panel = table_.tile_columns * problem_.k;
      tile.b_start = k.begin;
      return;
    }
    const std::int64_t width = round_up(std::min(table_.tile_columns, columns.size()), table_.lanes);
    tile.halves = panels.halves + column * padded_k() + k.begin * width;
    tile.brain = panels.brain;
    tile.b_panel = table_.tile_columns * padded_k();
    tile.widened = widened;
    // prefetch the panel's following steps of k, or the next panel
    tile.ahead = tile.halves + k.size() * width;
  }

  // Return k rounded up to an even number, the size of k in packed 16-bit matrices.
  std::int64_t padded_k() const { return round_up(problem_.k, 2); }

  // Compute one tile of C over all of k.
  void multiply_tile(const GemmTiling& tiling, Range rows, Range columns, const Panels& panels, float* own) {
    for_each_k_block(tiling.k_step, [&](Range k) {
      GemmBlock tile = block(rows, columns, k);
      set_panels(tile, panels, columns, k, own + packed_a_floats(tiling));
      if (packs_a()) {
        tile.a = own;
        tile.a_stride = table_.tile_rows;
        tile.a_sliver = sliver_floats(k.size());
        table_.pack_a(source_of_a(rows.begin, k.begin), problem_.lda, k.size(), rows.size(),
                      {own, tile.a_sliver});
      }
      (panels.halves == nullptr ? table_.multiply : table_.multiply_halves)(tile);
    });
  }

  void multiply_prepacked() {
    const PackedMatrix& packed = *problem_.packed;
    const std::int64_t first = problem_.packed_column, end = first + problem_.n;
    const bool whole_panels =
        first % table_.tile_columns == 0 && (end == packed.n() || end % table_.tile_columns == 0);
    if (packed.k() != problem_.k || first < 0 || end > packed.n() || !whole_panels ||
        packed.isa() != active() || (packed.type() != WeightType::f32 && problem_.transpose_a))
      throw mismatch_of(packed, problem_.k, end);
    Panels panels;
    if (packed.type() == WeightType::f32) {
      panels.f32 = packed.f32() + first * problem_.k;
    } else {
      panels.halves = reinterpret_cast<const std::uint16_t*>(packed.data()) + first * padded_k();
      panels.brain = packed.type() == WeightType::bf16;
      if (problem_.m <= kRowsToWidenFor) return multiply_halves(panels);
    }
    if (problem_.m <= table_.tile_rows && !problem_.transpose_a) return multiply_streamed(panels);
    GemmTiling tiling = choose_tiling(table_, {problem_.m, problem_.n, problem_.k, threads_, packs_a()});
    if (panels.halves != nullptr) {
      tiling.column_step = table_.tile_columns;
      tiling.row_step = round_up(std::min(problem_.m, kRowsOfWidened), table_.tile_rows);
    }
    const std::int64_t row_tiles = ceil_divide(problem_.m, tiling.row_step);
    const std::int64_t column_tiles = ceil_divide(problem_.n, tiling.column_step);
    const std::int64_t floats =
        packed_a_floats(tiling) + (panels.halves == nullptr ? 0 : tiling.column_step * tiling.k_step);
    reserve_scratch(floats);
    const auto multiply = [&](std::int64_t task, int worker) {
      multiply_tile(tiling, part(problem_.m, tiling.row_step, task % row_tiles),
                    part(problem_.n, tiling.column_step, task / row_tiles), panels,
                    own_scratch(worker, floats));
    };
    if (panels.halves == nullptr) return for_each(row_tiles * column_tiles, multiply);
    // Multiplying a tile prefetches the next panel, so each thread gets a range of adjacent tiles.
    Runs runs(row_tiles * column_tiles, threads_);
    for_each(threads_, [&](std::int64_t, int worker) {
      runs.take(worker, [&](std::int64_t task) { multiply(task, worker); });
    });
  }

  // Compute the product with one tile per group of `panels` panels, so that B is read from memory only once.
  // For each tile, call prepare(tile, columns), which sets the location of the panels in `tile`, and then
  // multiply(tile).
  template <class Prepare>
  void stream_panels(void (*multiply)(const GemmBlock&), std::int64_t panels, const Prepare& prepare) {
    const std::int64_t width = panels * table_.tile_columns;
    // each thread gets a range of adjacent groups
    Runs runs(ceil_divide(problem_.n, width), threads_);
    for_each(threads_, [&](std::int64_t, int worker) {
      runs.take(worker, [&](std::int64_t group) {
        const Range columns = part(problem_.n, width, group);
        GemmBlock tile = block({0, problem_.m}, columns, {0, problem_.k});
        prepare(tile, columns);
        multiply(tile);
      });
    });
  }

  // Multiply at most table_.tile_rows rows by packed f32 panels. Reading B from memory limits the speed.
  void multiply_streamed(const Panels& panels) {
    stream_panels(table_.multiply, 1, [&](GemmBlock& tile, Range columns) {
      set_panels(tile, panels, columns, {0, problem_.k}, nullptr);
      tile.ahead = tile.b + kStreamedAhead;
    });
  }

  // Multiply at most kRowsToWidenFor rows with packed 16-bit elements. The elements are converted while they
  // are read, without a buffer.
  void multiply_halves(const Panels& panels) {
    stream_panels(table_.multiply_halves, table_.panels_together, [&](GemmBlock& tile, Range columns) {
      set_panels(tile, panels, columns, {0, problem_.k}, nullptr);
    });
  }

  std::int64_t packed_a_floats(const GemmTiling& tiling) const {
    return packs_a() ? tiling.row_step / table_.tile_rows * sliver_floats(tiling.k_step) : 0;
  }

  // Return the stride between slivers [k, tile_rows] of packed A. One cache line is added, because slivers at
  // multiples of 4 KiB would map to the same few L1 sets.
  std::int64_t sliver_floats(std::int64_t k) const { return table_.tile_rows * k + 16; }

  void multiply_few_rows() {
    const std::int64_t width = table_.tile_columns;
    const std::int64_t panels = ceil_divide(problem_.n, width);
    const std::int64_t k_step = choose_k_step(table_, problem_.k);
    reserve_scratch(k_step * width);
    for_each(panels, [&](std::int64_t panel, int worker) {
      const Range columns = part(problem_.n, width, panel);
      const bool in_place = !problem_.transpose_b && columns.size() == width;
      for_each_k_block(k_step, [&](Range k) {
        GemmBlock tile = block({0, problem_.m}, columns, k);
        const float* b = source_of_b(k.begin, columns.begin);
        if (in_place) {
          tile.b = b;
          tile.b_stride = problem_.ldb;
        } else {
          float* packed = own_scratch(worker, k_step * width);
          table_.pack_b(b, problem_.ldb, problem_.transpose_b, k.size(), columns.size(), {packed, 0});
          tile.b = packed;
          tile.b_packed = true;
        }
        table_.multiply(tile);
      });
    });
  }

  // Pack and multiply as many columns per phase as fit into kSharedBytes.
  void multiply_in_phases() {
    const std::int64_t width = table_.tile_columns;
    const std::int64_t fitting = kSharedBytes / 4 / std::max<std::int64_t>(1, problem_.k) / width * width;
    const std::int64_t phases = ceil_divide(problem_.n, std::max(width, fitting));
    const std::int64_t step = round_up(ceil_divide(problem_.n, phases), width);
    for (std::int64_t begin = 0; begin < problem_.n; begin += step)
      multiply_phase({begin, std::min(problem_.n, begin + step)});
  }

  // Division of packing into tasks. If B is transposed, a task packs complete columns, because their source
  // rows are contiguous; otherwise, a task packs some steps of k of several panels.
  struct PackTasks {
    std::int64_t panels = 1, steps = 0;  // number of panels in a task, and of steps of k in a task
    std::int64_t across = 0, along = 0;  // number of tasks over the panels, and over k
    std::int64_t count() const { return across * along; }
  };

  PackTasks choose_pack_tasks(std::int64_t panels) const {
    PackTasks tasks;
    tasks.panels = problem_.transpose_b ? 1 : std::min<std::int64_t>(panels, 8);
    tasks.steps = problem_.transpose_b ? std::max<std::int64_t>(1, problem_.k)
                                       : round_up(ceil_divide(8 * 128, tasks.panels), 16);
    tasks.across = ceil_divide(panels, tasks.panels);
    tasks.along = ceil_divide(problem_.k, tasks.steps);
    return tasks;
  }

  void pack_part(const PackTasks& tasks, std::int64_t task, Range columns, float* packed) {
    const std::int64_t width = table_.tile_columns;
    const Range own = part(columns.size(), tasks.panels * width, task / tasks.along);
    const Range k = part(problem_.k, tasks.steps, task % tasks.along);
    table_.pack_b(source_of_b(k.begin, columns.begin + own.begin), problem_.ldb, problem_.transpose_b,
                  k.size(), own.size(), {packed + own.begin * problem_.k, width * problem_.k, k.begin});
  }

  // The first tasks pack B, and the others multiply. Tasks start in order, so a task that waits for packing
  // waits only for tasks that have already started.
  void multiply_phase(Range columns) {
    const std::int64_t width = table_.tile_columns;
    const std::int64_t panels = ceil_divide(columns.size(), width);
    const GemmTiling tiling =
        choose_tiling(table_, {problem_.m, columns.size(), problem_.k, threads_, packs_a()});
    const std::int64_t row_tiles = ceil_divide(problem_.m, tiling.row_step);
    const std::int64_t column_tiles = ceil_divide(columns.size(), tiling.column_step);
    shared_floats_ = panels * width * problem_.k;
    float* packed = own_scratch(caller_, packed_a_floats(tiling)) - shared_floats_;
    reserve_scratch(packed_a_floats(tiling));
    const PackTasks packing = choose_pack_tasks(panels);
    std::atomic<std::int64_t> packing_left{packing.count()};
    for_each(packing.count() + row_tiles * column_tiles, [&](std::int64_t task, int worker) {
      if (task < packing.count()) {
        pack_part(packing, task, columns, packed);
        packing_left.fetch_sub(1, std::memory_order_release);
        return;
      }
      const std::int64_t tile = task - packing.count();
      pool_.wait_until([&] { return packing_left.load(std::memory_order_acquire) <= 0; });
      Range own = part(columns.size(), tiling.column_step, tile / row_tiles);
      own = {columns.begin + own.begin, columns.begin + own.end};
      multiply_tile(tiling, part(problem_.m, tiling.row_step, tile % row_tiles), own, {columns.begin, packed},
                    own_scratch(worker, packed_a_floats(tiling)));
    });
    shared_floats_ = 0;
  }

  ThreadPool& pool_;
  const Gemm& problem_;
  const GemmTable& table_;
  int threads_ = 1;
  int caller_ = 0;
  std::int64_t shared_floats_ = 0;
};

}  // namespace

void gemm(ThreadPool& pool, const Gemm& problem) {
  if (problem.m <= 0 || problem.n <= 0) return;
  if (problem.packed != nullptr && problem.packed->type() == WeightType::i8)
    return multiply_int8(pool, problem);
  if (problem.packed != nullptr && problem.packed->precision() == Precision::bf16) {
    const PackedMatrix& packed = *problem.packed;
    Gemm unpacked = problem;
    unpacked.packed = nullptr;
    const Bf16Matrix matrix{reinterpret_cast<const std::uint16_t*>(packed.data()), packed.k(), packed.n()};
    return gemm_bf16(pool, unpacked, &matrix);
  }
  Product(pool, problem).run();
}

}  // namespace regard::kernels
