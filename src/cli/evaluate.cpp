// regard evaluate: compute metrics of one model, or compare two, on given data.

#include "base/file.h"
#include "base/json_text.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/evaluation_output.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "evaluate/captioning.h"
#include "evaluate/classification.h"
#include "evaluate/contrastive.h"
#include "evaluate/conversations.h"
#include "evaluate/embedding.h"
#include "evaluate/image_classification.h"
#include "evaluate/language_model.h"
#include "evaluate/question_answering.h"
#include "evaluate/sound.h"
#include "evaluate/token_classification.h"
#include "evaluate/translation.h"
#include "formats/model_folder.h"
#include "infer/search_overrides.h"
#include "models/dual_encoder.h"

namespace regard::cli {
namespace {

namespace fs = std::filesystem;

struct EvaluateOptions {
  std::string model, adapter;
  std::vector<std::string> compared;  // model folders to compare: two, or none
  evaluate::DataOptions data;
  std::string task, output, scheme, scores, test = "bootstrap";
  std::optional<std::string> tokenizer;
  std::string chat_template;
  bool lowercase = false, cut = false, chat = false;
  std::optional<std::int64_t> beam;
  std::optional<double> length_penalty, threshold;
  std::int64_t context = 0, bootstrap = 0, samples = 0;
  std::size_t rows = 10;
  ProbeOptions changes;  // ablated heads and interventions
};

const std::vector<std::string> kTasks = {"translation",    "language-model",       "masked-language-model",
                                         "classification", "token-classification", "question-answering",
                                         "embedding",      "image-classification", "captioning",
                                         "contrastive",    "audio-classification", "speech-recognition"};

// Return the task of a model, determined by its head.
std::string task_of(const infer::LoadedModel& model, const std::string& name) {
  const InputKind reads = model.model->input_spec().kind;
  if (dual_encoder_of(*model.model) != nullptr) return "contrastive";
  if (reads == InputKind::pixels && model.model->output() == Output::sequence_classes)
    return "image-classification";
  if (reads == InputKind::pixels && model.model->kind() == ModelKind::encoder_decoder) return "captioning";
  if (reads != InputKind::tokens)
    throw usage_error("'evaluate' does not support this image or sound model")
        .at({name, -1, -1})
        .expected(
            "a classifier of images or sounds, a model that captions images or transcribes sounds, or a dual "
            "encoder");
  switch (model.model->output()) {
    case Output::sequence_classes:
      return "classification";
    case Output::token_classes:
      return "token-classification";
    case Output::span:
      return "question-answering";
    case Output::vocabulary:
      return "masked-language-model";
    case Output::next_token:
      return model.model->kind() == ModelKind::encoder_decoder ? "translation" : "language-model";
    case Output::none:
    case Output::pooled:
      return "embedding";
    case Output::token_flags:
    case Output::ctc:
      break;
  }
  throw usage_error("'evaluate' has no default task for this model")
      .at({name, -1, -1})
      .remedy("Select a task with --task NAME");
}

Error wrong_task(const std::string& task, const std::string& model, const std::string& expected) {
  return usage_error("the model does not support the task given with --task")
      .at({model, -1, -1})
      .found(task)
      .expected(expected);
}

void check_kind(const std::string& task, const infer::LoadedModel& model, const std::string& name) {
  const bool of_text = task != "image-classification" && task != "captioning" && task != "contrastive" &&
                       task != "audio-classification" && task != "speech-recognition";
  const std::string own = of_text ? task : task_of(model, name);
  if (own != task) throw wrong_task(task, name, own);
  if (of_text) model.model->input_spec().require(InputKind::tokens);
  const bool fits = task == "translation"      ? model.model->kind() == ModelKind::encoder_decoder
                    : task == "language-model" ? model.model->kind() == ModelKind::decoder
                                               : true;
  if (!fits) throw wrong_task(task, name, task_of(model, name));
}

bool chats(const EvaluateOptions& options) {
  return options.chat || !options.chat_template.empty();
}

// Throws usage for an option that has no effect on the task.
void check_options(const EvaluateOptions& options, const std::string& task) {
  if (chats(options) && task != "language-model")
    throw usage_error("--chat and --chat-template need a language model").found("the task " + task);
  const bool searches = task == "translation" || task == "captioning";
  const bool classifies = task == "classification";
  const bool of_tokens = task == "token-classification";
  const bool masked = task == "masked-language-model";
  const bool windows = classifies || of_tokens || masked || task == "language-model" ||
                       task == "question-answering" || task == "embedding";
  struct Option {
    const char* name;
    bool given, has_effect;
  };
  const Option checked[] = {
      {"--beam", options.beam.has_value(), searches || task == "speech-recognition"},
      {"--length-penalty", options.length_penalty.has_value(), searches},
      {"--lowercase", options.lowercase, searches},
      {"--bleu-tokenizer", options.tokenizer.has_value(), searches},
      {"--context", options.context > 0, windows},
      {"--truncate", options.cut, classifies || masked || chats(options)},
      {"--scores", !options.scores.empty(), classifies},
      {"--threshold", options.threshold.has_value(), classifies},
      {"--scheme", !options.scheme.empty(), of_tokens},
  };
  for (const Option& option : checked)
    if (option.given && !option.has_effect)
      throw usage_error(std::string(option.name) + " has no effect on this task").found("the task " + task);
}

metrics::MetricTokenizer bleu_tokenizer(const EvaluateOptions& options) {
  return metrics::metric_tokenizer_named(options.tokenizer.value_or("13a"));
}

evaluate::Evaluation of_classes(const EvaluateOptions& options, const evaluate::Subject& subject) {
  evaluate::ClassificationOptions classes;
  classes.threshold = options.threshold.value_or(0.5), classes.cut = options.cut,
  classes.most_tokens = options.context;
  if (options.scores == "softmax") classes.scores = tasks::Scores::softmax;
  if (options.scores == "sigmoid") classes.scores = tasks::Scores::sigmoid;
  if (options.scores == "none") classes.scores = tasks::Scores::plain;
  return evaluate::classification(subject, options.data, classes);
}

evaluate::Evaluation evaluated(const EvaluateOptions& options, const evaluate::Subject& subject,
                               const std::string& task, std::uint64_t seed) {
  if (task == "translation")
    return evaluate::translation(subject, options.data, {options.lowercase, bleu_tokenizer(options)});
  if (chats(options))
    return evaluate::conversations(subject, options.data,
                                   {options.chat_template, options.context, options.cut});
  if (task == "language-model") return evaluate::language_model(subject, options.data, options.context);
  if (task == "masked-language-model")
    return evaluate::masked_language_model(subject, options.data,
                                           {.seed = seed, .context = options.context, .cut = options.cut});
  if (task == "classification") return of_classes(options, subject);
  if (task == "image-classification") return evaluate::image_classification(subject, options.data);
  if (task == "contrastive") return evaluate::contrastive(subject, options.data);
  if (task == "captioning")
    return evaluate::captioning(subject, options.data, {options.lowercase, bleu_tokenizer(options)});
  if (task == "token-classification") {
    evaluate::TokenClassificationOptions tokens;
    tokens.window = options.context;
    if (!options.scheme.empty()) tokens.strict = metrics::entity_scheme_named(options.scheme);
    return evaluate::token_classification(subject, options.data, tokens);
  }
  return evaluate::question_answering(subject, options.data, {.window = options.context});
}

bool reads_sound(const formats::ModelFolder& folder) {
  return make_model(folder.config, folder.config_file)->input_spec().kind == InputKind::features;
}

// Call run(probe), where `probe` applies --ablate and --intervene. Return its result with the values of these
// options added to the facts. Prints a warning for each intervention that changed nothing.
template <class Run>
evaluate::Evaluation evaluate_changed(const EvaluateOptions& options, const infer::LoadedModel& model,
                                      ThreadPool& pool, const Run& run) {
  ModelProbes probes(options.changes, model, pool);
  evaluate::Evaluation result = run(probes.probe());
  probes.finish();
  if (!options.changes.ablate.empty()) result.fact("ablated", options.changes.ablate);
  if (!options.changes.interventions.empty()) result.fact("interventions", options.changes.interventions);
  return result;
}

// Evaluate a sound model, as a classifier or as a speech recogniser, depending on its head.
evaluate::Evaluation evaluate_sounds(const EvaluateOptions& options, const formats::ModelFolder& folder,
                                     Globals& globals) {
  infer::LoadedModel model = infer::LoadedModel::open(
      folder,
      {.weight_mode = weight_mode(globals), .reads = InputKind::features, .adapter = options.adapter});
  print_warning(model.warning);
  const bool classifies = model.model->output() == Output::sequence_classes;
  const std::string task = classifies ? "audio-classification" : "speech-recognition";
  if (!options.task.empty() && options.task != task) throw wrong_task(options.task, folder.given, task);
  check_options(options, task);
  model.options.beam = options.beam.value_or(1);
  model.model->prepare_for_inference(globals.pool());
  return evaluate_changed(options, model, globals.pool(), [&](Probe* probe) {
    const evaluate::Subject subject{model, globals.pool(), probe};
    return classifies ? evaluate::audio_classification(subject, options.data)
                      : evaluate::speech_recognition(subject, options.data);
  });
}

evaluate::Evaluation evaluate_model(const EvaluateOptions& options, const std::string& path,
                                    Globals& globals) {
  const auto embedding = [&] {
    check_options(options, "embedding");
    const tasks::EmbeddingFolder folder = tasks::EmbeddingFolder::open(
        path, {.adapter = options.adapter, .most_tokens = options.context}, weight_mode(globals));
    if (!options.task.empty()) print_warning(folder.loaded.warning);  // without --task, already printed
    folder.loaded.model->prepare_for_inference(globals.pool());
    return evaluate_changed(options, folder.loaded, globals.pool(), [&](Probe* probe) {
      return evaluate::embedding(folder, globals.pool(), options.data, {.most_tokens = options.context},
                                 probe);
    });
  };
  if (options.task == "embedding") return embedding();
  const formats::ModelFolder folder = formats::ModelFolder::open(path);
  if (reads_sound(folder)) return evaluate_sounds(options, folder, globals);
  infer::LoadedModel model = infer::LoadedModel::open(
      folder, {.weight_mode = weight_mode(globals), .reads = std::nullopt, .adapter = options.adapter});
  print_warning(model.warning);
  const std::string task = options.task.empty() ? task_of(model, path) : options.task;
  if (task == "embedding") return embedding();
  check_kind(task, model, path);
  check_options(options, task);
  infer::SearchOverrides search;
  search.beam = options.beam, search.length_penalty = options.length_penalty;
  model.options = search.over(model.options, globals.seed);
  model.model->prepare_for_inference(globals.pool());
  return evaluate_changed(options, model, globals.pool(), [&](Probe* probe) {
    return evaluated(options, {model, globals.pool(), probe}, task, globals.seed);
  });
}

void run_evaluate(EvaluateOptions options, Globals& globals) {
  if (!options.compared.empty()) options.data.files.insert(options.data.files.begin(), options.model);
  if (options.data.files.empty())
    throw usage_error("there is no data to evaluate on").expected("MODEL DATA…, or --compare A B DATA…");
  if (options.compared.empty()) {
    if (!options.output.empty()) require_writable(options.output);
    const evaluate::Evaluation result = evaluate_model(options, options.model, globals);
    if (!options.output.empty()) write_rows(options.output, result);
    const Json intervals =
        options.bootstrap == 0 ? Json::object() : evaluate::intervals(result, {.samples = options.bootstrap});
    if (globals.json) {
      Json json = to_json(result);
      if (options.bootstrap > 0) json["intervals"] = intervals;
      print_result("{}\n", json_text(json));
      return;
    }
    for (const std::string& line : result.lines) print_result("{}\n", line);
    for (const auto& [name, one] : intervals.items())
      print_result("{:<12} 95 % between {:.4f} and {:.4f}\n", name, one["lower"].get<double>(),
                   one["upper"].get<double>());
    return;
  }
  if (!options.output.empty())
    throw usage_error("--output cannot be combined with --compare").remedy("Remove one of the two options");
  if (!options.adapter.empty())
    throw usage_error("--adapter cannot be combined with --compare")
        .remedy("Convert the model with its adapter first: regard convert MODEL MERGED --adapter FOLDER");
  if (!options.changes.ablate.empty() || !options.changes.interventions.empty())
    throw usage_error("--ablate and --intervene cannot be combined with --compare")
        .remedy("Evaluate the changed model alone: regard evaluate MODEL DATA --intervene …");
  const evaluate::Evaluation first = evaluate_model(options, options.compared[0], globals);
  throw_if_stopped();
  const evaluate::Evaluation second = evaluate_model(options, options.compared[1], globals);
  const bool bootstrap = options.test == "bootstrap";
  const evaluate::ModelComparison comparison = evaluate::compare(
      first, second,
      bootstrap ? evaluate::SignificanceTest::bootstrap : evaluate::SignificanceTest::randomization,
      {.samples = options.samples});
  const ComparisonOutput output{first,
                                second,
                                comparison,
                                {options.compared[0], options.compared[1]},
                                bootstrap ? "paired bootstrap" : "approximate randomization",
                                options.rows};
  if (globals.json)
    print_result("{}\n", json_text(to_json(output)));
  else
    print_text(output);
}

void add_data_options(CLI::App& verb, EvaluateOptions& options) {
  add_model_argument(
      verb, options.model,
      "Run folder or Hugging Face folder. With --compare, there is no MODEL and all arguments are DATA");
  verb.add_option(
      "DATA", options.data.files,
      "Translation: SOURCE REFERENCE… (line-aligned) or a table. Language models: text files. Other "
      "tasks: a .tsv, .csv or .jsonl table; questions: also SQuAD's .json; images: a folder with one "
      "subfolder per label, IDX files, or a table of paths and labels or texts");
  verb.add_option("--task", options.task, "Task to evaluate. Default: the task of the model's head")
      ->check(CLI::IsMember(kTasks));
  verb.add_option("--columns", options.data.columns,
                  "Columns of the table, in the order that the task expects: names, or numbers from 1. "
                  "Example: text,label. Default: the first columns; .jsonl: the names in docs/evaluation.md")
      ->delimiter(',');
  verb.add_option(
          "--highest", options.data.highest,
          "Images: value of a white pixel; black is 0. With this option, each row of a table contains grey "
          "pixels and a label. Default: each row contains the path of an image and a label or text")
      ->check(CLI::Range(0, 65535));
  verb.add_flag("--header", options.data.header,
                "TSV, CSV: the first line is a header (implied by column names)");
  verb.add_option("-o,--output", options.output,
                  "Write one row per example to this file: .jsonl and .tsv with input, expected result and "
                  "output; other files with only the output")
      ->check(not_empty());
}

void add_metric_options(CLI::App& verb, EvaluateOptions& options) {
  verb.add_flag("--lowercase", options.lowercase,
                "Convert text to lower case before computing BLEU and chrF");
  verb.add_option("--bleu-tokenizer", options.tokenizer,
                  "sacreBLEU tokenizer: 13a, intl, char, zh or none. Default: 13a");
  verb.add_option("--beam", options.beam, "Beam width. Default: the width set in the model's folder, or 1");
  verb.add_option("--length-penalty", options.length_penalty,
                  "Exponent of the length penalty. Default: as set in the model's folder, or 1");
  verb.add_option("--context,--max-tokens", options.context,
                  "Maximum length of a window or a text, in tokens. Default: the number of positions of the "
                  "model, or "
                  "1024 for a language model without a limit")
      ->check(not_negative());
  verb.add_flag("--chat", options.chat,
                "Language models: DATA are .jsonl files of conversations; only the tokens of the assistant "
                "are counted");
  verb.add_option(
      "--chat-template", options.chat_template,
      "Name of a chat template; this option implies --chat. Default: the template in the model's folder");
  verb.add_flag("--truncate", options.cut,
                "Classification, conversations, masked language models: truncate texts that are too long. "
                "Default: report an error");
  verb.add_option("--scores", options.scores,
                  "Classification: type of the scores: softmax (one label), sigmoid (several), none "
                  "(regression). Default: as set in the model's folder")
      ->check(CLI::IsMember({"softmax", "sigmoid", "none"}));
  verb.add_option("--threshold", options.threshold,
                  "Several labels per text: minimum score of a predicted label. Default: 0.5")
      ->check(finite());
  verb.add_option("--scheme", options.scheme,
                  "Entities: use seqeval's strict mode with this scheme: iob1, ioe1, iob2, ioe2, iobes or "
                  "bilou. Default: the rules of conlleval");
}

void add_comparison_options(CLI::App& verb, EvaluateOptions& options) {
  add_checked_option(verb, "--bootstrap", options.bootstrap,
                     "Compute 95 % confidence intervals from this many bootstrap samples; 0 computes none",
                     not_negative());
  verb.add_option("--compare", options.compared, "Evaluate and compare the models A and B")
      ->expected(2)
      ->allow_extra_args(false)
      ->type_name("A B");
  add_checked_option(verb, "--test", options.test,
                     "Significance test of --compare: paired bootstrap or approximate randomization",
                     CLI::IsMember({"bootstrap", "randomization"}));
  verb.add_option("--samples", options.samples,
                  "Number of samples of --test. Default: 1000 for bootstrap, 10000 for randomization")
      ->check(not_negative());
  verb.add_option("--rows", options.rows, "Maximum number of differing rows that --compare shows")
      ->capture_default_str();
  for (const char* name : {"--test", "--samples", "--rows"}) verb.get_option(name)->needs("--compare");
  verb.get_option("--bootstrap")->excludes("--compare");
}

}  // namespace

void add_evaluate(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<EvaluateOptions>(
      app, "evaluate", "Compute metrics of a model, or compare two, on given data");
  add_data_options(*verb, *options);
  add_metric_options(*verb, *options);
  add_comparison_options(*verb, *options);
  add_changes(*verb, options->changes);
  add_adapter(*verb, options->adapter);
  add_quantize(*verb, globals);
  add_globals(*verb, globals, {.seed = true});
  verb->callback([options, &globals] { run_evaluate(*options, globals); });
}

}  // namespace regard::cli
