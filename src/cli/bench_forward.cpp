// regard bench forward: speed of the forward pass of a model that reads images or features.
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "cli/weight_mode.h"
#include "models/weights.h"
#include "regard/error.h"
#include "tasks/pass.h"

namespace regard::cli {
namespace {

struct ForwardBenchRequest {
  std::string model;
  std::int64_t batch = 8, repetitions = 5;
};

std::vector<tasks::Input> random_inputs(const InputSpec& spec, std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("bench")});
  std::vector<tasks::Input> inputs;
  for (std::int64_t i = 0; i < count; ++i) {
    ModelInput input = spec.blank();
    for (std::int64_t j = 0; j < input.values.elements(); ++j)
      input.values.f32()[j] = static_cast<float>(stream.next_normal());
    inputs.emplace_back(std::move(input));
  }
  return inputs;
}

void run(const ForwardBenchRequest& request, Globals& globals) {
  const std::unique_ptr<Network> model =
      load_model(formats::ModelFolder::open(request.model), weight_mode(globals));
  if (model->kind() != ModelKind::encoder || model->input_spec().kind == InputKind::tokens)
    throw usage_error("bench forward does not support this model")
        .expected("an encoder of images or sounds, such as ViT");
  model->prepare_for_inference(globals.pool());
  const std::vector<tasks::Input> inputs = random_inputs(model->input_spec(), request.batch, globals.seed);
  tasks::Pass pass(*model, globals.pool(), nullptr);
  const bool has_head = model->output() != Output::none;
  Repetitions repetitions;
  const auto once = [&] {
    const tasks::Pass::States states = pass.run(inputs);
    if (has_head) pass.head(states);
  };
  once();
  for (std::int64_t i = 0; i < request.repetitions; ++i) repetitions.time(once);
  const Timing timing = repetitions.timing();
  Json line = bench_line("forward", globals);
  if (globals.int8) line["dtype"] = "int8";
  line["batch"] = request.batch, line["parameters"] = model->parameter_count();
  add_timing(line, timing);
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_forward(CLI::App& bench, Globals& globals) {
  const auto [forward, request] = add_command<ForwardBenchRequest>(
      bench, "forward", "Time the forward pass of an encoder of images or sounds");
  add_model_argument(*forward, request->model, "Model folder");
  add_checked_option(*forward, "--batch", request->batch, "Number of random inputs per pass",
                     CLI::Range(1, 4096));
  add_checked_option(*forward, "--repetitions", request->repetitions,
                     "Number of measurements after a warm-up", CLI::Range(1, 1 << 10));
  add_quantize(*forward, globals);
  set_action(*forward, globals, request, run, {.seed = true});
}

}  // namespace regard::cli
