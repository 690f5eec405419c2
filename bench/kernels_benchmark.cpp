// Benchmarks of single kernels, for their development; reported figures come from `regard bench`. Build with
// -DREGARD_BUILD_BENCHMARKS=ON. REGARD_ISA selects the instruction set, REGARD_THREADS the number of threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/peak.h"
#include "ops/cross_entropy.h"

namespace regard::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool threads([] {
    const char* wanted = std::getenv("REGARD_THREADS");
    return wanted == nullptr ? 0 : std::atoi(wanted);
  }());
  return threads;
}

std::vector<float> random_values(std::int64_t count) {
  RandomStream stream({1, 0, place_of("kernels_benchmark")});
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = stream.next_uniform() - 0.5f;
  return values;
}

void report(benchmark::State& state, double operations) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void peak(benchmark::State& state) {
  std::int64_t operations = 0;
  for (auto _ : state) {
    std::vector<std::int64_t> done(static_cast<std::size_t>(pool().size()));
    pool().parallel_for(pool().size(), [&](std::int64_t task, int) {
      done[static_cast<std::size_t>(task)] = multiply_add_in_registers(100'000);
    });
    operations = 0;
    for (std::int64_t one : done) operations += one;
  }
  report(state, static_cast<double>(operations));
}
BENCHMARK(peak)->UseRealTime();

struct Form {
  bool transpose_a = false, transpose_b = false, packed = false;
};

void product(benchmark::State& state, Form form) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const std::vector<float> a = random_values(m * k), b = random_values(k * n);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  Gemm problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a = a.data(), problem.lda = form.transpose_a ? m : k, problem.transpose_a = form.transpose_a;
  problem.b = b.data(), problem.ldb = form.transpose_b ? k : n, problem.transpose_b = form.transpose_b;
  problem.c = c.data(), problem.ldc = n;
  PackedMatrix packed;
  if (form.packed) {
    packed = pack(pool(), problem.b, problem.ldb, form.transpose_b, k, n);
    problem.packed = &packed;
  }
  for (auto _ : state) gemm(pool(), problem);
  report(state, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

void square_sizes(benchmark::internal::Benchmark* bench) {
  for (std::int64_t size : {512, 1024, 2048}) bench->Args({size, size, size});
}

void forward_sizes(benchmark::internal::Benchmark* bench) {
  square_sizes(bench);
  for (const auto& size : {std::vector<std::int64_t>{768, 384, 128},
                           {768, 512, 128},
                           {768, 128, 512},
                           {4096, 1152, 384},
                           {4096, 384, 1536},
                           {2000, 10000, 128},
                           {16, 128, 128}})
    bench->Args(size);
}

void weight_gradient_sizes(benchmark::internal::Benchmark* bench) {
  for (const auto& size : {std::vector<std::int64_t>{128, 384, 768}, {512, 128, 768}, {384, 1536, 4096}})
    bench->Args(size);
}

void decoding_sizes(benchmark::internal::Benchmark* bench) {
  for (std::int64_t rows : {1, 2, 4, 8, 16}) bench->Args({rows, 3072, 768})->Args({rows, 128, 128});
  bench->Args({1, 50257, 768});
}

BENCHMARK_CAPTURE(product, AB, Form{})->Apply(square_sizes)->UseRealTime();
BENCHMARK_CAPTURE(product, ABt, Form{false, true})->Apply(forward_sizes)->UseRealTime();
BENCHMARK_CAPTURE(product, AtB, Form{true, false})->Apply(weight_gradient_sizes)->UseRealTime();
BENCHMARK_CAPTURE(product, packed, Form{false, true, true})->Apply(decoding_sizes)->UseRealTime();

// arguments: batch, heads, length, head size, causal
void attention(benchmark::State& state, bool backward) {
  const std::int64_t batch = state.range(0), heads = state.range(1), length = state.range(2),
                     dim = state.range(3);
  const std::int64_t width = heads * dim, count = batch * length * width;
  const std::vector<float> query = random_values(count), key = random_values(count),
                           value = random_values(count);
  const std::vector<float> out_gradient = random_values(count);
  std::vector<float> out(query.size()), lse(static_cast<std::size_t>(batch * length * heads));
  std::vector<float> dq(query.size()), dk(query.size()), dv(query.size());
  std::vector<AttentionSequence> sequences(static_cast<std::size_t>(batch));
  for (std::int64_t i = 0; i < batch; ++i) {
    AttentionSequence& sequence = sequences[static_cast<std::size_t>(i)];
    const std::int64_t first = i * length * width;
    sequence.query_begin = i * length, sequence.queries = sequence.keys = length;
    sequence.key = key.data() + first, sequence.value = value.data() + first;
    sequence.key_gradient = dk.data() + first, sequence.value_gradient = dv.data() + first;
  }
  Attention problem;
  problem.heads = problem.kv_heads = heads, problem.head_dim = problem.value_dim = dim;
  problem.scale = 1.0f / std::sqrt(static_cast<float>(dim)), problem.causal = state.range(4) != 0;
  problem.sequences = sequences;
  problem.query = query.data(), problem.out = out.data(), problem.lse = lse.data();
  problem.out_gradient = out_gradient.data(), problem.query_gradient = dq.data();
  for (std::int64_t* stride :
       {&problem.query_stride, &problem.key_stride, &problem.value_stride, &problem.out_stride,
        &problem.out_gradient_stride, &problem.query_gradient_stride, &problem.key_gradient_stride,
        &problem.value_gradient_stride})
    *stride = width;
  for (auto _ : state) {
    attention_forward(pool(), problem);
    if (backward) attention_backward(pool(), problem);
  }
  report(state, (backward ? 3.5 : 1.0) * (problem.causal ? 2.0 : 4.0) * static_cast<double>(count) *
                    static_cast<double>(length));
}

void attention_sizes(benchmark::internal::Benchmark* bench) {
  for (const auto& size : {std::vector<std::int64_t>{8, 8, 128, 64, 0},
                           {8, 8, 512, 64, 1},
                           {1, 12, 1024, 64, 1},
                           {1, 8, 4096, 64, 1},
                           {1, 8, 4096, 128, 0},
                           {64, 4, 32, 32, 0}})
    bench->Args(size);
}

BENCHMARK_CAPTURE(attention, forward, false)->Apply(attention_sizes)->UseRealTime();
BENCHMARK_CAPTURE(attention, both, true)->Apply(attention_sizes)->UseRealTime();

// Cross-entropy fused with the projection. If `gradient` is true, the gradients of `hidden` and `weight` are
// computed too. The reported work is one matrix product, or three with gradients.
void projected_cross_entropy(benchmark::State& state, bool gradient) {
  const std::int64_t rows = state.range(0), classes = state.range(1), features = state.range(2);
  tensor::Arena values, arena;
  const Tensor hidden = values.tensor({rows, features}), weight = values.tensor({classes, features});
  const std::vector<float> numbers = random_values(std::max(hidden.elements(), weight.elements()));
  std::copy_n(numbers.begin(), hidden.elements(), hidden.f32());
  std::copy_n(numbers.begin(), weight.elements(), weight.f32());
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < labels.size(); ++row)
    labels[row] = static_cast<std::int32_t>(row * 7919 % static_cast<std::size_t>(classes));
  ops::Tape tape(pool(), arena);
  ops::Tape::Options options;
  options.record = gradient;
  for (auto _ : state) {
    tape.begin(options);
    ops::Var loss = ops::linear_cross_entropy(tape, tape.input(hidden, gradient),
                                              tape.input(weight, gradient), nullptr, labels);
    if (gradient) tape.backward(loss);
  }
  report(state, (gradient ? 6.0 : 2.0) * static_cast<double>(rows * classes * features));
}
BENCHMARK_CAPTURE(projected_cross_entropy, forward, false)->Args({2000, 10000, 128})->UseRealTime();
BENCHMARK_CAPTURE(projected_cross_entropy, with_gradients, true)->Args({2000, 10000, 128})->UseRealTime();

}  // namespace
}  // namespace regard::kernels

BENCHMARK_MAIN();
