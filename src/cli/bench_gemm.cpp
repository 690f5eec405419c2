// regard bench gemm: one matrix product.
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "kernels/gemm.h"
#include "tensor/arena.h"

namespace regard::cli {
namespace {

struct Request {
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

void run(const Request& request, Globals& globals) {
  check_dtype(request.dtype);
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
    packed = kernels::pack(globals.pool(), problem.b, problem.ldb, problem.transpose_b, request.k, request.n);
    problem.packed = &packed;
  }
  const Timing timing = time_repeatedly([&] { kernels::gemm(globals.pool(), problem); });
  const double operations =
      2.0 * static_cast<double>(request.m) * static_cast<double>(request.n) * static_cast<double>(request.k);
  Json line = bench_line("gemm", globals);
  line["m"] = request.m, line["n"] = request.n, line["k"] = request.k;
  line["transpose_a"] = request.transpose_a, line["transpose_b"] = request.transpose_b;
  line["packed"] = request.packed;
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms;
  line["cpu_ms"] = timing.processor_ms;
  line["gflops"] = operations / timing.median_ms * 1e-6;
  print_line(line);
}

}  // namespace

void add_bench_gemm(CLI::App& bench, Globals& globals) {
  CLI::App* gemm = bench.add_subcommand("gemm", "One matrix product, C [m, n] = A [m, k] B [k, n]");
  const auto request = std::make_shared<Request>();
  const CLI::Range sizes(1, 1 << 24);
  gemm->add_option("--m", request->m, "Rows of A and C")->required()->check(sizes);
  gemm->add_option("--n", request->n, "Columns of B and C")->required()->check(sizes);
  gemm->add_option("--k", request->k, "Columns of A, rows of B")->required()->check(sizes);
  gemm->add_flag("--transpose-a", request->transpose_a, "A lies in memory as [k, m]");
  gemm->add_flag("--transpose-b", request->transpose_b, "B lies in memory as [n, k]");
  gemm->add_flag("--packed", request->packed, "B is packed beforehand, as weights are for decoding");
  gemm->add_flag("--accumulate", request->accumulate, "C += instead of C =");
  add_dtype(*gemm, request->dtype);
  add_globals(*gemm, globals);
  gemm->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
