// regard vectors attend: self-attention without parameters over the word vectors of a text.
#include <fmt/format.h>

#include "base/progress.h"
#include "base/utf8.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/vectors.h"
#include "inspect/heat_map.h"
#include "inspect/svg.h"
#include "regard/error.h"
#include "vectors/attend.h"

namespace regard::cli {
namespace {

struct VectorsAttendOptions {
  VectorsFile file;
  std::string text, svg, word;
  vectors::AttendOptions attention;
  bool as_they_are = false;
};

inspect::View view_of(const vectors::Attended& attended, const std::string& text) {
  inspect::View view;
  view.text = text;
  for (const auto& word : attended.words) view.tokens.source.push_back(word.word);
  inspect::Map map;
  map.rows = map.columns = attended.weights.rows();
  map.weights.assign(attended.weights.f32(), attended.weights.f32() + attended.weights.elements());
  map.caption = "Attention without parameters";
  view.maps.push_back(std::move(map));
  return view;
}

Json neighbours_json(const vectors::WordVectors& vectors, const std::vector<vectors::Neighbour>& list) {
  Json json = Json::array();
  for (const auto& one : list)
    json.push_back({{"word", std::string(vectors.word(one.index))}, {"cosine", one.score}});
  return json;
}

Json to_json(const vectors::WordVectors& vectors, const vectors::Attended& attended,
             const VectorsAttendOptions& options) {
  Json words = Json::array();
  for (std::size_t i = 0; i < attended.words.size(); ++i) {
    const auto& word = attended.words[i];
    const auto row = static_cast<std::int64_t>(i);
    const float* weights = attended.weights.row(row);
    const float* vector = attended.vectors.row(row);
    words.push_back({{"word", word.word},
                     {"found", word.found},
                     {"weights", std::vector<float>(weights, weights + attended.weights.columns())},
                     {"cosine_before_after", word.stayed},
                     {"cosines_before", word.before},
                     {"cosines_after", word.after},
                     {"neighbours_before", neighbours_json(vectors, word.neighbours_before)},
                     {"neighbours_after", neighbours_json(vectors, word.neighbours_after)},
                     {"vector", std::vector<float>(vector, vector + attended.vectors.columns())}});
  }
  return {{"vectors", vectors.name()},
          {"text", options.text},
          {"unit", options.attention.unit},
          {"scale", options.attention.scale},
          {"words", words}};
}

std::string listed(const vectors::WordVectors& vectors, const std::vector<vectors::Neighbour>& list) {
  std::string text;
  for (const auto& one : list)
    text += fmt::format("{}{} {:.3f}", text.empty() ? "" : ", ", shown(vectors.word(one.index)), one.score);
  return text;
}

void print_word(const vectors::WordVectors& vectors, const vectors::Attended& attended, std::size_t index) {
  const auto& word = attended.words[index];
  print_result("\n{}: cosine of the vectors before and after {:.3f}\n", word.word, word.stayed);
  for (std::size_t other = 0; other < attended.words.size(); ++other)
    if (other != index)
      print_result("  with {}: {:.3f} before, {:.3f} after\n", attended.words[other].word, word.before[other],
                   word.after[other]);
  if (!word.neighbours_before.empty())
    print_result("  nearest before: {}\n  nearest after:  {}\n", listed(vectors, word.neighbours_before),
                 listed(vectors, word.neighbours_after));
}

void require_word(const vectors::Attended& attended, const std::string& word) {
  for (const auto& one : attended.words)
    if (one.word == word) return;
  std::string words;
  for (const auto& one : attended.words) words += (words.empty() ? "" : ", ") + one.word;
  throw usage_error("the text has no word '" + word + "'").expected("one of: " + words);
}

void attend(Globals& globals, const VectorsAttendOptions& options) {
  const auto vectors = options.file.load(globals);
  const auto attended = vectors::attend(vectors, options.text, options.attention, globals.pool());
  if (!options.word.empty()) require_word(attended, options.word);
  if (!options.svg.empty())
    write_whole_result(options.svg, inspect::to_svg(view_of(attended, options.text)), globals.quiet);
  if (globals.json) return print_json(to_json(vectors, attended, options));
  if (!options.svg.empty()) return;
  const inspect::View view = view_of(attended, options.text);
  inspect::HeatMapStyle style;
  style.columns = terminal_size(1).columns;
  style.colour = colour_allowed(1);
  print_result("{}; percent of each row\n{}", view.maps[0].title(),
               inspect::heat_map(view.maps[0], view.tokens.source, view.tokens.source, style));
  for (std::size_t i = 0; i < attended.words.size(); ++i)
    if (options.word.empty() || options.word == attended.words[i].word) print_word(vectors, attended, i);
}

}  // namespace

void add_vectors_attend(CLI::App& parent, Globals& globals) {
  const auto [verb, options] = add_command<VectorsAttendOptions>(
      parent, "attend", "Compute self-attention without parameters on word vectors",
      "Computes softmax(X Xᵀ) X over the word vectors X, normalised to length 1, so that scores are "
      "cosines.\n"
      "Each output is a weighted mean of the vectors of the text.");
  add_globals(*verb, globals);
  add_vectors_file(*verb, options->file);
  verb->add_option("TEXT", options->text, "Words, for example \"Money Bank Grows\"")->required();
  verb->add_option("--word", options->word, "Report only this word of the text")->check(not_empty());
  add_checked_option(*verb, "--scale", options->attention.scale, "Factor of the scores before the softmax",
                     positive());
  verb->add_flag("--as-they-are", options->as_they_are, "Do not normalise the vectors");
  add_checked_option(*verb, "-n,--neighbours", options->attention.neighbours,
                     "Number of nearest words to print for each output", not_negative());
  add_checked_option(*verb, "--restrict", options->attention.restrict,
                     "Search only the first N words of the file; 0 searches all", not_negative());
  verb->add_option("--svg", options->svg, "Write an SVG image to this file; - is standard output")
      ->check(not_empty());
  verb->callback([&globals, options] {
    options->attention.unit = !options->as_they_are;
    attend(globals, *options);
  });
}

}  // namespace regard::cli
