// regard bench ctc: speed of the CTC loss, forward and backward.
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "ops/ctc_loss.h"
#include "ops/tape.h"

namespace regard::cli {
namespace {

struct CtcBenchRequest {
  std::int64_t batch = 16, frames = 400, labels = 100, targets = 100;
};

// Random logits and random targets without blanks; all sequences have the same lengths.
class CtcWorkload {
 public:
  CtcWorkload(const CtcBenchRequest& request, ThreadPool& pool, std::uint64_t seed)
      : tape_(pool, arena_), logits_(Tensor::empty({request.batch * request.frames, request.labels})) {
    RandomStream stream({seed, 0, place_of("bench")});
    for (std::int64_t i = 0; i < logits_.elements(); ++i)
      logits_.f32()[i] = static_cast<float>(stream.next_normal());
    for (std::int64_t s = 0; s <= request.batch; ++s) {
      offsets_.push_back(static_cast<std::int32_t>(s * request.frames));
      target_offsets_.push_back(static_cast<std::int32_t>(s * request.targets));
    }
    const auto choices = static_cast<std::uint64_t>(request.labels - 1);
    for (std::int64_t i = 0; i < request.batch * request.targets; ++i)
      targets_.push_back(1 + static_cast<std::int32_t>(stream.next_below(choices)));
  }

  void forward() {
    tape_.begin({});
    loss(tape_.constant(logits_));
  }
  void both() {
    tape_.begin({.record = true, .training = true});
    tape_.backward(loss(tape_.input(logits_, true)));
  }

 private:
  Var loss(Var logits) {
    return ops::ctc_loss(tape_, logits, offsets_, targets_, target_offsets_, {.mean = true});
  }

  Arena arena_;
  Tape tape_;
  Tensor logits_;
  std::vector<std::int32_t> offsets_, targets_, target_offsets_;
};

void run(const CtcBenchRequest& request, Globals& globals) {
  CtcWorkload workload(request, globals.pool(), globals.seed);
  Json line = bench_line("ctc", globals);
  line["batch"] = request.batch, line["frames"] = request.frames;
  line["labels"] = request.labels, line["targets"] = request.targets;
  add_timing(line, "fwd", time_repeatedly([&] { workload.forward(); }));
  add_timing(line, "fwdbwd", time_repeatedly([&] { workload.both(); }));
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_ctc(CLI::App& bench, Globals& globals) {
  const auto [ctc, request] =
      add_command<CtcBenchRequest>(bench, "ctc", "Time the CTC loss, forward and backward");
  const CLI::Range sizes(1, 1 << 16);
  add_checked_option(*ctc, "--batch", request->batch, "Number of sequences", sizes);
  add_checked_option(*ctc, "--frames", request->frames, "Number of frames per sequence", sizes);
  add_checked_option(*ctc, "--labels", request->labels, "Number of labels, including the blank",
                     CLI::Range(2, 1 << 16));
  add_checked_option(*ctc, "--targets", request->targets, "Number of target labels per sequence", sizes);
  set_action(*ctc, globals, request, run, {.seed = true});
}

}  // namespace regard::cli
