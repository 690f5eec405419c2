// Helpers shared by the benchmarks of `regard bench`. Each benchmark prints one JSON object per line.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/timing.h"
#include "cli/verb.h"

namespace regard::cli {

// Return the keys with which every line starts: bench, isa, threads, dtype.
Json bench_line(const std::string& bench, Globals& globals);

// Add the keys ms (median), best_ms and processor_ms.
void add_timing(Json& line, const Timing& timing);
// Add the keys PART_ms (median), PART_best_ms and PART_cpu_ms.
void add_timing(Json& line, const std::string& part, const Timing& timing);

// Print the line, with floating-point numbers rounded to five significant digits.
void print_line(const Json& line);
// Add the key peak_rss_mb, the peak resident set size of this process in MiB, and print the line.
void print_line_with_memory(Json line);

void add_bench_peak(CLI::App& bench, Globals& globals);
void add_bench_gemm(CLI::App& bench, Globals& globals);
void add_bench_attention(CLI::App& bench, Globals& globals);
void add_bench_recurrent(CLI::App& bench, Globals& globals);
void add_bench_train(CLI::App& bench, Globals& globals);
void add_bench_decode(CLI::App& bench, Globals& globals);
void add_bench_embed(CLI::App& bench, Globals& globals);
void add_bench_study(CLI::App& bench, Globals& globals);
void add_bench_start(CLI::App& bench, Globals& globals);
void add_bench_tokenize(CLI::App& bench, Globals& globals);
void add_bench_transcribe(CLI::App& bench, Globals& globals);
void add_bench_features(CLI::App& bench, Globals& globals);
void add_bench_forward(CLI::App& bench, Globals& globals);
void add_bench_ctc(CLI::App& bench, Globals& globals);

}  // namespace regard::cli
