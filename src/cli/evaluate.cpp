// regard evaluate: quality metrics of a model on given data.

#include "base/file.h"
#include "base/json.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/task_lines.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "data/corpus.h"
#include "metrics/perplexity.h"
#include "train/folder_evaluation.h"

namespace regard::cli {
namespace {

struct EvaluateOptions {
  std::string model;
  std::vector<std::string> files, columns;
  bool lowercase = false, header = false;
  std::string tokenizer = "13a", output;
  std::optional<std::int64_t> beam;
  std::optional<double> length_penalty;
  std::int64_t context = 0;
};

void show_translation(const EvaluateOptions& options, infer::LoadedModel& model, Globals& globals) {
  if (options.beam) model.options.beam = *options.beam;
  if (options.length_penalty) model.options.length_penalty = *options.length_penalty;
  model.options.check();
  const train::ParallelText text = train::read_parallel(options.files, options.columns, options.header);
  const train::TranslationScores scores = train::evaluate_translation(
      model, globals.pool(), text, {options.lowercase, metrics::metric_tokenizer_named(options.tokenizer)});
  if (!options.output.empty()) {
    std::string lines;
    for (const std::string& output : scores.outputs) lines += on_one_line(output) + "\n";
    write_file_atomically(options.output, lines);
  }
  const double perplexity = metrics::perplexity(scores.loss.total, scores.loss.tokens);
  if (globals.json) {
    const Json line{{"sentences", scores.outputs.size()},
                    {"beam", model.options.beam},
                    {"loss", scores.loss.mean()},
                    {"perplexity", perplexity},
                    {"target_tokens", scores.loss.tokens},
                    {"bleu", scores.bleu.score},
                    {"bleu_signature", scores.bleu_signature},
                    {"chrf", scores.chrf},
                    {"chrf_signature", scores.chrf_signature}};
    print_result("{}\n", line.dump());
    return;
  }
  print_result(
      "sentences   {}\n"
      "loss        {:.4f} nats per target token ({} tokens)\n"
      "perplexity  {:.2f}\n",
      scores.outputs.size(), scores.loss.mean(), scores.loss.tokens, perplexity);
  print_result("{}\n  {}\nchrF2 = {:.2f}\n  {}\n", scores.bleu.text(), scores.bleu_signature, scores.chrf,
               scores.chrf_signature);
}

void show_text(const EvaluateOptions& options, infer::LoadedModel& model, Globals& globals) {
  data::CorpusReport report;
  const std::string text = data::read_text(options.files, data::Faulty::refuse, report);
  const train::LossSum loss = train::evaluate_text(model, globals.pool(), text, options.context);
  const double perplexity = metrics::perplexity(loss.total, loss.tokens);
  if (globals.json) {
    const Json line{{"tokens", loss.tokens}, {"loss", loss.mean()}, {"perplexity", perplexity}};
    print_result("{}\n", line.dump());
    return;
  }
  print_result(
      "tokens      {}\n"
      "loss        {:.4f} nats per token\n"
      "perplexity  {:.2f}\n",
      loss.tokens, loss.mean(), perplexity);
}

void run_evaluate(const EvaluateOptions& options, Globals& globals) {
  infer::LoadedModel model = infer::LoadedModel::open(options.model, weight_mode(globals));
  if (!model.warning.empty()) print_message("regard: {}\n", model.warning);
  switch (model.model->kind()) {
    case ModelKind::encoder_decoder:
      return show_translation(options, model, globals);
    case ModelKind::decoder:
      return show_text(options, model, globals);
    case ModelKind::encoder:
      throw usage_error("'evaluate' knows translation and language models; " + options.model +
                        " holds an encoder alone");
  }
}

}  // namespace

void add_evaluate(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("evaluate", "Compute a model's loss, BLEU and chrF on given data");
  const auto options = std::make_shared<EvaluateOptions>();
  verb->add_option("MODEL", options->model, "Run folder or model folder")->required();
  verb->add_option(
          "DATA", options->files,
          "Translation: SOURCE REFERENCE… (line-aligned), or one .tsv or .jsonl. Language models: text files")
      ->required();
  verb->add_option(
          "--columns", options->columns,
          "Columns of source and references. TSV: numbers from 1, or names in the first line; JSONL: names")
      ->delimiter(',');
  verb->add_flag("--header", options->header, "TSV: the first line is a header (implied by column names)");
  verb->add_flag("--lowercase", options->lowercase, "Lower-case text before BLEU and chrF");
  verb->add_option("--bleu-tokenizer", options->tokenizer, "sacreBLEU tokenizer: 13a, intl, char, zh or none")
      ->capture_default_str();
  verb->add_option("--beam", options->beam, "Beam width. Default: the folder's");
  verb->add_option("--length-penalty", options->length_penalty,
                   "Length penalty of beam search. Default: the folder's");
  verb->add_option("--context", options->context,
                   "Language models: window length, in tokens. Default: the model's positions")
      ->check(not_negative());
  verb->add_option("-o,--output", options->output, "Write the translations to this file");
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([options, &globals] { run_evaluate(*options, globals); });
}

}  // namespace regard::cli
