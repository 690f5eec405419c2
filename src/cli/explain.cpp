// regard explain TEXT: show each step of one attention head, with all numbers.
#include "regard/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/counted.h"
#include "base/utf8.h"
#include "cli/explain_block.h"
#include "cli/explain_pull.h"
#include "cli/explain_source.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "inspect/svg.h"
#include "regard/error.h"
#include "regard/math.h"
#include "regard/print.h"

namespace regard::cli {
namespace {

struct ExplainVerbRequest {
  ExplainSource source;
  std::string query, svg, target;
  bool block = false;
  bool no_positions = false, no_projections = false, full = false;
  ExplainOptions options;
};

// Maximum number of tokens for which all rows and columns are shown without --full.
constexpr std::int64_t kMostShown = 64;

// Return one step of the attention computation as JSON, with at most `most` rows and columns of its matrix.
// If the matrix is larger, "shown" contains the numbers of rows and columns in the JSON.
nlohmann::ordered_json to_json(const ExplainStep& step, std::int64_t most) {
  const std::int64_t height = std::min(step.value.rows(), most), width = std::min(step.value.columns(), most);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::int64_t r = 0; r < height; ++r) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::int64_t c = 0; c < width; ++c) {
      const float value = step.value.row(r)[c];
      if (std::isfinite(value)) {
        row.push_back(value);
      } else {
        // text instead of a number, because JSON has no infinity and no NaN
        row.push_back(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
      }
    }
    rows.push_back(std::move(row));
  }
  const auto first = [](const std::vector<std::string>& names, std::int64_t count) {
    return std::vector<std::string>(names.begin(), names.begin() + std::min(std::ssize(names), count));
  };
  nlohmann::ordered_json json{{"step", step.name},
                              {"formula", step.formula},
                              {"shape", step.value.shape().sizes()},
                              {"rows", first(step.rows, height)},
                              {"columns", first(step.columns, width)},
                              {"value", std::move(rows)}};
  if (height < step.value.rows() || width < step.value.columns()) json["shown"] = {height, width};
  return json;
}

// Print the lines of follow_query(). For a long text, print only the lines of the first kMostShown tokens,
// unless `full` is set.
void print_query(const std::vector<ExplainStep>& steps, std::int64_t query, std::int64_t tokens, bool full) {
  const std::vector<std::string> lines = follow_query(steps, query);
  // The lines are a heading, the score of each token, the softmax sum, the weighted value of each token, and
  // the result.
  const std::int64_t shown = full ? tokens : std::min(tokens, kMostShown);
  for (std::int64_t i = 0; i < std::ssize(lines); ++i) {
    const std::int64_t token = i <= tokens ? i - 1 : i - tokens - 2;
    const bool is_token = i != 0 && i != tokens + 1 && i != std::ssize(lines) - 1;
    if (!is_token || token < shown) print_result("{}\n", lines[static_cast<std::size_t>(i)]);
    if (is_token && token == shown) print_result("  … {} more\n", tokens - shown);
  }
}

void show(const ExplainVerbRequest& request, const ExplainInput& input, const std::vector<ExplainStep>& steps,
          std::optional<std::int64_t> query) {
  const std::int64_t tokens = std::ssize(input.tokens);
  const std::int64_t shown = request.full ? tokens : std::min(tokens, kMostShown);
  print_result("{}:", counted(tokens, "token"));
  for (std::int64_t i = 0; i < shown; ++i) print_result(" [{}]", input.tokens[static_cast<std::size_t>(i)]);
  print_result("{}\n", shown < tokens ? fmt::format(" … {} more", tokens - shown) : "");
  for (const ExplainStep& step : steps) {
    PrintOptions options{.digits = 3, .row_names = step.rows, .column_names = step.columns};
    if (request.full) options.most_rows = options.most_columns = INT64_MAX;
    const std::string title = step.name == step.formula ? step.name : step.name + " = " + step.formula;
    print_result("\n{}", matrix_text(title, step.value, options));
    if (!step.note.empty()) print_result("  {}\n", step.note);
  }
  if (!query) return;
  print_result("\n");
  print_query(steps, *query, tokens, request.full);
}

// Return a sentence that compares the explanation's attention weights with the model's attention weights.
std::string compared(const Explained& found, const std::vector<ExplainStep>& steps) {
  for (const ExplainStep& step : steps) {
    if (step.name != "weights") continue;
    const float difference = largest_difference(step.value, found.model_weights);
    return difference <= 1e-4f
               ? fmt::format("The model's own attention weights agree to within {:.0e}.", difference)
               : fmt::format(
                     "The model's own attention weights differ by up to {:.3f}: the model adds a bias or a "
                     "mask to the scores, or scales them differently.",
                     difference);
  }
  return "";
}

// Write the attention weights as an SVG to the file of --svg; "-" is standard output.
void write_picture(const ExplainVerbRequest& request, const Explained& found,
                   const std::vector<ExplainStep>& steps, const Globals& globals) {
  const std::int64_t tokens = std::ssize(found.input.tokens);
  if (tokens > kMostShown && !request.full)
    throw input_error("TEXT is too long for an image")
        .found(counted(tokens, "token"))
        .expected(fmt::format("at most {} tokens", kMostShown))
        .remedy("Add --full to draw all tokens");
  inspect::View view;
  view.text = request.source.text;
  view.tokens.source = found.input.tokens;
  for (const ExplainStep& step : steps) {
    if (step.name != "weights") continue;
    inspect::Map map;
    map.rows = step.value.rows(), map.columns = step.value.columns();
    map.weights.assign(step.value.f32(), step.value.f32() + step.value.elements());
    map.caption =
        found.input.head.empty() ? "weights, percent of each row" : "weights of " + found.input.head;
    view.maps.push_back(std::move(map));
  }
  write_whole_result(request.svg, inspect::to_svg(view), globals.quiet);
}

void explain_block(const ExplainVerbRequest& request, Globals& globals) {
  const ExplainSource& source = request.source;
  if (source.model.empty()) throw usage_error("--block needs --model").remedy("Add --model FOLDER");
  if (!request.svg.empty() || globals.json)
    throw usage_error("--block prints text only").remedy("Remove --svg and --json");
  print_result("{}", block_text({.model = source.model,
                                 .text = source.text,
                                 .target = request.target,
                                 .query = request.query,
                                 .layer = source.layer},
                                globals.pool()));
}

void run(ExplainVerbRequest& request, Globals& globals) {
  const std::string& text = request.source.text;
  if (const auto bad = utf8::first_bad_byte(text); bad)
    throw Error(ErrorKind::invalid_input, "the text is not UTF-8",
                {"TEXT", -1, static_cast<std::int64_t>(*bad)});
  if (request.block) return explain_block(request, globals);
  request.options.positions = !request.no_positions;
  request.options.projections = !request.no_projections;
  request.options.seed = globals.seed;
  const Explained found = explained(request.source, request.options, globals.pool());
  const std::vector<ExplainStep> steps = explain(found.input, found.options);
  if (!request.svg.empty()) return write_picture(request, found, steps, globals);
  if (globals.json) {
    for (const ExplainStep& step : steps)
      print_result("{}\n", to_json(step, request.full ? INT64_MAX : kMostShown).dump());
    return;
  }
  // find the token now, so that a wrong --query is an error before anything is printed
  std::optional<std::int64_t> query;
  if (!request.query.empty()) query = find_token(request.query, found.input.tokens);
  show(request, found.input, steps, query);
  if (found.shipped && found.options.projections) {
    if (const std::string pull = pull_text(found.input, query, globals.pool()); !pull.empty())
      print_result("\n{}", pull);
  }
  if (found.model_weights.defined()) print_result("\n{}\n", compared(found, steps));
}

}  // namespace

void add_explain(CLI::App& app, Globals& globals) {
  const auto [verb, request] =
      add_command<ExplainVerbRequest>(app, "explain", "Explain attention step by step, with every number");
  verb->add_option("TEXT", request->source.text, "Input text")->required();
  verb->add_option("--tokenizer", request->source.tokenizer,
                   "Tokenizer file (tokenizer.json, *.tiktoken, *.model, vocab.txt, …). Default: split into "
                   "words and punctuation")
      ->check(not_empty());
  verb->add_option(
          "--vectors", request->source.vectors,
          "File of word vectors (word2vec, GloVe, fastText). Default: trained vectors of about 5,000 English "
          "words, built into the program")
      ->check(not_empty());
  verb->add_flag("--invented", request->source.invented,
                 "Use four invented features (finance, growth, water, place) instead of trained vectors");
  verb->add_option("--model", request->source.model,
                   "Explain one head of this model: its input, queries, keys and values")
      ->check(not_empty());
  add_checked_option(*verb, "--layer", request->source.layer,
                     "Layer to explain, numbered from 0; needs --model", not_negative());
  add_checked_option(*verb, "--head", request->source.head, "Head to explain, numbered from 0; needs --model",
                     not_negative());
  verb->add_flag(
      "--block", request->block,
      "Explain the whole layer for one token: attention, cross-attention, feed-forward layer, residual "
      "connections, layer norms; needs --model");
  verb->add_option("--target", request->target,
                   "Text of the decoder; needs --block. Default: the text that the model generates");
  verb->add_option("--query", request->query,
                   "Token whose attention is printed in detail: a word, or a number from 0. With --block: "
                   "the token that is explained; default: the last one")
      ->check(not_empty());
  verb->add_option("--svg", request->svg,
                   "Write the weights as an SVG image to this file; - is standard output")
      ->check(not_empty());
  verb->add_flag("--causal", request->options.causal, "Use a causal mask");
  verb->add_flag("--no-positions", request->no_positions, "Do not add sinusoidal positions");
  verb->add_flag("--no-projections", request->no_projections,
                 "Use Q = K = V = X, without projections or scaling");
  add_checked_option(*verb, "--head-dim", request->options.head_dim, "Size of queries, keys and values",
                     CLI::Range(1, 4096));
  verb->add_flag("--full", request->full, "Print long matrices and long texts in full");
  verb->get_option("--target")->needs("--block");
  for (const char* name : {"--layer", "--head"}) verb->get_option(name)->needs("--model");
  // These options have no effect on a model, which has its own tokens, vectors, mask, positions and
  // projections.
  for (const char* name : {"--tokenizer", "--vectors", "--invented", "--causal", "--no-positions",
                           "--no-projections", "--head-dim"})
    verb->get_option(name)->excludes("--model");
  verb->get_option("--head-dim")->excludes("--no-projections");
  for (const char* name : {"--head", "--full"}) verb->get_option(name)->excludes("--block");
  add_globals(*verb, globals, {.seed = true});
  verb->get_option("--seed")->excludes("--model");
  // The steps of one token are printed as text only. A command writes only one output.
  verb->get_option("--query")->excludes("--svg")->excludes("--json");
  verb->get_option("--svg")->excludes("--json");
  verb->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
