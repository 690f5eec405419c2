// regard bench embed: speed of sentence embedding, including tokenization.
#include <algorithm>

#include "base/line_reader.h"
#include "cli/bench.h"
#include "cli/number_checks.h"
#include "cli/timing.h"
#include "cli/weight_mode.h"
#include "regard/error.h"
#include "tasks/embed.h"

namespace regard::cli {
namespace {

struct EmbedBenchRequest {
  std::string model, file;
  std::size_t batch = 32, lines = 512;
};

std::vector<std::string> read_texts(const EmbedBenchRequest& request) {
  std::vector<std::string> texts;
  LineReader reader(request.file);
  for (std::string line; texts.size() < request.lines && reader.next(line);)
    if (!line.empty()) texts.push_back(line);
  if (texts.empty())
    throw file_error(request.file, "the file has no lines to embed").expected("one text per line");
  return texts;
}

void run(const EmbedBenchRequest& request, Globals& globals) {
  const std::vector<std::string> texts = read_texts(request);
  const auto folder = tasks::EmbeddingFolder::open(request.model, {}, weight_mode(globals));
  folder.loaded.model->prepare_for_inference(globals.pool());
  tasks::Embedder embedder(folder, globals.pool());
  std::int64_t tokens = 0;
  for (const std::string& text : texts) tokens += embedder.read(text).tokens();
  const Timing timing = time_repeatedly([&] {
    for (std::size_t first = 0; first < texts.size(); first += request.batch)
      embedder.embed(std::span(texts).subspan(first, std::min(request.batch, texts.size() - first)));
  });
  Json line = bench_line("embed", globals);
  if (globals.int8) line["dtype"] = "int8";
  if (globals.bf16) line["precision"] = "bf16";
  line["batch"] = request.batch, line["sentences"] = texts.size(), line["tokens"] = tokens;
  add_timing(line, timing);
  line["sentences_per_s"] = static_cast<double>(texts.size()) / timing.median_ms * 1e3;
  line["tokens_per_s"] = static_cast<double>(tokens) / timing.median_ms * 1e3;
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_embed(CLI::App& bench, Globals& globals) {
  const auto [embed, request] =
      add_command<EmbedBenchRequest>(bench, "embed", "Time sentence embedding, tokenisation included");
  add_model_argument(*embed, request->model, "Model folder");
  embed->add_option("FILE", request->file, "File with one text per line; empty lines are skipped")
      ->required();
  add_checked_option(*embed, "--batch", request->batch, "Number of texts per batch", CLI::Range(1, 1 << 20));
  add_checked_option(*embed, "--lines", request->lines, "Number of lines to read from the file", positive());
  add_quantize(*embed, globals);
  set_action(*embed, globals, request, run);
}

}  // namespace regard::cli
