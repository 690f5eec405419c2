// regard bench features: speed of the conversion of a sound to Whisper's log-mel features.
#include <vector>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "data/sound_processor.h"

namespace regard::cli {
namespace {

struct FeaturesBenchRequest {
  std::int64_t seconds = 30, bins = 80, repetitions = 5;
};

void run(const FeaturesBenchRequest& request, Globals& globals) {
  data::SoundProcessor processor;
  processor.bins = request.bins, processor.samples = request.seconds * processor.rate;
  RandomStream stream({globals.seed, 0, place_of("bench")});
  std::vector<float> sound(static_cast<std::size_t>(processor.samples));
  for (float& sample : sound) sample = static_cast<float>(0.1 * stream.next_normal());
  Json line = bench_line("features", globals);
  line["seconds"] = request.seconds, line["bins"] = request.bins;
  processor.apply(globals.pool(), sound);
  Repetitions repetitions;
  for (std::int64_t i = 0; i < request.repetitions; ++i)
    repetitions.time([&] { processor.apply(globals.pool(), sound); });
  const Timing timing = repetitions.timing();
  add_timing(line, timing);
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_features(CLI::App& bench, Globals& globals) {
  const auto [features, request] =
      add_command<FeaturesBenchRequest>(bench, "features", "Time Whisper's log-mel features of a sound");
  add_checked_option(*features, "--seconds", request->seconds,
                     "Duration of the sound (noise at 16 kHz), in seconds", CLI::Range(1, 8 * 3600));
  add_checked_option(*features, "--bins", request->bins, "Number of mel bins", CLI::Range(1, 1024));
  add_checked_option(*features, "--repetitions", request->repetitions,
                     "Number of measurements after a warm-up", CLI::Range(1, 1 << 10));
  set_action(*features, globals, request, run, {.seed = true});
}

}  // namespace regard::cli
