// regard bench gemm: speed of one matrix product.
#include <cmath>
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "kernels/gemm.h"
#include "regard/error.h"
#include "regard/tensor.h"
#include "tensor/arena.h"

namespace regard::cli {
namespace {

struct GemmBenchRequest {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, packed = false, accumulate = false;
  std::string dtype = "f32";
};

float* random_matrix(Arena& arena, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("bench")});
  auto* values =
      reinterpret_cast<float*>(arena.allocate(static_cast<std::size_t>(rows * columns) * sizeof(float)));
  for (std::int64_t i = 0; i < rows * columns; ++i) values[i] = stream.next_uniform() - 0.5f;
  return values;
}

// Pack B in advance, like model weights of type `dtype`. For int8, each value is 254 · b, rounded, and the
// scale is 1 / 254.
kernels::PackedMatrix pack_as(const std::string& dtype, ThreadPool& pool, const kernels::Gemm& problem) {
  if (dtype == "f32")
    return kernels::pack(pool, problem.b, problem.ldb, problem.transpose_b, problem.k, problem.n);
  const auto count = static_cast<std::size_t>(problem.k * problem.n);
  std::vector<std::uint16_t> halves(dtype == "int8" ? 0 : count);
  std::vector<std::int8_t> bytes(dtype == "int8" ? count : 0);
  const std::vector<float> scale(static_cast<std::size_t>(problem.n), 1.0f / 254);
  for (std::size_t i = 0; i < halves.size(); ++i)
    halves[i] = dtype == "f16" ? to_f16(problem.b[i]) : to_bf16(problem.b[i]);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::int8_t>(std::lrint(254.0f * problem.b[i]));
  const void* data = bytes.empty() ? static_cast<const void*>(halves.data()) : bytes.data();
  const kernels::MatrixPart part{data, problem.n, problem.ldb, scale.data()};
  const auto type = dtype == "int8"  ? kernels::WeightType::i8
                    : dtype == "f16" ? kernels::WeightType::f16
                                     : kernels::WeightType::bf16;
  return kernels::pack(pool, {type, problem.k, problem.transpose_b, {&part, 1}});
}

void check(const GemmBenchRequest& request) {
  if (request.dtype != "f32" && (!request.packed || request.transpose_a || request.accumulate))
    throw usage_error("--dtype " + request.dtype +
                      " needs --packed and cannot be combined with --transpose-a or --accumulate")
        .remedy("Add --packed, and remove --transpose-a and --accumulate");
}

void run(const GemmBenchRequest& request, Globals& globals) {
  check(request);
  Arena arena;
  kernels::Gemm problem;
  problem.m = request.m, problem.n = request.n, problem.k = request.k;
  problem.a = random_matrix(arena, request.m, request.k, globals.seed);
  problem.b = random_matrix(arena, request.k, request.n, globals.seed + 1);
  problem.c = random_matrix(arena, request.m, request.n, globals.seed + 2);
  problem.lda = request.transpose_a ? request.m : request.k;
  problem.ldb = request.transpose_b ? request.k : request.n;
  problem.ldc = request.n;
  problem.transpose_a = request.transpose_a, problem.transpose_b = request.transpose_b;
  problem.accumulate = request.accumulate;
  kernels::PackedMatrix packed;
  if (request.packed) {
    packed = pack_as(request.dtype, globals.pool(), problem);
    problem.packed = &packed;
  }
  const Timing timing = time_repeatedly([&] { kernels::gemm(globals.pool(), problem); });
  const double operations =
      2.0 * static_cast<double>(request.m) * static_cast<double>(request.n) * static_cast<double>(request.k);
  Json line = bench_line("gemm", globals);
  line["m"] = request.m, line["n"] = request.n, line["k"] = request.k;
  line["transpose_a"] = request.transpose_a, line["transpose_b"] = request.transpose_b;
  line["packed"] = request.packed, line["dtype"] = request.dtype;
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms;
  line["cpu_ms"] = timing.processor_ms;
  line["gflops"] = operations / timing.median_ms * 1e-6;
  print_line(line);
}

}  // namespace

void add_bench_gemm(CLI::App& bench, Globals& globals) {
  const auto [gemm, request] =
      add_command<GemmBenchRequest>(bench, "gemm", "Time one matrix product, C [m, n] = A [m, k] B [k, n]");
  const CLI::Range sizes(1, 1 << 24);
  gemm->add_option("--m", request->m, "Number of rows of A and C")->required()->check(sizes);
  gemm->add_option("--n", request->n, "Number of columns of B and C")->required()->check(sizes);
  gemm->add_option("--k", request->k, "Number of columns of A and of rows of B")->required()->check(sizes);
  gemm->add_flag("--transpose-a", request->transpose_a, "A is stored as [k, m]");
  gemm->add_flag("--transpose-b", request->transpose_b, "B is stored as [n, k]");
  gemm->add_flag("--packed", request->packed, "Pack B before the timing, as for decoding");
  gemm->add_flag("--accumulate", request->accumulate, "Add to C instead of overwriting it");
  add_checked_option(*gemm, "--dtype", request->dtype, "Data type of a packed B",
                     CLI::IsMember({"f32", "f16", "bf16", "int8"}));
  set_action(*gemm, globals, request, run, {.seed = true});
}

}  // namespace regard::cli
