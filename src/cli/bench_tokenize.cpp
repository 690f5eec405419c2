// regard bench tokenize: text to ids, line by line.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "text/tokenizer.h"

namespace regard::cli {
namespace {

struct Request {
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

void run(const Request& request, Globals& globals) {
  const Stopwatch loading;
  const auto tokenizer = text::Tokenizer::load(request.tokenizer);
  const double load_ms = 1e3 * loading.seconds();
  const std::string text = read_file(request.file);
  const std::vector<std::string_view> lines = lines_of(text);
  text::IdRows rows;
  const Timing timing = time_repeatedly(
      [&] { rows = tokenizer->encode_rows(lines, {.add_special = request.special}, &globals.pool()); });
  Json line = bench_line("tokenize", globals);
  line["dtype"] = "none";
  line["bytes"] = text.size(), line["lines"] = lines.size(), line["tokens"] = rows.ids.size();
  // Of all ids as 32-bit little-endian integers: equal for equal results.
  line["ids_xxh3"] = hex(xxh3(std::as_bytes(std::span<const std::int32_t>(rows.ids))));
  line["load_ms"] = load_ms;
  line["ms"] = timing.median_ms, line["best_ms"] = timing.best_ms;
  line["mb_per_s"] = static_cast<double>(text.size()) / timing.median_ms * 1e-3;
  line["tokens_per_s"] = static_cast<double>(rows.ids.size()) / timing.median_ms * 1e3;
  print_line(line);
}

}  // namespace

void add_bench_tokenize(CLI::App& bench, Globals& globals) {
  CLI::App* tokenize = bench.add_subcommand("tokenize", "Text to ids, line by line");
  const auto request = std::make_shared<Request>();
  tokenize->add_option("TOKENIZER", request->tokenizer, "A tokenizer file, or the folder of a model")
      ->required();
  tokenize->add_option("FILE", request->file, "The text")->required();
  tokenize->add_flag("--special", request->special, "Add special tokens");
  add_globals(*tokenize, globals);
  tokenize->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
