// regard study: measure the effects of a model's parts on texts.

#include "base/json.h"
#include "base/progress.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "inspect/study_views.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct StudyOptions {
  std::string adapter, csv, svg;
  std::size_t rows = 40;
};

void study(const inspect::StudyRequest& request, const StudyOptions& options, Globals& globals) {
  for (const std::string& file : {options.csv, options.svg})
    if (!file.empty() && file != "-") require_writable(file);
  // this view computes gradients, which require weights in f32
  const bool gradients = request.view == "tokens";
  const infer::LoadedModel loaded = infer::LoadedModel::open(
      request.model,
      {.weight_mode = gradients ? WeightMode::widened : weight_mode(globals), .adapter = options.adapter});
  print_warning(loaded.warning);
  if (!gradients) loaded.model->prepare_for_inference(globals.pool());
  catch_signals();
  ProgressBar bar(globals.quiet);
  const inspect::StudyTable table =
      inspect::study_table(loaded, globals.pool(), request, globals.seed, [&](double share) {
        bar.update(share, "studying " + request.view);
        return stop_signal() == 0;
      });
  bar.clear();
  if (!options.csv.empty()) write_whole_result(options.csv, table.csv(), globals.quiet);
  if (!options.svg.empty()) write_whole_result(options.svg, table.svg(), globals.quiet);
  if (globals.json)
    print_result("{}\n", table.json().dump(-1, ' ', false, Json::error_handler_t::replace));
  else if (options.csv.empty() && options.svg.empty())
    print_result("{}", table.text(options.rows));
}

void add_view_options(CLI::App& verb, inspect::StudyRequest& request) {
  verb.add_option("--text", request.text,
                  "Study this text instead of a file; induction: draw the random tokens from its tokens")
      ->check(valid_text());
  verb.add_option("--target", request.target,
                  "Target of --text: the translation of an encoder-decoder, or the label. Default: generated "
                  "by the model")
      ->check(valid_text());
  verb.add_option("--other", request.other,
                  "patch, path: the text whose pass receives values from the pass over --text")
      ->check(valid_text());
  verb.add_option("--other-target", request.other_target, "Target of --other. Default: that of --text")
      ->check(valid_text());
  verb.add_option(
          "--answer", request.answer,
          "heads, sets: count only the predictions of this part of the target. Other views: the answer\n"
          "whose logit is measured (its first token, or a label)")
      ->check(valid_text());
  verb.add_option("--instead", request.instead,
                  "Measure the logit of --answer minus the logit of this answer")
      ->check(valid_text());
  verb.add_option("--position", request.position,
                  "Position where the answer is predicted. Default: the last of a decoder, else 0")
      ->check(not_negative());
}

}  // namespace

void add_study(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("study", "Measure the effects of a model's heads and layers");
  verb->footer(
      "DATA: one text per line, or TEXT<tab>TARGET (a translation or a label). Views:\n"
      "  heads      the loss without each head, and the head's attention pattern\n"
      "  sets       heads ablated together, chosen greedily\n"
      "  flip       heads to ablate so that --instead becomes likelier than --answer\n"
      "  kinds      known kinds of heads: previous token, first token, separators, …\n"
      "  induction  attention on repeated random tokens (decoders)\n"
      "  lens       the next token read from the residual after each layer\n"
      "  direct     direct attribution of a logit to heads and layers\n"
      "  patch      activation patching from --text into --other; path: direct paths only\n"
      "  tokens     gradient x input and integrated gradients\n"
      "  rollout, flow   attention rollout and flow\n"
      "  probe      a linear classifier of the labels from each layer\n"
      "  alignment  alignment error rate of cross-attention (--alignments)");
  auto request = std::make_shared<inspect::StudyRequest>();
  auto options = std::make_shared<StudyOptions>();
  verb->add_option("MODEL", request->model, "Run folder or Hugging Face folder")->required();
  verb->add_option("DATA", request->data, "File of texts; - is standard input");
  verb->add_option("--view", request->view, "What to measure")
      ->check(CLI::IsMember(inspect::study_views()))
      ->capture_default_str();
  add_view_options(*verb, *request);
  verb->add_option("--examples", request->examples, "Use at most this many lines of DATA; 0 uses all")
      ->check(not_negative());
  verb->add_option("--off", request->off,
                   "heads, sets: heads to ablate in all passes, in the syntax of --ablate");
  verb->add_option("--most", request->most, "sets, flip: maximum number of heads")
      ->check(positive())
      ->capture_default_str();
  verb->add_option("--state", request->state,
                   "heads, sets: file of finished heads, from which a later study continues");
  verb->add_option("--steps", request->steps, "tokens: number of steps of the integral")
      ->check(positive())
      ->capture_default_str();
  verb->add_option("--intervene", request->interventions,
                   "tokens: change values in every pass, for example 'uniform cross.1.0'; repeatable")
      ->allow_extra_args(false);
  verb->add_option("--length", request->length, "induction: number of random tokens before the repetition")
      ->check(positive())
      ->capture_default_str();
  verb->add_option("--sequences", request->sequences, "induction: number of sequences")
      ->check(positive())
      ->capture_default_str();
  verb->add_option(
      "--alignments", request->alignments,
      "alignment: file with the links of each line of DATA, such as '0-1 2p0'; p marks a possible link");
  add_adapter(*verb, options->adapter);
  verb->add_option("--rows", options->rows, "Number of rows to print; 0 prints all")->capture_default_str();
  verb->add_option("--csv", options->csv, "Write the table to this file as CSV");
  verb->add_option("--svg", options->svg, "Write the table to this file as an SVG image");
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([request, options, &globals] { study(*request, *options, globals); });
}

}  // namespace regard::cli
