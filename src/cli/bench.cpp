// regard bench: performance of this build on this machine.
#include "cli/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>

#include "cli/output.h"
#include "kernels/isa.h"

namespace regard::cli {

Json bench_line(const std::string& bench, Globals& globals) {
  return {{"bench", bench},
          {"isa", kernels::name_of(kernels::active())},
          {"threads", globals.pool().size()},
          {"dtype", "f32"}};
}

void add_timing(Json& line, const Timing& timing) {
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms, line["processor_ms"] = timing.processor_ms;
}

void add_timing(Json& line, const std::string& part, const Timing& timing) {
  line[part + "_ms"] = timing.median_ms, line[part + "_best_ms"] = timing.best_ms;
  line[part + "_cpu_ms"] = timing.processor_ms;
}

void print_line(const Json& line) {
  std::string text;
  for (const auto& [key, value] : line.items()) {
    // A speed is infinite if the clock measured no time; dump() writes null for it.
    const bool finite = value.is_number_float() && std::isfinite(value.get<double>());
    text += (text.empty() ? "{" : ",") + Json(key).dump() + ":" +
            (finite ? fmt::format("{:.5g}", value.get<double>()) : value.dump());
  }
  print_result("{}}}\n", text);
}

void print_line_with_memory(Json line) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  line["peak_rss_mb"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
  print_line(line);
}

void add_bench(CLI::App& app, Globals& globals) {
  CLI::App* verb =
      app.add_subcommand("bench", "Measure the speed of this build on this machine; prints JSON lines");
  verb->require_subcommand(1);
  add_bench_peak(*verb, globals);
  add_bench_gemm(*verb, globals);
  add_bench_attention(*verb, globals);
  add_bench_recurrent(*verb, globals);
  add_bench_train(*verb, globals);
  add_bench_decode(*verb, globals);
  add_bench_embed(*verb, globals);
  add_bench_study(*verb, globals);
  add_bench_start(*verb, globals);
  add_bench_tokenize(*verb, globals);
  add_bench_transcribe(*verb, globals);
  add_bench_features(*verb, globals);
  add_bench_forward(*verb, globals);
  add_bench_ctc(*verb, globals);
  verb->footer(
      "peak_rss_mb in the output is the peak resident memory of the process in MiB. The environment "
      "variable\n"
      "REGARD_BENCH_SECONDS sets the minimum duration of a measurement in seconds.");
}

}  // namespace regard::cli
