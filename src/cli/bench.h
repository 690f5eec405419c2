// What the benchmarks of `regard bench` share. Each prints one JSON object a line.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/verb.h"

namespace regard::cli {

// The keys that every line begins with: bench, isa, threads, dtype.
Json bench_line(const std::string& bench, Globals& globals);

// Adds --dtype. Anything but f32 is a usage error, said when the benchmark runs.
void add_dtype(CLI::App& bench, std::string& dtype);
void check_dtype(const std::string& dtype);

// The most memory that this process has held so far.
double peak_rss_mb();

// Prints the line, numbers with five digits.
void print_line(const Json& line);

void add_bench_peak(CLI::App& bench, Globals& globals);
void add_bench_gemm(CLI::App& bench, Globals& globals);
void add_bench_attention(CLI::App& bench, Globals& globals);
void add_bench_train(CLI::App& bench, Globals& globals);
void add_bench_decode(CLI::App& bench, Globals& globals);
void add_bench_embed(CLI::App& bench, Globals& globals);
void add_bench_start(CLI::App& bench, Globals& globals);
void add_bench_tokenize(CLI::App& bench, Globals& globals);

}  // namespace regard::cli
