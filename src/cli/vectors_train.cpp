// regard vectors train: train word vectors on text.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/counted.h"
#include "base/progress.h"
#include "base/require_writable.h"
#include "cli/corpus_progress.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/vectors.h"
#include "regard/error.h"
#include "vectors/save.h"
#include "vectors/train_glove.h"

namespace regard::cli {
namespace {

constexpr std::size_t kRecordBytes = 16;

struct VectorsTrainOptions {
  std::vector<std::string> files;
  std::string output, form = "word2vec", model = "skip-gram", loss = "negative", split = "blanks";
  vectors::CorpusOptions corpus;
  vectors::PairOptions pairs;
  vectors::GloveOptions glove;
  // number of epochs and window size; 0 selects the model's default
  std::int64_t epochs = 0, window = 0;
  double rate = 0;  // initial learning rate; 0 selects the model's default
  bool subwords = false;
  std::int64_t buckets = 2000000;
  std::size_t memory = 512;  // memory for co-occurrence counts in MiB
};

// Return the CPU time of all threads in seconds. On a shared machine, it is more meaningful than elapsed
// time.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Trained {
  std::vector<float> values;
  double words_per_second = 0;
  double words_per_cpu_second = 0;  // words per CPU second; set only for skip-gram and CBOW
};

// Return a progress callback for the trainers. The progress bar is created at the first call.
auto teller(std::optional<ProgressBar>& progress, bool quiet) {
  return [&progress, quiet](const vectors::TrainProgress& now) {
    if (!progress) progress.emplace(quiet);
    progress->update(now.fraction, fmt::format("loss {:.4f} · rate {:.4f} · {:.0f}k words/s", now.loss,
                                               now.rate, now.words_per_second / 1000.0));
  };
}

Trained train_glove(Globals& globals, VectorsTrainOptions& options, const vectors::Corpus& corpus) {
  vectors::GloveOptions& how = options.glove;
  how.size = options.pairs.size;
  how.seed = how.counting.seed = globals.seed;
  how.counting.temporary = options.corpus.temporary;
  how.counting.window = options.window > 0 ? static_cast<int>(options.window) : 10;
  how.counting.records = options.memory * (std::size_t{1} << 20) / kRecordBytes;
  if (options.epochs > 0) how.epochs = options.epochs;
  if (options.rate > 0) how.rate = options.rate;
  how.stopped = [] { return stop_signal() != 0; };
  std::optional<ProgressBar> counting(globals.quiet), progress;
  how.counting.progress = [&](double part) { counting->update(part, "counting pairs"); };
  how.progress = [&, tell = teller(progress, globals.quiet)](const vectors::TrainProgress& now) {
    counting.reset();
    tell(now);
  };
  vectors::GloveResult result = vectors::train_glove(corpus, how, globals.pool());
  return {std::move(result.values), result.words_per_second, 0.0};
}

Trained train_pairs(Globals& globals, VectorsTrainOptions& options, const vectors::Corpus& corpus) {
  vectors::PairOptions& how = options.pairs;
  if (options.epochs > 0) how.epochs = options.epochs;
  if (options.window > 0) how.window = static_cast<int>(options.window);
  how.cbow = options.model == "cbow";
  how.hierarchical = options.loss == "hierarchical";
  how.rate = options.rate > 0 ? options.rate : (how.cbow ? 0.05 : 0.025);
  how.subwords.buckets = options.subwords ? options.buckets : 0;
  how.seed = globals.seed;
  how.stopped = [] { return stop_signal() != 0; };
  std::optional<ProgressBar> progress;
  how.progress = teller(progress, globals.quiet);
  const double before = processor_seconds();
  const vectors::PairModel model = vectors::train_pairs(corpus, how, globals.pool());
  const double spent = std::max(processor_seconds() - before, 1e-9);
  return {vectors::vectors_of(model, corpus), model.words_per_second,
          static_cast<double>(corpus.tokens_read * how.epochs) / spent};
}

// Check the output path and the lengths of subwords before the text is read. Throws io or usage.
void check(const VectorsTrainOptions& options) {
  const std::filesystem::path output = options.output;
  if (!output.parent_path().empty() && !std::filesystem::is_directory(output.parent_path()))
    throw Error(ErrorKind::io, "there is no such folder", {output.parent_path().string()})
        .remedy("Create it, or choose another --output");
  if (std::filesystem::is_directory(output))
    throw Error(ErrorKind::io, "the output is a folder", {options.output}).expected("the name of a file");
  require_writable(output);
  if (options.subwords && options.pairs.subwords.longest < options.pairs.subwords.shortest)
    throw usage_error("--max-n is less than --min-n")
        .found(std::to_string(options.pairs.subwords.longest))
        .expected(fmt::format("at least {}", options.pairs.subwords.shortest));
}

// Throw usage if the command line has an option that has no effect with the selected model and loss.
void check_effects(const CLI::App& verb, const VectorsTrainOptions& options) {
  const bool glove = options.model == "glove", negative = options.loss == "negative";
  struct Option {
    const char* name;
    bool has_effect;
    const char* needs;
  };
  const Option checked[] = {
      {"--loss", !glove, "--model skip-gram or cbow"},
      {"--subwords", !glove, "--model skip-gram or cbow"},
      {"--negative", !glove && negative, "--model skip-gram or cbow, and --loss negative"},
      {"--sample", !glove, "--model skip-gram or cbow"},
      {"--min-n", options.subwords, "--subwords"},
      {"--max-n", options.subwords, "--subwords"},
      {"--buckets", options.subwords, "--subwords"},
      {"--x-max", glove, "--model glove"},
      {"--alpha", glove, "--model glove"},
      {"--memory", glove, "--model glove"},
      {"--phrase-threshold", options.corpus.phrase_passes > 0, "--phrases"},
  };
  for (const Option& option : checked)
    if (!option.has_effect && verb.count(option.name) > 0)
      throw usage_error(std::string(option.name) + " has no effect without " + option.needs)
          .remedy(std::string("Remove ") + option.name);
}

void train(Globals& globals, VectorsTrainOptions& options) {
  const std::filesystem::path output = options.output;
  const vectors::Format form = vectors::format_of(options.form);
  check(options);
  const Stopwatch watch;
  vectors::CorpusOptions& reading = options.corpus;
  reading.split = options.split == "words" ? vectors::Split::words : vectors::Split::blanks;
  reading.temporary = output.parent_path().empty() ? "." : output.parent_path();
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  const vectors::Corpus corpus =
      vectors::read_corpus(with_progress(text::lines_of_files(files, false), files, globals.quiet), reading);
  catch_signals();
  const double read_seconds = watch.seconds();
  if (!globals.quiet && !globals.json)
    print_message("{}, vocabulary of {}\n", counted(corpus.tokens_read, "word"),
                  counted(corpus.words.size(), "word"));
  const Trained trained = options.model == "glove" ? train_glove(globals, options, corpus)
                                                   : train_pairs(globals, options, corpus);
  if (stop_signal() != 0) return;  // write nothing if a signal interrupted the training
  const std::int64_t size = options.pairs.size;
  vectors::save_vectors(output, form, corpus.words, size, trained.values);
  if (globals.json)
    return print_json({{"file", options.output},
                       {"words", corpus.words.size()},
                       {"size", size},
                       {"tokens", corpus.tokens_read},
                       {"read_seconds", read_seconds},
                       {"words_per_second", trained.words_per_second},
                       {"words_per_cpu_second", trained.words_per_cpu_second},
                       {"seconds", watch.seconds()}});
  if (!globals.quiet)
    print_message("{}: {} of {}, {:.0f} words/s, {:.1f} s\n", options.output,
                  counted(corpus.words.size(), "vector"), counted(size, "number"), trained.words_per_second,
                  watch.seconds());
}

void add_corpus_options(CLI::App& verb, VectorsTrainOptions& options) {
  add_checked_option(verb, "--split", options.split,
                     "Split text at white space (blanks), or into runs of letters and digits (words)",
                     CLI::IsMember({"blanks", "words"}));
  verb.add_flag("--lower-case", options.corpus.lower_case, "Lower-case the text");
  add_checked_option(verb, "--min-count", options.corpus.min_count,
                     "Minimum number of occurrences of a word in the text", positive());
  add_checked_option(verb, "--max-words", options.corpus.max_words,
                     "Keep only this many of the most frequent words; 0 keeps all", not_negative());
  add_checked_option(verb, "--phrases", options.corpus.phrase_passes,
                     "Number of passes that join frequent word pairs into phrases; 0 joins none",
                     CLI::Range(0, 10));
  add_checked_option(verb, "--phrase-threshold", options.corpus.phrase_threshold,
                     "Minimum phrase score: how much more often than by chance a pair occurs", positive());
}

void add_model_options(CLI::App& verb, VectorsTrainOptions& options) {
  add_checked_option(verb, "--model", options.model, "Training algorithm",
                     CLI::IsMember({"skip-gram", "cbow", "glove"}));
  add_checked_option(verb, "--loss", options.loss,
                     "Loss: negative sampling (negative), or hierarchical softmax (hierarchical)",
                     CLI::IsMember({"negative", "hierarchical"}));
  add_checked_option(verb, "--size", options.pairs.size, "Vector size", CLI::Range(1, 8192));
  verb.add_option("--window", options.window,
                  "Number of context words on each side. Default: 5; 10 for glove")
      ->check(CLI::Range(1, 1000));
  add_checked_option(verb, "--negative", options.pairs.negative,
                     "Number of negative samples per pair of words", CLI::Range(1, 63));
  add_checked_option(verb, "--sample", options.pairs.sample,
                     "Subsampling threshold of frequent words (word2vec's -sample); 0 disables subsampling",
                     between(0.0, 1.0));
  verb.add_option("--epochs", options.epochs, "Number of passes over the text. Default: 5; 15 for glove")
      ->check(CLI::Range(1, 100000));
  verb.add_option("--rate", options.rate, "Initial learning rate. Default: 0.025; 0.05 for cbow and glove")
      ->check(between(0.0, 10.0))
      ->check(positive());
  verb.add_flag("--subwords", options.subwords, "Also train character n-grams, as fastText does");
  add_checked_option(verb, "--min-n", options.pairs.subwords.shortest, "--subwords: minimum n-gram length",
                     CLI::Range(1, 64));
  add_checked_option(verb, "--max-n", options.pairs.subwords.longest, "--subwords: maximum n-gram length",
                     CLI::Range(1, 64));
  add_checked_option(verb, "--buckets", options.buckets, "--subwords: number of hash buckets for n-grams",
                     CLI::Range(1, 1 << 28));
}

void add_glove_options(CLI::App& verb, VectorsTrainOptions& options) {
  add_checked_option(verb, "--x-max", options.glove.x_max,
                     "GloVe: minimum co-occurrence count of a pair that has full weight", positive());
  add_checked_option(verb, "--alpha", options.glove.alpha,
                     "GloVe: exponent of the weighting function for counts below --x-max",
                     between(0.0, 10.0));
  add_checked_option(verb, "--memory", options.memory,
                     "GloVe: memory for co-occurrence counts, in MiB; the rest is sorted on disk",
                     CLI::Range(1, 1 << 20));
}

}  // namespace

void add_vectors_train(CLI::App& parent, Globals& globals) {
  const auto [verb, options] = add_command<VectorsTrainOptions>(
      parent, "train", "Train word vectors on text, one sentence per line",
      "The result is reproducible with one thread (-t 1). Several threads are faster, but results vary\n"
      "slightly between runs.");
  add_globals(*verb, globals, {.seed = true});
  verb->add_option("FILE", options->files, "Text files")->required();
  verb->add_option("-o,--output", options->output, "File to write")->required()->check(not_empty());
  add_checked_option(*verb, "--form", options->form, "Format of the output file",
                     CLI::IsMember({"word2vec", "word2vec-binary", "glove"}));
  add_model_options(*verb, *options);
  add_glove_options(*verb, *options);
  add_corpus_options(*verb, *options);
  verb->callback([&globals, options, &command = *verb] {
    check_effects(command, *options);
    train(globals, *options);
  });
}

}  // namespace regard::cli
