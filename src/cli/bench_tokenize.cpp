// regard bench tokenize: encoding speed on the lines of a file.
#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "text/tokenizer.h"

namespace regard::cli {
namespace {

struct TokenizeBenchRequest {
  std::string tokenizer, file;
  bool special = false;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Return the checksum Σ (id + 1)(index + 1) modulo 2^64. It is easy to compute in other programs for
// comparison.
std::uint64_t sum_of(std::span<const std::int32_t> ids) {
  std::uint64_t sum = 0, place = 0;
  for (const std::int32_t id : ids) sum += (static_cast<std::uint64_t>(id) + 1) * ++place;
  return sum;
}

void run(const TokenizeBenchRequest& request, Globals& globals) {
  const Stopwatch loading;
  const auto tokenizer = text::Tokenizer::load(request.tokenizer);
  const double load_ms = 1e3 * loading.seconds();
  const std::string text = read_file(request.file);
  const std::vector<std::string_view> lines = lines_of(text);
  text::IdRows rows;
  const auto once = [&] {
    const double begin = processor_seconds_now();
    tokenizer->encode_rows(lines, rows, {.add_special = request.special}, &globals.pool());
    return processor_seconds_now() - begin;
  };
  const double first_cpu = once();  // CPU seconds of the first encoding, with an empty word cache
  double least_cpu = std::numeric_limits<double>::infinity();
  const Timing timing = time_repeatedly([&] { least_cpu = std::min(least_cpu, once()); });
  Json line = bench_line("tokenize", globals);
  line["dtype"] = "none";
  line["bytes"] = text.size(), line["lines"] = lines.size(), line["tokens"] = rows.ids().size();
  line["ids_sum"] = hex(sum_of(rows.ids()));
  line["load_ms"] = load_ms;
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms;
  line["mb_per_s"] = static_cast<double>(text.size()) / timing.median_ms * 1e-3;
  const auto per_second = [&](double cpu) { return static_cast<double>(text.size()) / cpu * 1e-6; };
  // speed of the encoding with the lowest CPU time (the sum over all threads)
  line["cpu_mb_per_s"] = per_second(least_cpu);
  line["first_cpu_mb_per_s"] = per_second(first_cpu);
  line["tokens_per_s"] = static_cast<double>(rows.ids().size()) / timing.median_ms * 1e3;
  print_line(line);
}

}  // namespace

void add_bench_tokenize(CLI::App& bench, Globals& globals) {
  const auto [tokenize, request] =
      add_command<TokenizeBenchRequest>(bench, "tokenize", "Time the encoding of text, line by line");
  tokenize->add_option("TOKENIZER", request->tokenizer, "Tokenizer file or model folder")->required();
  tokenize->add_option("FILE", request->file, "Text file")->required();
  tokenize->add_flag("--special", request->special, "Add special tokens");
  set_action(*tokenize, globals, request, run);
}

}  // namespace regard::cli
