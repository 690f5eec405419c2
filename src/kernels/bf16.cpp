// Select the bf16 path, and divide bf16 products into tasks. The division does not change the result.
#include "kernels/bf16.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "kernels/amx.h"
#include "kernels/bf16_table.h"
#include "kernels/dispatch.h"
#include "kernels/gemm_tiling.h"
#include "kernels/partition.h"
#include "kernels/rows.h"
#include "regard/error.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(Bf16Table, bf16_table)

namespace {

// minimum number of multiply-adds for several threads; below it, one thread is faster
constexpr double kBf16WorkForThreads = 1e6;
// maximum size in bytes of a task's packed rows of A; a task with kTaskRows rows may exceed it
constexpr std::int64_t kBytesOfRows = 512 << 10;
constexpr std::int64_t kTaskRows = 32, kMostTaskRows = 512;
constexpr std::int64_t kTasksForThread = 2;
constexpr int kNoPath = -1;

// Return true if REGARD_ISA is "avx512". This value excludes AMX, and selects VDPBF16PS even on processors on
// which it is slower than f32.
bool avx512_is_requested() {
  const char* cap = std::getenv("REGARD_ISA");
  return cap != nullptr && name_of(Isa::avx512) == cap;
}

std::vector<Bf16Path> find_paths() {
  std::vector<Bf16Path> paths;
  constexpr int kAvx512Bf16 = 5;
  const std::vector<Isa>& isas = available();
  if (std::find(isas.begin(), isas.end(), Isa::avx512) == isas.end() || !has_bit_of_leaf_7_1(kAvx512Bf16))
    return paths;
  paths.push_back(Bf16Path::avx512_bf16);
  if (!avx512_is_requested() && has_amx(AmxFeature::bf16)) paths.push_back(Bf16Path::amx_bf16);
  return paths;
}

std::atomic<int>& chosen_path() {
  static std::atomic<int> path{kNoPath};
  return path;
}

std::int64_t blocks_of(std::int64_t k) {
  return ceil_divide(k, kBf16Steps);
}

std::int64_t panel_numbers(std::int64_t k) {
  return blocks_of(k) * kBf16Steps * kBf16PanelColumns;
}

// A matrix [lines, k], stored as f32 at `data` or as bf16 at `stored`. The lines are rows of A or columns of
// B.
struct Bf16Lines {
  const float* data;
  const std::uint16_t* stored;
  // true: adjacent lines are adjacent in memory; false: adjacent elements of a line are adjacent in memory
  bool along;
  std::int64_t stride, k;

  Bf16Source source(Range lines) const {
    const std::int64_t first = lines.begin * (along ? 1 : stride);
    Bf16Source source;
    if (stored != nullptr)
      source.stored = stored + first;
    else
      source.data = data + first;
    source.line_stride = along ? 1 : stride, source.step_stride = along ? stride : 1;
    source.lines = lines.size(), source.steps = k;
    return source;
  }
};

Bf16Source rows_of_a(const Gemm& problem, const Bf16Storage& stored, Range rows) {
  return Bf16Lines{problem.a, stored.a, problem.transpose_a, problem.lda, problem.k}.source(rows);
}

Bf16Source columns_of_b(const Gemm& problem, const Bf16Storage& stored, Range columns) {
  return Bf16Lines{problem.b, stored.b, !problem.transpose_b, problem.ldb, problem.k}.source(columns);
}

const Bf16Table::Path& active_table() {
  return dispatch_bf16_table().of[static_cast<int>(active_bf16_path())];
}

class Bf16Product {
 public:
  Bf16Product(ThreadPool& pool, const Gemm& problem, const Bf16Storage& stored)
      : pool_(pool),
        problem_(problem),
        stored_(stored),
        table_(active_table()),
        panels_(ceil_divide(problem.n, kBf16PanelColumns)) {
    const double work =
        static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
    threads_ = work >= kBf16WorkForThreads ? pool.size() : 1;
    if (stored.dropout != nullptr)
      dropout_ = {dropout_draw(stored.dropout->key, stored.dropout->rate), stored.dropout->sequence_index,
                  stored.dropout->position};
  }

  void run(const Bf16Matrix* packed) {
    const auto turn = pool_.take_turn();
    caller_ = pool_.current_worker();
    if (!turn.owns_lock()) threads_ = 1;  // use one thread if the caller runs inside a task of the pool
    choose_tasks();
    const std::int64_t own = row_step_ * blocks_of(problem_.k) * kBf16Steps;
    const std::uint16_t* b = nullptr;
    if (packed != nullptr) {
      b = packed->data + problem_.packed_column / kBf16PanelColumns * panel_numbers(problem_.k);
    } else {
      shared_ = panels_ * panel_numbers(problem_.k);
      std::uint16_t* to = scratch(caller_, own) - shared_;
      pack(to);
      b = to;
    }
    for (int worker = 0; worker < (threads_ > 1 ? pool_.size() : 0); ++worker) scratch(worker, own);
    const std::int64_t row_tasks = ceil_divide(problem_.m, row_step_);
    for_each(row_tasks * ceil_divide(panels_, panel_step_), [&](std::int64_t task, int worker) {
      multiply(part(problem_.m, row_step_, task % row_tasks), part(panels_, panel_step_, task / row_tasks), b,
               scratch(worker, own));
    });
  }

  // Pack all panels of B.
  void pack(std::uint16_t* to) {
    for_each(panels_, [&](std::int64_t panel, int) {
      table_.pack_b(columns_of_b(problem_, stored_, part(problem_.n, kBf16PanelColumns, panel)),
                    to + panel * panel_numbers(problem_.k));
    });
  }

 private:
  template <class Body>
  void for_each(std::int64_t tasks, Body&& body) {
    for_tasks(pool_, threads_ > 1, caller_, tasks, body);
  }

  // Choose the number of rows per task: as many as fit into the L2 cache, but few enough that every thread
  // gets tasks. If there are few rows, the columns are divided too.
  void choose_tasks() {
    const std::int64_t tasks = threads_ > 1 ? kTasksForThread * threads_ : 1;
    const std::int64_t fitting =
        kBytesOfRows / 2 / (blocks_of(problem_.k) * kBf16Steps) / kTaskRows * kTaskRows;
    const std::int64_t shared = round_up(ceil_divide(problem_.m, tasks), kTaskRows);
    row_step_ = std::max(kTaskRows, std::min({fitting, shared, kMostTaskRows}));
    const std::int64_t groups = ceil_divide(tasks, ceil_divide(problem_.m, row_step_));
    panel_step_ = ceil_divide(panels_, std::min(groups, panels_));
  }

  // Return the worker's scratch memory for packed rows of A. On the calling thread, this memory follows the
  // packed B, if there is one.
  std::uint16_t* scratch(int worker, std::int64_t numbers) {
    const std::int64_t before = worker == caller_ ? shared_ : 0;
    const std::size_t bytes = static_cast<std::size_t>(before + numbers) * sizeof(std::uint16_t);
    return reinterpret_cast<std::uint16_t*>(pool_.scratch(worker, bytes)) + before;
  }

  void multiply(Range rows, Range panels, const std::uint16_t* b, std::uint16_t* a) {
    Bf16Block block;
    block.rows = rows.size(), block.blocks = blocks_of(problem_.k);
    block.a = tiles_of_a(rows, a);
    block.ldc = problem_.ldc, block.accumulate = problem_.accumulate;
    block.epilogue = &problem_.epilogue;
    block.row = rows.begin;
    for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const Range columns = part(problem_.n, kBf16PanelColumns, panel);
      block.columns = columns.size(), block.column = columns.begin;
      block.b = b + panel * panel_numbers(problem_.k);
      const std::int64_t place = rows.begin * problem_.ldc + columns.begin;
      if (stored_.c != nullptr) {
        block.stored = stored_.c + place;
        block.stored_pre = stored_.pre != nullptr ? stored_.pre + place : nullptr;
        block.activated = stored_.activated != nullptr ? stored_.activated + place : nullptr;
        block.dropout = stored_.dropout != nullptr ? &dropout_ : nullptr;
      } else {
        block.c = problem_.c + place;
      }
      table_.multiply(block);
    }
  }

  // Return the rows of A: a view if the bf16 path can multiply them unpacked, otherwise a packed copy in
  // `memory`.
  Bf16Tiles tiles_of_a(Range rows, std::uint16_t* memory) const {
    const bool complete = rows.size() % kBf16Rows == 0 && problem_.k % kBf16Steps == 0;
    if (table_.reads_rows && stored_.a != nullptr && !problem_.transpose_a && complete)
      return Bf16Tiles::matrix(stored_.a + rows.begin * problem_.lda, problem_.lda);
    table_.pack_a(rows_of_a(problem_, stored_, rows), memory);
    return Bf16Tiles::packed(memory, blocks_of(problem_.k));
  }

  ThreadPool& pool_;
  const Gemm& problem_;
  const Bf16Storage& stored_;
  Bf16Dropout dropout_;
  const Bf16Table::Path& table_;
  std::int64_t panels_;
  int threads_ = 1, caller_ = 0;
  std::int64_t row_step_ = kTaskRows, panel_step_ = 1, shared_ = 0;
};

void check_storage(const Gemm& problem, const Bf16Storage& stored) {
  const bool stores = stored.c != nullptr;
  const auto refuse_if = [](bool wrong, const char* why) {
    if (wrong)
      throw Error(ErrorKind::internal,
                  std::string("invalid arguments of a product with bf16 storage: ") + why);
  };
  refuse_if((stored.a != nullptr || stored.b != nullptr || stores) && problem.k <= 0, "k must be at least 1");
  refuse_if(stores && (problem.accumulate || problem.epilogue.residual != nullptr),
            "C in bf16 cannot be combined with accumulation or a residual");
  refuse_if((stored.pre != nullptr || stored.dropout != nullptr) && !stores,
            "pre and dropout require C in bf16");
  refuse_if(stored.activated != nullptr && (stored.pre == nullptr || problem.epilogue.bias != nullptr),
            "activated requires pre and cannot be combined with a bias");
}

}  // namespace

const Bf16Table& bf16_functions() {
  return dispatch_bf16_table();
}

std::string_view name_of(Bf16Path path) {
  constexpr std::string_view kNames[] = {"emulated", "avx512_bf16", "amx_bf16"};
  return kNames[static_cast<std::size_t>(path)];
}

const std::vector<Bf16Path>& bf16_paths() {
  static const std::vector<Bf16Path> none, paths = find_paths();
  return active() == Isa::avx512 ? paths : none;
}

std::optional<Bf16Path> default_bf16_path() {
  static const bool fast_avx512 = has_fast_bf16_instructions() || avx512_is_requested();
  const std::vector<Bf16Path>& paths = bf16_paths();
  if (paths.empty() || (paths.back() == Bf16Path::avx512_bf16 && !fast_avx512)) return std::nullopt;
  return paths.back();
}

void require_bf16(const std::string& what) {
  if (chosen_path().load(std::memory_order_relaxed) != kNoPath || default_bf16_path()) return;
  if (!bf16_paths().empty())
    throw usage_error(what + " is slower than f32 on this processor")
        .found("AVX512_BF16 of a processor that is not AMD's")
        .expected("AMX-BF16, or AVX512_BF16 of an AMD processor (Zen 4 or later)")
        .remedy("Use the precision f32, or set REGARD_ISA=avx512 to use bf16 nevertheless");
  throw usage_error(what + " needs a processor with bf16 instructions")
      .found(active() == Isa::avx512 ? "a processor without AVX512_BF16"
                                     : "the instruction set " + std::string(name_of(active())))
      .expected("AMX-BF16, or AVX512_BF16 of an AMD processor (Zen 4 or later)")
      .remedy("Use the precision f32");
}

Bf16Path active_bf16_path() {
  const int path = chosen_path().load(std::memory_order_relaxed);
  if (path != kNoPath) return static_cast<Bf16Path>(path);
  require_bf16("the precision bf16");
  return *default_bf16_path();
}

void set_bf16_path(Bf16Path path) {
  const std::vector<Bf16Path>& all = bf16_paths();
  if (path != Bf16Path::emulated && std::find(all.begin(), all.end(), path) == all.end())
    throw usage_error("the bf16 path is not available on this processor")
        .found(std::string(name_of(path)))
        .expected(names_of(all) + (all.empty() ? "" : ", ") + std::string(name_of(Bf16Path::emulated)));
  chosen_path().store(static_cast<int>(path), std::memory_order_relaxed);
}

void reset_bf16_path() {
  chosen_path().store(kNoPath, std::memory_order_relaxed);
}

std::int64_t bf16_packed_bytes(std::int64_t k, std::int64_t n) {
  return ceil_divide(n, kBf16PanelColumns) * panel_numbers(k) *
         static_cast<std::int64_t>(sizeof(std::uint16_t));
}

Bf16Matrix pack_bf16(ThreadPool& pool, const Gemm& problem, std::byte* memory) {
  auto* data = reinterpret_cast<std::uint16_t*>(memory);
  Gemm whole = problem;
  whole.m = whole.n;  // m may be unset, but the constructor chooses the number of threads from m · n · k
  const Bf16Storage none;
  Bf16Product(pool, whole, none).pack(data);
  return {data, problem.k, problem.n};
}

void gemm_bf16(ThreadPool& pool, const Gemm& problem, const Bf16Matrix* packed, const Bf16Storage& stored) {
  if (problem.m <= 0 || problem.n <= 0) return;
  if (problem.packed != nullptr ||
      (packed != nullptr && (packed->k != problem.k || problem.packed_column % kBf16PanelColumns != 0 ||
                             problem.packed_column + problem.n > packed->n)))
    throw Error(ErrorKind::internal, "the packed matrix does not fit the product")
        .expected("a bf16 matrix of " + std::to_string(problem.k) + " rows and at least " +
                  std::to_string(problem.packed_column + problem.n) + " columns");
  check_storage(problem, stored);
  // If the sum over k is empty, the operands have no elements, so gemm() computes the same result.
  if (problem.k <= 0) return gemm(pool, problem);
  Bf16Product(pool, problem, stored).run(packed);
}

void round_to_bf16(ThreadPool& pool, const float* x, std::uint16_t* y, std::int64_t count) {
  const Bf16Table& table = bf16_functions();
  for_elements(pool, count,
               [&](std::int64_t begin, std::int64_t end) { table.round(x + begin, y + begin, end - begin); });
}

void widen_bf16(ThreadPool& pool, const std::uint16_t* x, float* y, std::int64_t count) {
  const Bf16Table& table = bf16_functions();
  for_elements(pool, count,
               [&](std::int64_t begin, std::int64_t end) { table.widen(x + begin, y + begin, end - begin); });
}

}  // namespace regard::kernels
