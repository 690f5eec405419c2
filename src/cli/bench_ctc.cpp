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
  line["peak_rss_mb"] = peak_rss_mb();
  print_line(line);
}

}  // namespace

void add_bench_ctc(CLI::App& bench, Globals& globals) {
  CLI::App* ctc = bench.add_subcommand("ctc", "Time the CTC loss, forward and backward");
  const auto request = std::make_shared<CtcBenchRequest>();
  const CLI::Range sizes(1, 1 << 16);
  ctc->add_option("--batch", request->batch, "Number of sequences")->check(sizes)->capture_default_str();
  ctc->add_option("--frames", request->frames, "Number of frames per sequence")
      ->check(sizes)
      ->capture_default_str();
  ctc->add_option("--labels", request->labels, "Number of labels, including the blank")
      ->check(CLI::Range(2, 1 << 16))
      ->capture_default_str();
  ctc->add_option("--targets", request->targets, "Number of target labels per sequence")
      ->check(sizes)
      ->capture_default_str();
  add_globals(*ctc, globals);
  ctc->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
