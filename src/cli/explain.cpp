// regard explain TEXT: each step of one attention head, with all numbers.
#include "regard/explain.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/explain_source.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/verb.h"
#include "inspect/svg.h"
#include "regard/error.h"
#include "regard/math.h"
#include "regard/print.h"

namespace regard::cli {
namespace {

struct ExplainVerbRequest {
  ExplainSource source;
  std::string query, svg;
  bool no_positions = false, no_projections = false, full = false;
  ExplainOptions options;
};

// Return the index of the first token equal to `wanted`, else `wanted` itself as an index. Throws usage.
std::int64_t find_query(const std::string& wanted, const std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == wanted) return static_cast<std::int64_t>(i);
  try {
    std::size_t used = 0;
    const long long number = std::stoll(wanted, &used);
    if (used == wanted.size() && number >= 0 && number < static_cast<long long>(tokens.size())) return number;
  } catch (const std::exception&) {
    // not a number: fall through to the error that lists the choices
  }
  std::string choices;
  for (const std::string& token : tokens) choices += (choices.empty() ? "" : ", ") + token;
  throw usage_error("--query does not match a token")
      .found(wanted)
      .expected(fmt::format("a number below {}, or one of: {}", tokens.size(), choices));
}

nlohmann::ordered_json to_json(const ExplainStep& step) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::int64_t r = 0; r < step.value.rows(); ++r) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::int64_t c = 0; c < step.value.columns(); ++c) {
      const float value = step.value.row(r)[c];
      if (std::isfinite(value)) {
        row.push_back(value);
      } else {
        row.push_back(value < 0 ? "-inf" : "inf");  // JSON has no infinity
      }
    }
    rows.push_back(std::move(row));
  }
  return {{"step", step.name}, {"formula", step.formula}, {"shape", step.value.shape().sizes()},
          {"rows", step.rows}, {"columns", step.columns}, {"value", std::move(rows)}};
}

void show(const ExplainVerbRequest& request, const ExplainInput& input,
          const std::vector<ExplainStep>& steps) {
  print_result("{} tokens:", input.tokens.size());
  for (const std::string& token : input.tokens) print_result(" [{}]", token);
  print_result("\n");
  for (const ExplainStep& step : steps) {
    PrintOptions options{.digits = 3, .row_names = step.rows, .column_names = step.columns};
    if (request.full) options.most_rows = options.most_columns = INT64_MAX;
    const std::string title = step.name == step.formula ? step.name : step.name + " = " + step.formula;
    print_result("\n{}", matrix_text(title, step.value, options));
    if (!step.note.empty()) print_result("  {}\n", step.note);
  }
  if (request.query.empty()) return;
  print_result("\n");
  for (const std::string& line : follow_query(steps, find_query(request.query, input.tokens)))
    print_result("{}\n", line);
}

// Compare the computed weights with the model's own, as a sentence.
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

// Write the attention weights as an SVG to --svg, "-" being standard output.
void write_picture(const ExplainVerbRequest& request, const Explained& found,
                   const std::vector<ExplainStep>& steps, const Globals& globals) {
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

void run(ExplainVerbRequest& request, Globals& globals) {
  const std::string& text = request.source.text;
  if (const auto bad = utf8::first_bad_byte(text); bad)
    throw Error(ErrorKind::invalid_input, "the text is not UTF-8",
                {"TEXT", -1, static_cast<std::int64_t>(*bad)});
  request.options.positions = !request.no_positions;
  request.options.projections = !request.no_projections;
  request.options.seed = globals.seed;
  const Explained found = explained(request.source, request.options, globals.pool());
  const std::vector<ExplainStep> steps = explain(found.input, found.options);
  if (!request.svg.empty()) return write_picture(request, found, steps, globals);
  if (globals.json) {
    for (const ExplainStep& step : steps) print_result("{}\n", to_json(step).dump());
    return;
  }
  show(request, found.input, steps);
  if (found.model_weights.defined()) print_result("\n{}\n", compared(found, steps));
}

}  // namespace

void add_explain(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("explain", "Explain attention step by step, with every number");
  auto request = std::make_shared<ExplainVerbRequest>();
  verb->add_option("TEXT", request->source.text, "Input text")->required();
  verb->add_option(
      "--tokenizer", request->source.tokenizer,
      "Tokenizer file (tokenizer.json, *.tiktoken, *.model, vocab.txt, …). Default: split at white space");
  verb->add_option("--vectors", request->source.vectors,
                   "File of word vectors (word2vec, GloVe, fastText). Default: a small built-in table");
  verb->add_option("--model", request->source.model,
                   "Explain one head of this model: its input, queries, keys and values");
  verb->add_option("--layer", request->source.layer, "Layer, from 0; with --model")
      ->check(not_negative())
      ->capture_default_str();
  verb->add_option("--head", request->source.head, "Head, from 0; with --model")
      ->check(not_negative())
      ->capture_default_str();
  verb->add_option("--query", request->query, "Token (number or word) to follow through all steps");
  verb->add_option("--svg", request->svg,
                   "Write the weights as an SVG image to this file; -: standard output");
  verb->add_flag("--causal", request->options.causal, "Use a causal mask");
  verb->add_flag("--no-positions", request->no_positions, "Do not add sinusoidal positions");
  verb->add_flag("--no-projections", request->no_projections,
                 "Use Q = K = V = X, without projections and scaling");
  verb->add_option("--head-dim", request->options.head_dim, "Size of queries, keys and values")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb->add_flag("--full", request->full, "Print long matrices in full");
  add_globals(*verb, globals);
  verb->callback([request, &globals] { run(*request, globals); });
}

}  // namespace regard::cli
