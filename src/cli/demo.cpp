// regard demo: train a small English→Hindi translator on the built-in phrasebook, report its accuracy,
// translate sentences, and show one attention head. With --export, write the phrasebook and a run file
// instead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/folder.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/training_screen.h"
#include "cli/verb.h"
#include "demo/phrasebook.h"
#include "formats/checkpoint.h"
#include "inspect/attend.h"
#include "inspect/head_pattern.h"
#include "inspect/heat_map.h"
#include "regard/error.h"
#include "train/run.h"

namespace regard::cli {
namespace {

constexpr std::int64_t kSteps = 2700;  // number of training steps; they take up to two minutes on two cores

struct DemoOptions {
  std::string folder = "runs/demo";
  std::string exported;  // folder to which --export writes the phrasebook; empty means train the model
  bool retrain = false;
  std::int64_t steps = kSteps;
};

// Return the path of the folder next to the run folder to which write_phrasebook() writes the training data.
std::filesystem::path data_folder(const DemoOptions& options) {
  return options.folder + ".data";
}

// Return the run file for the phrasebook, with this number of training steps.
std::string run_file(std::int64_t steps) {
  return fmt::format(R"(# English to Hindi, on the phrasebook of `regard demo`.
# 'regard train --help-config' explains every key.
task = "translation"

[data]
train = ["train.en", "train.hi"]   # line N of the second file translates line N of the first
valid = ["held-out.en", "held-out.hi"]

[tokenizer]
type = "bpe"
vocab_size = 2800
lower_case = true                  # "Money Bank Grows" and "money bank grows" are the same text

[model]
encoder_layers = 3
decoder_layers = 3
hidden_size = 128
heads = 4
feed_forward_size = 256
dropout = 0.05

[training]
max_steps = {}
warmup_steps = {}
learning_rate = 3e-3
betas = [0.9, 0.98]
schedule = "cosine"
batch_tokens = 500
label_smoothing = 0.1

[validation]
every_steps = 1000
metrics = ["loss", "bleu"]
beam = 1
samples = 2

[output]
folder = "runs/phrasebook"         # relative to the working directory
)",
                     steps, std::min<std::int64_t>(200, steps / 3));
}

// Write the phrasebook to an existing folder: the training pairs and the held-out pairs, each with word
// alignments.
void write_phrasebook(const std::filesystem::path& folder) {
  for (const bool held_out : {false, true}) {
    std::string english, hindi, links;
    for (const demo::Phrase& phrase : demo::phrasebook()) {
      if (phrase.held_out != held_out) continue;
      english += phrase.english + "\n";
      hindi += phrase.hindi + "\n";
      links += demo::links_text(phrase) + "\n";
    }
    const std::string name = held_out ? "held-out" : "train";
    write_file_atomically(folder / (name + ".en"), english);
    write_file_atomically(folder / (name + ".hi"), hindi);
    write_file_atomically(folder / (name + ".align"), links);
  }
}

void export_phrasebook(const DemoOptions& options, const Globals& globals) {
  // build the phrasebook first, so that the temporary folder exists only while files are written
  demo::phrasebook();
  AtomicFolder folder(options.exported);
  write_phrasebook(folder.temporary());
  write_file_atomically(folder.temporary() / "run.toml", run_file(options.steps));
  folder.commit();
  if (globals.quiet) return;
  print_message(
      "wrote {0}: train.en, train.hi, train.align, held-out.en, held-out.hi, held-out.align, run.toml\n"
      "next: regard train {0}/run.toml\n",
      options.exported);
}

train::RunConfig demo_run(const DemoOptions& options, std::uint64_t seed) {
  const std::vector<std::string> overrides{
      fmt::format("seed={}", seed), fmt::format("validation.every_steps={}", options.steps),
      "validation.metrics=[\"loss\"]", "validation.samples=0",
      "output.folder=" + std::filesystem::absolute(options.folder).string()};
  return train::parse_run(run_file(options.steps), (data_folder(options) / "demo.toml").string(), overrides);
}

// Remove the run folder. Throws usage for a folder that this command did not create.
void remove_old_run(const DemoOptions& options) {
  if (!std::filesystem::exists(options.folder)) return;
  if (!formats::RunFolder::is_run_folder(options.folder) || !std::filesystem::exists(data_folder(options)))
    throw usage_error("--retrain would remove a folder that the demo did not create")
        .at({options.folder, -1, -1})
        .remedy("Choose another folder with --folder");
  remove_folder(options.folder);
}

struct Training {
  bool ran = false;
  double seconds = 0;
  bool stopped = false;
};

Training train_if_needed(const DemoOptions& options, Globals& globals) {
  if (options.retrain) remove_old_run(options);
  const bool is_there = formats::RunFolder::is_run_folder(options.folder);
  Training training;
  if (is_there) {
    const formats::RunFolder run = formats::RunFolder::open(options.folder);
    const auto latest = run.latest();
    if (latest && latest->step >= options.steps) {
      if (!globals.quiet)
        print_message("{}: already trained for {}; --retrain trains it again.\n", options.folder,
                      counted(latest->step, "step"));
      return training;
    }
  }
  if (!is_there) formats::RunFolder::check_free(options.folder);
  std::error_code error;
  std::filesystem::create_directories(data_folder(options), error);
  if (error) throw io_error(data_folder(options), "cannot create the folder", error.value());
  write_phrasebook(data_folder(options));
  TrainingScreen screen(globals.quiet);
  Stopwatch watch;
  const train::RunResult result =
      train::run_training(demo_run(options, globals.seed), globals.pool(), screen, is_there);
  screen.clear();
  training = {true, watch.seconds(), result.stopped};
  if (!globals.quiet)
    print_message("{} {} in {}: {}\n", result.stopped ? "stopped after" : "trained",
                  counted(result.steps, "step"), duration_text(training.seconds), options.folder);
  return training;
}

struct Score {
  int exact = 0, of = 0;
  void add(bool is_exact) { ++of, exact += is_exact; }
  std::string text() const {
    return fmt::format("{:>3} of {:>3}  {:>3.0f} %", exact, of, of == 0 ? 0.0 : 100.0 * exact / of);
  }
};

struct Translation {
  std::string english, hindi;
  const demo::Phrase* known = nullptr;  // entry of the phrasebook; null if the sentence is not in it

  const char* mark() const {
    if (known == nullptr) return "not in the phrasebook";
    const bool right = known->hindi == hindi;
    if (known->held_out) return right ? "held out, exact" : "held out, not exact";
    return right ? "trained on, exact" : "trained on, not exact";
  }
};

std::vector<Translation> translate(const infer::LoadedModel& opened, ThreadPool& pool,
                                   std::vector<std::string> texts) {
  std::map<std::string, const demo::Phrase*> book;
  for (const demo::Phrase& phrase : demo::phrasebook()) book[phrase.english] = &phrase;
  std::vector<ModelInput> sources;
  for (const std::string& text : texts) sources.push_back(opened.read(text));
  const auto found = infer::decode(*opened.model, pool, sources, opened.options);
  std::vector<Translation> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto known = book.find(texts[i]);
    out.push_back({texts[i], opened.decode(found[i][0]), known == book.end() ? nullptr : known->second});
  }
  return out;
}

struct Scores {
  std::map<demo::PhraseKind, Score> kinds;
  // score on the phrases with Phrase::article set; `kinds` also counts these phrases
  Score articles;
};

// Count the exact matches on the held-out phrases. A correct translation that differs from the phrasebook
// counts as wrong.
Scores held_out_scores(const infer::LoadedModel& opened, ThreadPool& pool) {
  std::vector<std::string> texts;
  for (const demo::Phrase& phrase : demo::phrasebook())
    if (phrase.held_out) texts.push_back(phrase.english);
  Scores scores;
  for (const Translation& translation : translate(opened, pool, texts)) {
    const bool exact = translation.hindi == translation.known->hindi;
    scores.kinds[translation.known->kind].add(exact);
    if (translation.known->article) scores.articles.add(exact);
  }
  return scores;
}

const std::vector<std::string>& sentences() {
  static const std::vector<std::string> kSentences{
      "The exam was a piece of cake.",
      "It was a piece of cake.",
      "He ate a piece of cake.",
      "Swimming is a piece of cake.",
      "The man beats the boy.",
      "The boy beats the man.",
      "The money is in the bank.",
      "The woman sat on the river bank.",
      "Hello, how are you?",
      "My name is Rahul.",
      "What is the capital of France?",
      "The quick brown fox jumps over the lazy dog.",
  };
  return kSentences;
}

void show_head(const infer::LoadedModel& opened, const DemoOptions& options, ThreadPool& pool) {
  inspect::AttendRequest request;
  request.model_name = options.folder;
  request.text = sentences()[0];
  inspect::generate_target(opened, pool, request);
  request.selection.kinds = {inspect::Kind::cross};
  const inspect::View view = inspect::attend(opened, pool, request);
  const inspect::Map& map = view.maps.at(inspect::ranked_maps(view).at(0));
  inspect::HeatMapStyle style;
  style.columns = terminal_size(1).columns;
  style.colour = colour_allowed(1);
  print_result(
      "\n"
      "Cross-attention of the translation above ({}: of {} heads, the one whose weights\n"
      "depend most on the query; percent of each row):\n"
      "{}",
      map.title(), view.maps.size(),
      inspect::heat_map(map, view.row_labels(map), view.column_labels(map), style));
}

Json as_json(const DemoOptions& options, const Scores& scores, const std::vector<Translation>& translations) {
  Json out{{"folder", options.folder}, {"pairs", demo::phrasebook().size()}};
  for (const auto& [kind, score] : scores.kinds)
    out["held_out"][demo::name_of(kind)] = {{"exact", score.exact}, {"of", score.of}};
  out["held_out"]["articles"] = {{"exact", scores.articles.exact}, {"of", scores.articles.of}};
  for (const Translation& one : translations)
    out["translations"].push_back({{"text", one.english}, {"translation", one.hindi}, {"known", one.mark()}});
  return out;
}

void print_scores(const Scores& scores) {
  Score all;
  for (const auto& [kind, score] : scores.kinds) all.exact += score.exact, all.of += score.of;
  constexpr std::array kNames{std::pair{demo::PhraseKind::idiom, "idioms"},
                              std::pair{demo::PhraseKind::literal, "same words, literal meaning"},
                              std::pair{demo::PhraseKind::other, "other sentences"}};
  print_result("Held-out sentences translated exactly as in the phrasebook:\n");
  for (const auto& [kind, name] : kNames) print_result("  {:<32} {}\n", name, scores.kinds.at(kind).text());
  print_result("  {:<32} {}\n", "all", all.text());
  print_result("  {:<32} {}\n\n", "of these, examples from articles", scores.articles.text());
}

void demo(const DemoOptions& options, Globals& globals) {
  if (!options.exported.empty()) return export_phrasebook(options, globals);
  if (train_if_needed(options, globals).stopped) return;
  const infer::LoadedModel opened = infer::LoadedModel::open(options.folder);
  print_warning(opened.warning);
  opened.model->prepare_for_inference(globals.pool());
  const auto scores = held_out_scores(opened, globals.pool());
  const std::vector<Translation> translations = translate(opened, globals.pool(), sentences());
  if (globals.json) {
    print_result("{}\n", as_json(options, scores, translations).dump());
    return;
  }
  print_scores(scores);
  for (const Translation& one : translations)
    print_result("{}\n  {}  ({})\n", one.english, one.hindi, one.mark());
  show_head(opened, options, globals.pool());
  print_result(
      "\nNext:\n  echo \"The race was a piece of cake.\" | regard translate {0}\n"
      "  regard attend {0} \"{1}\" --html attention.html\n",
      options.folder, sentences()[0]);
}

}  // namespace

void add_demo(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<DemoOptions>(
      app, "demo", "Train a small English→Hindi translator, translate with it, show an attention head",
      "The training data is a phrasebook built into the program. About one sentence in nine is held out for\n"
      "the evaluation. The result is an ordinary run folder: 'regard translate runs/demo' works.");
  add_checked_option(*verb, "--folder", options->folder, "Run folder to create or use", not_empty());
  verb->add_option("--steps", options->steps, "Number of training steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  verb->add_option("--export", options->exported,
                   "Create this folder with the phrasebook as text files and a run file, and do not train")
      ->check(not_empty())
      ->excludes("--folder");
  verb->add_flag("--retrain", options->retrain,
                 "Remove the run in the folder and train again. Default: use a complete run, and resume an "
                 "incomplete one")
      ->excludes("--export");
  set_action(*verb, globals, options, demo, {.seed = true});
  for (const char* name : {"--seed", "--json"}) verb->get_option("--export")->excludes(name);
}

}  // namespace regard::cli
