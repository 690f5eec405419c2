// regard bench study: cost of a capture relative to a plain forward pass, and cost of a head sweep. The sweep
// is compared with an ordinary pass that computes the same metric, and with one call of inspect::loss_of().
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/counted.h"
#include "base/random.h"
#include "cli/bench.h"
#include "cli/number_checks.h"
#include "cli/timing.h"
#include "cli/weight_mode.h"
#include "formats/model_folder.h"
#include "inspect/attention_view.h"
#include "inspect/capture.h"
#include "inspect/head_sweep.h"
#include "inspect/pass_input.h"
#include "models/weights.h"
#include "ops/cross_entropy.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::cli {
namespace {

struct StudyBenchRequest {
  std::string model;
  std::int64_t tokens = 512, sentences = 50, length = 20, predictions = 0, heads = 0, rounds = 3;
};

std::vector<std::int32_t> random_ids(Network& model, std::int64_t count, RandomStream& random) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(
        static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(model.vocabulary()))));
  return ids;
}

// Return sentences of random tokens; the label of each token is the next token. Only the last
// request.predictions labels of a sentence are kept (0: all); the other labels are kIgnoredLabel.
std::vector<inspect::StudyExample> random_examples(Network& model, const StudyBenchRequest& request,
                                                   RandomStream& random) {
  std::vector<inspect::StudyExample> examples;
  for (std::int64_t i = 0; i < request.sentences; ++i) {
    inspect::StudyExample& one = examples.emplace_back();
    one.text = std::to_string(i);
    one.input.target = random_ids(model, request.length, random);
    one.labels.assign(one.input.target.begin() + 1, one.input.target.end());
    const std::int64_t ignored =
        request.predictions == 0 ? 0
                                 : std::max<std::int64_t>(0, std::ssize(one.labels) - request.predictions);
    std::fill_n(one.labels.begin(), ignored, kIgnoredLabel);
    one.labels.push_back(kIgnoredLabel);
  }
  return examples;
}

// Compute the metric of the sweep in one ordinary forward pass over a batch of all sentences. The logits of
// all tokens are in memory at once.
void ordinary_pass(Network& model, ThreadPool& pool, const std::vector<inspect::StudyExample>& examples) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  std::vector<std::int32_t> ids, labels;
  RaggedBuffer shape;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::vector<std::int32_t>& one = examples[i].input.target;
    ids.insert(ids.end(), one.begin(), one.end());
    labels.insert(labels.end(), examples[i].labels.begin(), examples[i].labels.end());
    shape.add(std::ssize(one), i);
  }
  ops::cross_entropy(tape, model.logits(tape, model.decode(tape, {ids, shape.view()}, nullptr, nullptr)),
                     labels);
}

double status_mib(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtod(line.c_str() + std::strlen(field) + 1, nullptr) / 1024;
  return 0;
}

// Return the peak memory of the process during work(), minus its memory before work(), in MiB.
double peak_mib(const std::function<void()>& work) {
  // resets VmHWM, the peak memory, to the current memory
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  const double before = status_mib("VmRSS");
  work();
  return status_mib("VmHWM") - before;
}

// Call warm_up(), then time each of `works` once per round. Return the median CPU time and elapsed time of
// each.
std::vector<Timing> time_in_turn(const std::function<void()>& warm_up,
                                 const std::vector<std::function<void()>>& works, std::int64_t rounds) {
  std::vector<std::vector<double>> clock(works.size()), processor(works.size());
  warm_up();
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double before = processor_seconds_now();
      const Stopwatch watch;
      works[i]();
      clock[i].push_back(watch.seconds());
      processor[i].push_back(processor_seconds_now() - before);
    }
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < works.size(); ++i) {
    timings.push_back(summarise(clock[i]));
    timings.back().processor_ms = summarise(processor[i]).median_ms;
  }
  return timings;
}

void time_captures(Network& model, const StudyBenchRequest& request, Globals& globals) {
  RandomStream random({1, 0, place_of("bench study")});
  const std::vector<std::int32_t> ids = random_ids(model, request.tokens, random);
  const auto pass = [&](std::optional<inspect::Selection> selection) {
    std::optional<inspect::Capture> capture;
    if (selection) capture.emplace(*selection);
    inspect::run_with_probe(model, globals.pool(), {}, ids, capture ? &*capture : nullptr);
  };
  inspect::Selection one, all;
  one.layers = {0}, one.heads = {0};
  const std::vector<Timing> timings = time_in_turn(
      [&] { pass(all); }, {[&] { pass({}); }, [&] { pass(one); }, [&] { pass(all); }}, request.rounds);
  Json line = bench_line("capture", globals);
  line["tokens"] = request.tokens, line["pass_ms"] = timings[0].median_ms;
  line["processor_ms"] = timings[0].processor_ms;
  line["one_head"] = timings[1].processor_ms / timings[0].processor_ms - 1;
  line["all_heads"] = timings[2].processor_ms / timings[0].processor_ms - 1;
  const double without = peak_mib([&] { pass({}); });
  line["pass_mib"] = without;
  line["one_head_mib"] = peak_mib([&] { pass(one); }) - without;
  line["all_heads_mib"] = peak_mib([&] { pass(all); }) - without;
  print_line(line);
}

void time_sweep(Network& model, const StudyBenchRequest& request, Globals& globals) {
  RandomStream random({2, 0, place_of("bench study")});
  const std::vector<inspect::StudyExample> examples = random_examples(model, request, random);
  const auto batches = inspect::study_batches(model, examples);
  inspect::HeadSweepOptions options;
  const std::vector<inspect::Head> all = inspect::ModelPoints::of(model, globals.pool()).all_heads();
  const std::size_t measured_heads =
      request.heads == 0 ? all.size() : std::min(all.size(), static_cast<std::size_t>(request.heads));
  for (std::size_t i = 0; i < measured_heads; ++i)
    options.heads.push_back(all[(2 * i + 1) * all.size() / (2 * measured_heads)]);
  inspect::HeadSweepOptions one = options;
  one.heads.resize(1);
  const std::vector<Timing> timings =
      time_in_turn([&] { inspect::sweep_heads(model, globals.pool(), examples, one); },
                   {[&] { ordinary_pass(model, globals.pool(), examples); },
                    [&] { inspect::loss_of(batches, globals.pool(), nullptr); },
                    [&] { inspect::sweep_heads(model, globals.pool(), examples, options); }},
                   request.rounds);
  // Extrapolate to all heads: count the sweep's pass over the whole model once, and scale the remaining time
  // from the measured heads to all heads.
  const double forward = timings[0].processor_ms, own = timings[1].processor_ms;
  const double heads = static_cast<double>(all.size()), measured = static_cast<double>(options.heads.size());
  const double sweep = own + (timings[2].processor_ms - own) * heads / measured;
  Json line = bench_line("sweep", globals);
  line["sentences"] = request.sentences, line["length"] = request.length;
  line["predictions"] = request.predictions;
  line["heads"] = all.size(), line["measured_heads"] = options.heads.size();
  line["forward_processor_ms"] = forward, line["forward_passes"] = sweep / forward;
  line["loss_ms"] = timings[1].median_ms, line["processor_ms"] = own;
  line["sweep_processor_ms"] = sweep, line["passes"] = sweep / own;
  print_line(line);
}

void run(const StudyBenchRequest& request, Globals& globals) {
  const auto model = load_model(formats::ModelFolder::open(request.model), weight_mode(globals));
  if (model->kind() != ModelKind::decoder)
    throw usage_error("bench study does not support this model")
        .at({request.model, -1, -1})
        .expected("a decoder-only model");
  for (const std::int64_t longest : {request.tokens, request.length})
    if (model->max_positions() > 0 && longest > model->max_positions())
      throw usage_error("--tokens or --length exceeds the model's maximum number of positions")
          .found(counted(longest, "token"))
          .expected("at most " + std::to_string(model->max_positions()) + " tokens");
  model->prepare_for_inference(globals.pool());
  time_captures(*model, request, globals);
  time_sweep(*model, request, globals);
}

}  // namespace

void add_bench_study(CLI::App& bench, Globals& globals) {
  const auto [study, request] = add_command<StudyBenchRequest>(
      bench, "study", "Time captures of attention and a sweep of the heads of a decoder");
  add_model_argument(*study, request->model, "Model folder");
  const auto number = [&](const char* name, std::int64_t& value, const char* help) {
    add_checked_option(*study, name, value, help, positive());
  };
  number("--tokens", request->tokens, "captures: number of tokens of the input");
  number("--sentences", request->sentences, "sweep: number of sentences");
  number("--length", request->length, "sweep: number of tokens of a sentence");
  add_checked_option(
      *study, "--predictions", request->predictions,
      "sweep: the loss uses only this many predictions at the end of each sentence; 0 uses all",
      not_negative());
  number("--rounds", request->rounds, "Number of repetitions, after a warm-up");
  add_checked_option(*study, "--heads", request->heads,
                     "sweep: measure only this many heads, evenly spread; 0 measures all", not_negative());
  set_action(*study, globals, request, run);
}

}  // namespace regard::cli
