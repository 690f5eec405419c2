// regard bench decode: tokens per second of prefill and of decoding steps.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "cli/bench.h"
#include "cli/memory_bandwidth.h"
#include "cli/timing.h"
#include "infer/scheduler.h"
#include "models/quantize.h"
#include "models/weights.h"
#include "nn/cache.h"
#include "ops/parameter.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct DecodeBenchRequest {
  std::string model;
  std::string dtype;  // dtype of the weights; empty means as stored
  std::string precision = "f32";
  std::int64_t batch = 1, prompt = 128, generated = 64, beam = 1;
  bool beside_read = false;
};

class Uninterested : public infer::Listener {
 public:
  void finished(std::uint64_t, std::vector<infer::Hypothesis>) override {}
};

DType held_dtype(const std::string& name) {
  for (const DType dtype : {DType::f16, DType::bf16})
    if (name == name_of(dtype)) return dtype;
  return name == "int8" ? DType::i8 : DType::f32;
}

std::unique_ptr<Network> obtain(const DecodeBenchRequest& request, Globals& globals) {
  const std::string& path = request.model;
  std::unique_ptr<Network> model;
  if (std::filesystem::is_directory(path)) {
    model = load_model(formats::ModelFolder::open(path), WeightMode::stored);
    if (!request.dtype.empty()) hold_as(*model, held_dtype(request.dtype));
  } else {
    model = make_model(parse_json(read_file(path), path), path);
    initialise(*model, globals.seed);
    hold_as(*model, held_dtype(request.dtype));
  }
  if (request.precision == "bf16") compute_in_bf16(*model);
  return model;
}

// Return random tokens that depend only on seed, request and position.
std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed,
                                        std::int64_t request) {
  const auto key = fold({seed, 0, place_of("bench.prompt")});
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const Counter words =
        philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(request), 0, 0}, key[0], key[1]);
    tokens.push_back(static_cast<std::int32_t>(words[0] % static_cast<std::uint64_t>(vocabulary)));
  }
  return tokens;
}

// Return the number of bytes of weights that a decoding step is assumed to read: all weights except position
// tables and, in an encoder–decoder, the encoder. Tied weights are counted once.
double weight_bytes(Network& model) {
  double bytes = 0;
  for (const Parameter* parameter : model.parameters()) {
    if (model.kind() == ModelKind::encoder_decoder && parameter->name.starts_with("encoder.")) continue;
    const bool positions = parameter->name.find("position") != std::string::npos;
    const auto size = static_cast<double>(size_of(parameter->is_held() ? parameter->held.dtype : DType::f32));
    if (!positions) bytes += size * static_cast<double>(parameter->value().elements());
  }
  return bytes;
}

struct Measured {
  std::vector<double> prefill, prefill_processor;  // elapsed and CPU seconds of each prefill
  std::vector<double> steps, processor;            // elapsed and CPU seconds of each decoding step
  // elapsed and CPU seconds from the start of prefill to the end of the last decoding step
  std::vector<double> whole, whole_processor;
};

// Decoding benchmark that uses one scheduler for all repetitions, as a server does.
class Decoding {
 public:
  Decoding(Network& model, const DecodeBenchRequest& request, Globals& globals)
      : model_(model),
        request_(request),
        seed_(globals.seed),
        scheduler_(model, globals.pool(), options_of(request), listener_) {}

  void once(Measured& measured) {
    submit();
    const double before = processor_seconds_now();
    const Stopwatch first;
    scheduler_.step();
    measured.prefill.push_back(first.seconds());
    measured.prefill_processor.push_back(processor_seconds_now() - before);
    if (scheduler_.waiting() > 0 || scheduler_.prefilling() > 0)
      throw usage_error("the prompts do not fit into one step of prefill")
          .found(std::to_string(request_.batch) + " prompts of " + std::to_string(request_.prompt) +
                 " tokens")
          .expected("at most " + std::to_string(infer::SchedulerLimits{}.tokens_at_once) + " tokens in all")
          .remedy("Choose a smaller --batch or --prompt");
    while (true) {
      const Stopwatch watch;
      const double computed = processor_seconds_now();
      if (!scheduler_.step()) break;
      measured.steps.push_back(watch.seconds());
      measured.processor.push_back(processor_seconds_now() - computed);
    }
    measured.whole.push_back(first.seconds());
    measured.whole_processor.push_back(processor_seconds_now() - before);
  }

 private:
  static infer::SearchOptions options_of(const DecodeBenchRequest& request) {
    infer::SearchOptions options;
    options.beam = request.beam, options.max_new = request.generated;
    options.start_token = 0, options.rows_at_once = request.batch * request.beam;
    return options;
  }

  void submit() {
    for (std::int64_t i = 0; i < request_.batch; ++i)
      scheduler_.submit(infer::request_of(model_,
                                          random_tokens(request_.prompt, model_.vocabulary(), seed_, i),
                                          static_cast<std::uint64_t>(i)));
  }

  Network& model_;
  const DecodeBenchRequest& request_;
  std::uint64_t seed_;
  Uninterested listener_;
  infer::Scheduler scheduler_;
};

// Return the bandwidth of reading the weights (`bytes`) in a decoding step, divided by the memory read
// bandwidth `read_gb_s`. The time of a step is the median of the steps from index `first` on.
double share_of_read(const Measured& measured, std::size_t first, double bytes, double read_gb_s) {
  const auto begin = measured.steps.begin() + static_cast<std::ptrdiff_t>(first);
  return bytes / summarise({begin, measured.steps.end()}).median_ms * 1e-6 / read_gb_s;
}

// Repeat the measurement. With --beside-read, measure the memory bandwidth around each repetition and return
// the share_of_read() of each repetition; otherwise return an empty list.
std::vector<double> measure(Decoding& decoding, const DecodeBenchRequest& request, double bytes,
                            ThreadPool& pool, Measured& measured) {
  constexpr std::size_t kFewest = 10;
  constexpr double kEnough = 2.0, kEnoughBeside = 10.0;
  std::optional<MemoryBandwidth> read;
  std::vector<double> shares;
  if (request.beside_read) read.emplace().once(pool);
  const double enough = measuring_seconds(request.beside_read ? kEnoughBeside : kEnough);
  for (const Stopwatch total; measured.steps.size() < kFewest || total.seconds() < enough;) {
    const std::size_t first = measured.steps.size();
    const double before = read ? read->once(pool) : 0;
    decoding.once(measured);
    if (read) shares.push_back(share_of_read(measured, first, bytes, std::max(before, read->once(pool))));
  }
  return shares;
}

void run(const DecodeBenchRequest& request, Globals& globals) {
  const std::unique_ptr<Network> model = obtain(request, globals);
  model->prepare_for_inference(globals.pool());
  Measured warm_up, measured;
  Decoding decoding(*model, request, globals);
  decoding.once(warm_up);
  const double bytes = weight_bytes(*model);
  std::vector<double> shares = measure(decoding, request, bytes, globals.pool(), measured);
  const Timing prefill = summarise(measured.prefill), step = summarise(measured.steps);
  Json line = bench_line("decode", globals);
  line["dtype"] = request.dtype.empty() ? "stored" : request.dtype;
  line["precision"] = request.precision;
  line["batch"] = request.batch, line["prompt"] = request.prompt;
  line["new"] = request.generated, line["beam"] = request.beam;
  line["parameters"] = model->parameter_count();
  line["tokens_per_s"] = static_cast<double>(request.batch) / step.median_ms * 1e3;
  line["prefill_tokens_per_s"] =
      static_cast<double>(request.batch * request.prompt) / prefill.median_ms * 1e3;
  line["prefill_ms"] = prefill.median_ms;
  line["prefill_processor_ms"] = summarise(measured.prefill_processor).median_ms;
  line["step_ms"] = step.median_ms, line["best_ms"] = step.best_ms;
  line["processor_ms"] = summarise(measured.processor).median_ms;
  const Timing whole = summarise(measured.whole);
  line["whole_ms"] = whole.median_ms, line["whole_best_ms"] = whole.best_ms;
  line["whole_processor_ms"] = summarise(measured.whole_processor).median_ms;
  line["weights_gb_s"] = bytes / step.median_ms * 1e-6;
  if (!shares.empty()) {
    std::sort(shares.begin(), shares.end());
    line["share_of_read"] = shares[shares.size() / 2];
    line["share_of_read_lowest"] = shares.front(), line["share_of_read_highest"] = shares.back();
  }
  line["cache_bytes_per_token"] =
      static_cast<double>(model->cache_shape().page_bytes()) / static_cast<double>(kPageTokens);
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_decode(CLI::App& bench, Globals& globals) {
  const auto [decode, request] = add_command<DecodeBenchRequest>(
      bench, "decode", "Time generation, in tokens per second",
      "Prompts (sources for an encoder-decoder) are random tokens; every sequence generates --new tokens.\n"
      "tokens_per_s counts the tokens of the sequences, not of each beam. weights_gb_s is the number of "
      "gigabytes\nof weights that a step reads per second. whole_ms is the time from the prompts to the last "
      "token, encoder\nincluded.");
  decode->add_option("MODEL", request->model, "Model folder, or a config.json (random weights)")
      ->required()
      ->check(CLI::ExistingPath);
  decode
      ->add_option("--dtype", request->dtype,
                   "Data type of the weights. Default: as stored; f32 for a config.json")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "int8"}));
  add_checked_option(*decode, "--precision", request->precision,
                     "f32, or bf16: round weights, activations and the key/value cache to bf16",
                     CLI::IsMember({"f32", "bf16"}));
  add_checked_option(*decode, "--batch", request->batch, "Number of sequences in the batch",
                     CLI::Range(1, 4096));
  add_checked_option(*decode, "--prompt", request->prompt, "Length of each prompt, in tokens",
                     CLI::Range(1, 1 << 20));
  add_checked_option(*decode, "--new", request->generated, "Number of tokens to generate per sequence",
                     CLI::Range(2, 1 << 20));
  add_checked_option(*decode, "--beam", request->beam, "Beam width; 1 is greedy search", CLI::Range(1, 256));
  decode->add_flag(
      "--beside-read", request->beside_read,
      "Measure the memory bandwidth between the repetitions, as bench peak does, and report the fraction\n"
      "of it that the decoding steps reach");
  set_action(*decode, globals, request, run, {.seed = true});
}

}  // namespace regard::cli
