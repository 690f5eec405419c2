// regard context: show the vectors of one word in several sentences, layer by layer.
#include <cmath>

#include "api/file_reader.h"
#include "base/counted.h"
#include "base/line_reader.h"
#include "cli/adapter.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "inspect/resolve.h"
#include "inspect/word_context.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct ContextOptions {
  std::string model, adapter, word, input, layer, svg;
  std::vector<std::string> sentences, senses, interventions;
  bool vectors = false;
};

// Read the sentences of a file. Each line has the form SENTENCE or SENSE<tab>SENTENCE.
void read_lines(const std::string& path, std::vector<inspect::ContextSentence>& sentences) {
  LineReader reader(path);
  std::string line;
  while (reader.next(line)) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    sentences.push_back(tab == line.npos
                            ? inspect::ContextSentence{line, ""}
                            : inspect::ContextSentence{line.substr(tab + 1), line.substr(0, tab)});
    if (sentences.size() > inspect::kMostContextSentences)
      throw Error(ErrorKind::bad_file, "too many sentences", {reader.name(), reader.line_number()})
          .found("at least " + std::to_string(sentences.size()) + " sentences")
          .expected("at most " + std::to_string(inspect::kMostContextSentences) + " sentences");
  }
  if (sentences.empty())
    throw Error(ErrorKind::bad_file, "the file has no sentences", {reader.name(), -1, -1})
        .expected("one sentence per line, optionally preceded by its sense and a tab");
}

std::vector<inspect::ContextSentence> sentences_of(const ContextOptions& options) {
  std::vector<inspect::ContextSentence> sentences;
  for (const std::string& text : options.sentences) sentences.push_back({text, ""});
  if (!options.senses.empty() && options.senses.size() != sentences.size())
    throw usage_error(
        "the number of senses in --senses differs from the number of sentences on the command line")
        .found(counted(options.senses.size(), "sense"))
        .expected(counted(sentences.size(), "sense"));
  for (std::size_t i = 0; i < options.senses.size(); ++i) sentences[i].sense = options.senses[i];
  if (!options.input.empty() || sentences.empty())
    read_lines(options.input.empty() ? "-" : options.input, sentences);
  return sentences;
}

std::string shown(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

void print_layers(const inspect::WordContext& context) {
  print_result("{:<10} {:>8}", "layer", "cosine");
  if (context.has_senses) print_result(" {:>11} {:>12} {:>11}", "same sense", "other sense", "silhouette");
  print_result("\n");
  for (const inspect::ContextLayer& layer : context.layers) {
    print_result("{:<10} {:>8}", layer.name, shown(layer.mean_cosine));
    if (context.has_senses)
      print_result(" {:>11} {:>12} {:>11}", shown(layer.same_sense), shown(layer.other_sense),
                   shown(layer.silhouette));
    print_result("\n");
  }
}

void print_matrix(const inspect::WordContext& context, const inspect::ContextLayer& layer) {
  const std::size_t count = context.places.size();
  print_result("\n{}: cosine of each pair, and the nearest other sentence\n    ", layer.name);
  for (std::size_t i = 0; i < count; ++i) print_result(" {:>6}", i + 1);
  print_result("  nearest\n");
  for (std::size_t i = 0; i < count; ++i) {
    print_result("{:>4}", i + 1);
    for (std::size_t j = 0; j < count; ++j) print_result(" {:>6.3f}", layer.cosine[i * count + j]);
    print_result("  {}\n", layer.nearest[i] < 0 ? "-" : std::to_string(layer.nearest[i] + 1));
  }
}

const inspect::ContextLayer& chosen_layer(const inspect::WordContext& context, const std::string& name) {
  if (name.empty()) return context.layers.back();
  std::string known;
  for (const inspect::ContextLayer& layer : context.layers) {
    if (layer.name == name || layer.name == "layer " + name) return layer;
    known += (known.empty() ? "" : ", ") + layer.name;
  }
  throw usage_error("the model has no such layer").found("'" + name + "'").expected("one of " + known);
}

void print_context(const inspect::WordContext& context, const inspect::ContextLayer& layer) {
  constexpr std::size_t kMostColumns = 12;  // maximum number of sentences for which cosines are printed
  print_result("'{}' in {}\n", context.word, counted(context.places.size(), "sentence"));
  for (std::size_t i = 0; i < context.places.size(); ++i) {
    const inspect::ContextSentence& sentence = context.sentences[i];
    print_result("{:>4}  {}{}\n", i + 1, sentence.sense.empty() ? "" : "[" + sentence.sense + "] ",
                 sentence.text);
  }
  print_result("\n");
  print_layers(context);
  if (context.places.size() <= kMostColumns)
    print_matrix(context, layer);
  else
    print_result("\nThe cosine of each pair is printed for at most {} sentences; --json has all of them.\n",
                 kMostColumns);
}

void context_verb(const ContextOptions& options, Globals& globals) {
  std::vector<inspect::ContextSentence> sentences = sentences_of(options);
  const infer::LoadedModel opened = infer::LoadedModel::open(
      options.model, {.weight_mode = weight_mode(globals), .adapter = options.adapter});
  print_warning(opened.warning);
  const auto edits = inspect::resolve(*opened.model, globals.pool(), &opened,
                                      inspect::parse_interventions(options.interventions), {},
                                      api::file_reader(opened, globals.pool()));
  inspect::WordContext context =
      inspect::word_context(opened, globals.pool(), options.word, std::move(sentences), edits.get());
  context.model = options.model;
  warn_of_unused(edits.get());
  const inspect::ContextLayer& layer = chosen_layer(context, options.layer);
  if (!options.svg.empty()) write_whole_result(options.svg, inspect::context_svg(context), globals.quiet);
  if (globals.json)
    print_result("{}\n", inspect::context_json(context, options.vectors));
  else
    print_context(context, layer);
}

}  // namespace

void add_context(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<ContextOptions>(
      app, "context", "Compare the vectors of one word in several sentences",
      "Each sentence must contain WORD as a whole word; its first occurrence is used. Each line of "
      "--input\n"
      "is SENTENCE or SENSE<tab>SENTENCE. The vector of a word with several tokens is their mean.\n"
      "Layers: static is the embedding alone, input is the embedding with positions, output is the result\n"
      "of the last norm. The silhouette is near 1 if the senses are well separated, and near 0 or below\n"
      "otherwise. For an encoder-decoder, only the encoder is run.");
  add_model_argument(*verb, options->model);
  verb->add_option("WORD", options->word, "Word to compare")->required()->check(valid_text());
  verb->add_option("SENTENCES", options->sentences, "Sentences. Default: the lines of --input")
      ->check(valid_text());
  verb->add_option("-i,--input", options->input,
                   "File of further sentences. Default: standard input if there are no SENTENCES")
      ->check(not_empty());
  verb->add_option("--senses", options->senses,
                   "Sense of each of the SENTENCES, separated by commas, such as money,river,money")
      ->delimiter(',');
  verb->add_option(
      "--layer", options->layer,
      "Layer whose cosines are printed: static, input, a number from 0, or output. Default: the last of "
      "these that the model has");
  verb->add_option("--svg", options->svg,
                   "Write the vectors of each layer, projected onto two dimensions (PCA), to this SVG file")
      ->check(not_empty());
  verb->add_flag("--vectors", options->vectors, "Add the vectors of the word to the output");
  add_intervene(*verb, options->interventions);
  add_adapter(*verb, options->adapter);
  add_quantize(*verb, globals);
  set_action(*verb, globals, options, context_verb);
  verb->get_option("--vectors")->needs("--json");
}

}  // namespace regard::cli
