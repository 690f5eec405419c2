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
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms, line["processor_ms"] = timing.processor_ms;
  line["peak_rss_mb"] = peak_rss_mb();
  print_line(line);
}

}  // namespace

void add_bench_features(CLI::App& bench, Globals& globals) {
  CLI::App* features = bench.add_subcommand("features", "Time Whisper's log-mel features of a sound");
  const auto request = std::make_shared<FeaturesBenchRequest>();
  features->add_option("--seconds", request->seconds, "Duration of the sound, which is noise at 16 kHz")
      ->check(CLI::Range(1, 8 * 3600))
      ->capture_default_str();
  features->add_option("--bins", request->bins, "Number of mel bins")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  features->add_option("--repetitions", request->repetitions, "Number of measurements after a warm-up")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  add_globals(*features, globals);
  features->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
