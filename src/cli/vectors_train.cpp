// regard vectors train: word vectors from text.
#include <fmt/format.h>

#include <filesystem>

#include "base/clock.h"
#include "base/progress.h"
#include "cli/vectors.h"
#include "regard/error.h"
#include "vectors/save.h"
#include "vectors/train_pairs.h"

namespace regard::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output, form = "word2vec", model = "skip-gram", loss = "negative", split = "blanks";
  vectors::CorpusOptions corpus;
  vectors::PairOptions pairs;
  double rate = 0;  // 0: the model's own
  bool subwords = false;
  std::int64_t buckets = 2000000;
};

struct Trained {
  std::vector<float> values;
  double words_per_second = 0;
};

Trained train_pairs(Globals& globals, Options& options, const vectors::Corpus& corpus) {
  vectors::PairOptions& how = options.pairs;
  how.cbow = options.model == "cbow";
  how.hierarchical = options.loss == "hierarchical";
  how.rate = options.rate > 0 ? options.rate : (how.cbow ? 0.05 : 0.025);
  how.subwords.buckets = options.subwords ? options.buckets : 0;
  how.seed = globals.seed;
  how.stopped = [] { return stop_signal() != 0; };
  Progress progress(globals.quiet);
  const Stopwatch watch;
  how.progress = [&](const vectors::TrainProgress& now) {
    progress.update(now.fraction,
                    fmt::format("loss {:.4f} · {:.0f} words/s", now.loss, now.words / watch.seconds()));
  };
  const vectors::PairModel model = vectors::train_pairs(corpus, how, globals.pool());
  return {vectors::vectors_of(model, corpus), model.words_per_second};
}

void train(Globals& globals, Options& options) {
  const std::filesystem::path output = options.output;
  const vectors::Format form = vectors::format_of(options.form);
  if (!output.parent_path().empty() && !std::filesystem::is_directory(output.parent_path()))
    throw Error(ErrorKind::io, "there is no such folder", {output.parent_path().string()});
  catch_signals();
  const Stopwatch watch;
  vectors::CorpusOptions& reading = options.corpus;
  reading.split = options.split == "words" ? vectors::Split::words : vectors::Split::blanks;
  reading.temporary = output.parent_path().empty() ? "." : output.parent_path();
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  const vectors::Corpus corpus = vectors::read_corpus(text::lines_of_files(files, false), reading);
  const double read_seconds = watch.seconds();
  if (!globals.quiet && !globals.json)
    fmt::print(stderr, "{} words, {} different ones that count\n", corpus.tokens_read, corpus.words.size());
  const Trained trained = train_pairs(globals, options, corpus);
  if (stop_signal() != 0) return;  // nothing is written
  const std::int64_t size = options.pairs.size;
  vectors::save_vectors(output, form, corpus.words, size, trained.values);
  if (globals.json)
    return print_json({{"file", options.output},
                       {"words", corpus.words.size()},
                       {"size", size},
                       {"tokens", corpus.tokens_read},
                       {"read_seconds", read_seconds},
                       {"words_per_second", trained.words_per_second},
                       {"seconds", watch.seconds()}});
  if (!globals.quiet)
    fmt::print(stderr, "{}: {} vectors of {} numbers, {:.0f} words/s, {:.1f} s\n", options.output,
               corpus.words.size(), size, trained.words_per_second, watch.seconds());
}

void add_corpus_options(CLI::App& verb, Options& options) {
  verb.add_option("--split", options.split,
                  "Words are what stands between blanks, or runs of letters and numbers")
      ->check(CLI::IsMember({"blanks", "words"}))
      ->capture_default_str();
  verb.add_flag("--lower-case", options.corpus.lower_case, "Make words lower-case");
  verb.add_option("--min-count", options.corpus.min_count, "Leave rarer words out")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--max-words", options.corpus.max_words, "Keep this many of the commonest; 0: all")
      ->capture_default_str();
  verb.add_option("--phrases", options.corpus.phrase_passes,
                  "Join words that stand together, this many times")
      ->check(CLI::Range(0, 10))
      ->capture_default_str();
  verb.add_option("--phrase-threshold", options.corpus.phrase_threshold, "How much more often than chance")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_model_options(CLI::App& verb, Options& options) {
  verb.add_option("--model", options.model, "What is trained")
      ->check(CLI::IsMember({"skip-gram", "cbow"}))
      ->capture_default_str();
  verb.add_option("--loss", options.loss, "Negative sampling, or hierarchical softmax")
      ->check(CLI::IsMember({"negative", "hierarchical"}))
      ->capture_default_str();
  verb.add_option("--size", options.pairs.size, "Numbers of a vector")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  verb.add_option("--window", options.pairs.window, "Words on each side that count")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--negative", options.pairs.negative, "Negative samples")
      ->check(CLI::Range(1, 63))
      ->capture_default_str();
  verb.add_option("--sample", options.pairs.sample,
                  "Leave out words more common than this part, at random; 0: none")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option("--epochs", options.pairs.epochs, "Times over the text")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verb.add_option("--rate", options.rate, "Learning rate at the start; 0: 0.025, CBOW 0.05")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  verb.add_flag("--subwords", options.subwords, "Learn character n-grams too, as fastText does");
  verb.add_option("--min-n", options.pairs.subwords.shortest, "Shortest n-gram")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb.add_option("--max-n", options.pairs.subwords.longest, "Longest n-gram")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb.add_option("--buckets", options.buckets, "N-grams are hashed into this many")
      ->check(CLI::Range(1, 1 << 28))
      ->capture_default_str();
}

}  // namespace

void add_vectors_train(CLI::App& parent, Globals& globals) {
  CLI::App* verb = parent.add_subcommand("train", "Learn word vectors from text, a sentence a line");
  verb->footer(
      "One thread (-t 1) gives the same vectors each time; several are faster and differ a little each "
      "time.");
  const auto options = std::make_shared<Options>();
  add_globals(*verb, globals);
  verb->add_option("FILE", options->files, "Texts")->required();
  verb->add_option("-o,--output", options->output, "The file to write")->required();
  verb->add_option("--form", options->form, "Its form")
      ->check(CLI::IsMember({"word2vec", "word2vec-binary", "glove"}))
      ->capture_default_str();
  add_model_options(*verb, *options);
  add_corpus_options(*verb, *options);
  verb->callback([&globals, options] { train(globals, *options); });
}

}  // namespace regard::cli
