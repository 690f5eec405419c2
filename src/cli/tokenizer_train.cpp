// regard tokenizer train: train a tokenizer on text files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/counted.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/progress.h"
#include "base/require_writable.h"
#include "cli/corpus_progress.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/tokenizer.h"
#include "regard/error.h"
#include "text/train_tokenizer.h"

namespace regard::cli {
namespace {

constexpr int kMostSpecialTokens = 1 << 20;

struct TokenizerTrainOptions {
  std::string output;
  std::vector<std::string> files;
  text::TokenizerTraining how;
  std::string bad_utf8 = "refuse";
  bool line_ends = false, no_normalize = false, no_fallback = false;
};

std::shared_ptr<const text::Tokenizer> train(Globals& globals, const TokenizerTrainOptions& options,
                                             text::SkippedLines& skipped) {
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  text::TokenizerTraining how = options.how;
  how.normalize = !options.no_normalize;
  how.byte_fallback = !options.no_fallback;
  // the progress bar; created when training starts, after the files have been read
  std::optional<ProgressBar> progress;
  how.progress = [&](double fraction, const std::string& what) {
    if (!progress) progress.emplace(globals.quiet);
    progress->update(fraction, what);
  };
  const auto lines =
      text::lines_of_files(files, options.line_ends, options.bad_utf8 == "skip" ? &skipped : nullptr);
  return text::train_tokenizer(with_progress(lines, files, globals.quiet), how, &globals.pool());
}

void report(const TokenizerTrainOptions& options, const text::Tokenizer& tokenizer,
            const text::SkippedLines& skipped, double seconds) {
  if (skipped.count > 0)
    print_message("{}:{}: the line is not UTF-8; {} skipped\n", skipped.file, skipped.line,
                  counted(skipped.count, "such line was", "such lines were"));
  const auto wanted = static_cast<std::int64_t>(options.how.vocabulary_size);
  const bool short_of = options.how.type != "char" && tokenizer.vocabulary_size() < wanted;
  print_message(
      "{}: {}{}, {:.1f} s\n", options.output, counted(tokenizer.vocabulary_size(), "token"),
      short_of ? fmt::format(" of {} requested: the text contains no more candidate tokens", wanted) : "",
      seconds);
}

// Throw usage for an option on the command line that has no effect on the type of tokenizer.
void check_type_options(const CLI::App& verb, const std::string& type) {
  using Types = std::vector<std::string>;
  const Types all_words{"byte-bpe", "bpe", "wordpiece", "unigram", "word"};
  const Types alphabets{"bpe", "wordpiece", "unigram", "char"};
  const std::pair<const char*, Types> checked[] = {
      {"--min-frequency", {"byte-bpe", "bpe", "wordpiece", "word"}},
      {"--max-piece-length", {"byte-bpe", "bpe", "unigram"}},
      {"--limit-alphabet", alphabets},
      {"--initial-alphabet", alphabets},
      {"--character-coverage", alphabets},
      {"--continuing-prefix", {"wordpiece"}},
      {"--unknown", {"wordpiece", "unigram", "word"}},
      {"--words", all_words},
      {"--strip-accents", {"wordpiece"}},
      {"--prefix-space", {"byte-bpe", "bpe", "unigram"}},
      {"--no-byte-fallback", {"unigram", "char"}},
  };
  for (const auto& [name, types] : checked)
    if (verb.count(name) > 0 && std::ranges::find(types, type) == types.end())
      throw usage_error(fmt::format("{} has no effect on this type of tokenizer", name))
          .found("--type " + type)
          .expected(fmt::format("--type {}", fmt::join(types, ", ")))
          .remedy(fmt::format("Remove {}", name));
}

void run(Globals& globals, const TokenizerTrainOptions& options) {
  require_writable(options.output);
  const Stopwatch watch;
  text::SkippedLines skipped;
  const auto tokenizer = train(globals, options, skipped);
  tokenizer->save(options.output);
  if (globals.json) {
    print_result("{}\n", json_text(Json{{"file", options.output},
                                        {"vocabulary_size", tokenizer->vocabulary_size()},
                                        {"skipped_lines", skipped.count},
                                        {"seconds", watch.seconds()}}));
  } else if (!globals.quiet) {
    report(options, *tokenizer, skipped, watch.seconds());
  }
}

void add_limits(CLI::App& train, text::TokenizerTraining& how) {
  train
      .add_option(
          "--min-frequency", how.min_frequency,
          "Minimum frequency of a merge or, for the type word, of a word. Default: 2, or 1 for the type word")
      ->check(not_negative());
  train
      .add_option(
          "--max-piece-length", how.max_piece_length,
          "Limit of the length of a token. unigram: at most this many characters; bpe: fewer characters than "
          "this; byte-bpe: fewer bytes than this. Default: 0, which means no limit or, for unigram, "
          "16 characters")
      ->check(not_negative());
  train
      .add_option("--limit-alphabet,--max-characters", how.alphabet.max_characters,
                  "Keep only this many of the most frequent characters. Default: 0, which keeps all")
      ->check(not_negative());
  train.add_option("--initial-alphabet", how.alphabet.always,
                   "Characters to add to the alphabet even if the text lacks them");
  train
      .add_option("--character-coverage", how.alphabet.coverage,
                  "Keep the most frequent characters that cover this fraction of the text")
      ->capture_default_str();
  train
      .add_option("--continuing-prefix", how.continuing_prefix,
                  "wordpiece: prefix of tokens that continue a word")
      ->capture_default_str();
}

}  // namespace

void add_tokenizer_train(CLI::App& verb, Globals& globals) {
  CLI::App* train =
      verb.add_subcommand("train", "Train a tokenizer on text files and save it as tokenizer.json");
  add_globals(*train, globals);
  const auto options = std::make_shared<TokenizerTrainOptions>();
  text::TokenizerTraining& how = options->how;
  add_checked_option(*train, "--type", how.type,
                     "Type: byte-bpe, bpe (characters, with byte fallback), wordpiece, unigram, word or char",
                     CLI::IsMember(text::trainable_types()));
  train->add_option("-o,--output", options->output, "File to write")->required()->check(not_empty());
  add_checked_option(*train, "--vocab-size", how.vocabulary_size, "Vocabulary size, special tokens included",
                     not_negative());
  // Without allow_extra_args(false), CLI11 would parse "[PAD]" as a list.
  train
      ->add_option("--special", how.special_tokens,
                   "Special tokens, in the order of their ids, separated by spaces")
      ->expected(1, kMostSpecialTokens)
      ->allow_extra_args(false)
      ->capture_default_str();
  train->add_option("--unknown", how.unknown,
                    "wordpiece, unigram, word: unknown token. Default: [UNK] if it is one of the special "
                    "tokens, otherwise <unk>");
  train
      ->add_option(
          "--words", how.words,
          "Word boundaries: words (letters with combining marks, any script), gpt2, spaces (white space), "
          "signs (white space and punctuation), bert or metaspace (▁, as sentencepiece). Default: words; "
          "bert for wordpiece, signs for word")
      ->check(CLI::IsMember(text::word_rule_names()));
  add_limits(*train, how);
  train->add_flag("--lower-case", how.lower_case, "Convert text to lower case before encoding");
  train->add_flag("--strip-accents", how.strip_accents, "wordpiece: remove accents, as uncased BERT does");
  train->add_flag("--prefix-space", how.prefix_space, "Add a space before the first word of a line");
  train->add_flag("--end-token", how.end_token, "Make the tokenizer append </s> to every encoded text");
  add_checked_option(
      *train, "--bad-utf8", options->bad_utf8,
      "Handling of lines that are not UTF-8: stop with an error (refuse), or omit and count them (skip)",
      CLI::IsMember({"refuse", "skip"}));
  train->add_flag("--line-ends", options->line_ends, "Treat line ends as part of the text");
  train->add_flag("--no-normalize", options->no_normalize, "Do not apply Unicode normalisation (NFC)");
  train->add_flag("--no-byte-fallback", options->no_fallback,
                  "char, unigram: map unseen characters to <unk> instead of bytes");
  train->add_option("FILES", options->files, "Text files")->required();
  train->callback([&globals, options, train] {
    check_type_options(*train, options->how.type);
    run(globals, *options);
  });
}

}  // namespace regard::cli
