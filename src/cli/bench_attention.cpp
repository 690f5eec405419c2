// regard bench attention: speed of the fused kernel in f32 or bf16, forward and backward.
#include <cmath>
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "kernels/attention.h"
#include "kernels/bf16.h"
#include "kernels/bf16_attention.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::cli {
namespace {

struct AttentionBenchRequest {
  std::int64_t batch = 1, heads = 1, seq = 0, dim = 0;
  std::int64_t kv_heads = 0;  // number of key and value heads; 0 means as many as `heads`
  bool causal = false, backward = false;
  std::string dtype = "f32";
};

// Attention on random data: queries and outputs [batch · seq, heads · dim], keys and values
// [batch · seq, kv_heads · dim], and gradients of the same shapes.
class Workload {
 public:
  Workload(const AttentionBenchRequest& request, std::uint64_t seed)
      : rows_(request.batch * request.seq), stream_({seed, 0, place_of("bench")}) {
    const std::int64_t wide = request.heads * request.dim, narrow = request.kv_heads * request.dim;
    float* key = random(narrow);
    float* value = random(narrow);
    float* key_gradient = random(narrow);
    float* value_gradient = random(narrow);
    operands_.key = rounded(key, narrow), operands_.value = rounded(value, narrow);
    for (std::int64_t i = 0; i < request.batch; ++i) {
      kernels::AttentionSequence sequence;
      sequence.query_begin = i * request.seq;
      sequence.queries = sequence.keys = request.seq;
      const std::int64_t first = i * request.seq * narrow;
      sequence.key = key + first, sequence.value = value + first;
      sequence.key_gradient = key_gradient + first, sequence.value_gradient = value_gradient + first;
      sequence.index = static_cast<std::uint64_t>(i);
      sequences_.push_back(sequence);
    }
    problem.heads = request.heads, problem.kv_heads = request.kv_heads;
    problem.head_dim = request.dim, problem.causal = request.causal;
    static_cast<kernels::AttentionSpec&>(problem) = problem.resolved();
    problem.sequences = sequences_;
    problem.query = random(wide), problem.out = random(wide), problem.lse = random(request.heads);
    problem.query_stride = problem.out_stride = wide;
    problem.key_stride = problem.value_stride = narrow;
    problem.out_gradient = random(wide), problem.query_gradient = random(wide);
    problem.out_gradient_stride = problem.query_gradient_stride = wide;
    problem.key_gradient_stride = problem.value_gradient_stride = narrow;
    operands_.query = rounded(problem.query, wide), operands_.out = rounded(problem.out, wide);
  }

  void forward(ThreadPool& pool, bool bf16) {
    bf16 ? kernels::bf16_attention_forward(pool, problem, operands_)
         : kernels::attention_forward(pool, problem);
  }
  void backward(ThreadPool& pool, bool bf16) {
    bf16 ? kernels::bf16_attention_backward(pool, problem, operands_)
         : kernels::attention_backward(pool, problem);
  }

  kernels::Attention problem;

 private:
  float* random(std::int64_t columns) {
    auto* values =
        reinterpret_cast<float*>(arena_.allocate(static_cast<std::size_t>(rows_ * columns) * sizeof(float)));
    for (std::int64_t i = 0; i < rows_ * columns; ++i) values[i] = static_cast<float>(stream_.next_normal());
    return values;
  }
  std::uint16_t* rounded(const float* values, std::int64_t columns) {
    const std::int64_t count = rows_ * columns;
    auto* halves = reinterpret_cast<std::uint16_t*>(
        arena_.allocate(static_cast<std::size_t>(count) * sizeof(std::uint16_t)));
    ThreadPool pool(1);
    kernels::round_to_bf16(pool, values, halves, count);
    return halves;
  }

  std::int64_t rows_;
  RandomStream stream_;
  Arena arena_;
  std::vector<kernels::AttentionSequence> sequences_;
  kernels::Bf16Operands operands_;
};

void run(AttentionBenchRequest request, Globals& globals) {
  const bool bf16 = request.dtype == "bf16";
  if (bf16) kernels::require_bf16("--dtype bf16");
  if (request.kv_heads == 0) request.kv_heads = request.heads;
  if (request.heads % request.kv_heads != 0)
    throw usage_error("--heads is not a multiple of --kv-heads")
        .found(std::to_string(request.heads))
        .expected("a multiple of " + std::to_string(request.kv_heads));
  Workload workload(request, globals.seed);
  ThreadPool& pool = globals.pool();
  const double operations = 4.0 * static_cast<double>(request.batch * request.heads) *
                            static_cast<double>(request.seq) * static_cast<double>(request.seq) *
                            static_cast<double>(request.dim) / (request.causal ? 2.0 : 1.0);
  Json line = bench_line("attention", globals);
  line["dtype"] = request.dtype;
  line["batch"] = request.batch, line["heads"] = request.heads, line["kv_heads"] = request.kv_heads;
  line["seq"] = request.seq, line["dim"] = request.dim, line["causal"] = request.causal;
  const Timing forward = time_repeatedly([&] { workload.forward(pool, bf16); });
  add_timing(line, "fwd", forward);
  line["fwd_gflops"] = operations / forward.median_ms * 1e-6;
  if (request.backward) {
    const Timing both = time_repeatedly([&] {
      workload.forward(pool, bf16);
      workload.backward(pool, bf16);
    });
    add_timing(line, "fwdbwd", both);
    line["fwdbwd_gflops"] = 3.5 * operations / both.median_ms * 1e-6;
  }
  print_line(line);
}

}  // namespace

void add_bench_attention(CLI::App& bench, Globals& globals) {
  const auto [attention, request] =
      add_command<AttentionBenchRequest>(bench, "attention", "Time the fused attention kernel");
  const CLI::Range sizes(1, 1 << 20);
  add_checked_option(*attention, "--batch", request->batch, "Number of sequences", sizes);
  add_checked_option(*attention, "--heads", request->heads, "Number of query heads", sizes);
  attention->add_option("--kv-heads", request->kv_heads, "Number of key/value heads. Default: --heads")
      ->check(sizes);
  attention->add_option("--seq", request->seq, "Length of each sequence, in tokens")
      ->required()
      ->check(sizes);
  attention->add_option("--dim", request->dim, "Size of a head (head_dim)")->required()->check(sizes);
  attention->add_flag("--causal", request->causal, "Use a causal mask");
  attention->add_flag("--backward", request->backward, "Also time forward and backward together");
  add_checked_option(*attention, "--dtype", request->dtype, "Data type of queries, keys and values",
                     CLI::IsMember({"f32", "bf16"}));
  add_globals(*attention, globals, {.seed = true});
  attention->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
