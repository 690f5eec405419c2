// regard bench recurrent: speed of one recurrent layer, forward and backward.
#include <array>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "nn/recurrent.h"
#include "ops/tape.h"

namespace regard::cli {
namespace {

struct RecurrentBenchRequest {
  std::string cell = "lstm";
  std::int64_t batch = 32, length = 0, hidden = 0;
  std::int64_t input = 0;  // number of input features; 0 means the value of `hidden`
};

struct NamedCell {
  const char* name;
  kernels::Cell cell;
};
constexpr std::array kCells{NamedCell{"rnn", kernels::Cell::tanh}, NamedCell{"lstm", kernels::Cell::lstm},
                            NamedCell{"gru", kernels::Cell::gru}};

kernels::Cell cell_named(const std::string& name) {
  for (const NamedCell& one : kCells)
    if (name == one.name) return one.cell;
  return kernels::Cell::tanh;  // never reached, because the option's values are checked
}

// A layer with random weights and a batch of sequences of equal length.
class RecurrentWorkload {
 public:
  RecurrentWorkload(const RecurrentBenchRequest& request, ThreadPool& pool, std::uint64_t seed)
      : layer_("", "", config_of(request)), stream_({seed, 0, place_of("bench")}), tape_(pool, arena_) {
    for (std::int64_t i = 0; i < request.batch; ++i)
      batch_.add(request.length, static_cast<std::uint64_t>(i));
    x_ = random({request.batch * request.length, request.input}, 1.0);
    layer_.collect(parameters_);
    for (Parameter* parameter : parameters_) {
      parameter->adopt(random(parameter->value().shape(), 0.05));
      parameter->set_trainable(true);
    }
  }

  void forward() {
    tape_.begin({});
    layer_.forward(tape_, tape_.constant(x_), batch_.view());
  }
  // Compute the gradients of the input and of all weights from an output gradient of ones.
  void both() {
    tape_.begin({.record = true, .training = true});
    for (Parameter* parameter : parameters_) parameter->clear_gradient();
    tape_.backward(layer_.forward(tape_, tape_.input(x_, true), batch_.view()));
  }

 private:
  static nn::RecurrentConfig config_of(const RecurrentBenchRequest& request) {
    nn::RecurrentConfig config;
    config.cell = cell_named(request.cell);
    config.input = request.input, config.hidden = request.hidden;
    return config;
  }
  Tensor random(const Shape& shape, double deviation) {
    Tensor made = Tensor::empty(shape);
    for (std::int64_t i = 0; i < made.elements(); ++i)
      made.f32()[i] = static_cast<float>(deviation * stream_.next_normal());
    return made;
  }

  nn::Recurrent layer_;
  RandomStream stream_;
  Arena arena_;
  Tape tape_;
  RaggedBuffer batch_;
  Tensor x_;
  std::vector<Parameter*> parameters_;
};

void run(RecurrentBenchRequest request, Globals& globals) {
  if (request.input == 0) request.input = request.hidden;
  RecurrentWorkload workload(request, globals.pool(), globals.seed);
  const auto gates = static_cast<double>(kernels::gates_of(cell_named(request.cell)));
  const double operations = 2.0 * static_cast<double>(request.batch * request.length) * gates *
                            static_cast<double>(request.hidden) *
                            static_cast<double>(request.input + request.hidden);
  Json line = bench_line("recurrent", globals);
  line["cell"] = request.cell, line["batch"] = request.batch, line["length"] = request.length;
  line["hidden"] = request.hidden, line["input"] = request.input;
  const Timing forward = time_repeatedly([&] { workload.forward(); });
  add_timing(line, "fwd", forward);
  const Timing both = time_repeatedly([&] { workload.both(); });
  add_timing(line, "fwdbwd", both);
  line["fwdbwd_gflops"] = 3.0 * operations / both.median_ms * 1e-6;
  print_line(line);
}

}  // namespace

void add_bench_recurrent(CLI::App& bench, Globals& globals) {
  const auto [recurrent, request] = add_command<RecurrentBenchRequest>(
      bench, "recurrent", "Time one recurrent layer (rnn, lstm, gru), forward and backward");
  const CLI::Range sizes(1, 1 << 16);
  add_checked_option(*recurrent, "--cell", request->cell, "Cell: rnn (tanh), lstm or gru",
                     CLI::IsMember({"rnn", "lstm", "gru"}));
  add_checked_option(*recurrent, "--batch", request->batch, "Number of sequences", sizes);
  recurrent->add_option("--length", request->length, "Length of each sequence, in steps")
      ->required()
      ->check(sizes);
  recurrent->add_option("--hidden", request->hidden, "Size of the hidden state")->required()->check(sizes);
  recurrent->add_option("--input", request->input, "Size of the input. Default: --hidden")->check(sizes);
  add_globals(*recurrent, globals, {.seed = true});
  recurrent->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
