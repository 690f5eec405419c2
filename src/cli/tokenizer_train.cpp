// regard tokenizer train: a tokenizer learnt from text files.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/tokenizer.h"
#include "regard/error.h"
#include "text/train_bpe.h"
#include "text/train_words.h"

namespace regard::cli {
namespace {

struct Options {
  std::string type = "byte-bpe", output;
  std::vector<std::string> files;
  text::BpeTrainingOptions bpe;
  std::string words;
  bool line_ends = false, no_normalize = false, no_fallback = false;
};

const std::map<std::string, text::WordRule>& word_rules() {
  using text::WordRule;
  static const std::map<std::string, WordRule> rules = {{"words", WordRule::words},
                                                        {"gpt2", WordRule::gpt2},
                                                        {"spaces", WordRule::spaces},
                                                        {"signs", WordRule::signs},
                                                        {"bert", WordRule::bert}};
  return rules;
}

text::WordRule word_rule(const std::string& name) {
  return word_rules().at(name);
}

std::shared_ptr<const text::Tokenizer> train(Globals& globals, const Options& options) {
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  const text::LineSource lines = text::lines_of_files(files, options.line_ends);
  if (options.type == "char") {
    text::CharacterTrainingOptions how;
    how.max_characters = options.bpe.max_characters;
    how.byte_fallback = !options.no_fallback;
    how.normalize = !options.no_normalize;
    how.end_token = options.bpe.end_token;
    how.special_tokens = options.bpe.special_tokens;
    return text::train_characters(lines, how, &globals.pool());
  }
  if (options.type == "word") {
    text::WordTrainingOptions how;
    how.vocabulary_size = options.bpe.vocabulary_size;
    how.min_frequency = options.bpe.min_frequency;
    how.words = word_rule(options.words.empty() ? "signs" : options.words);
    how.normalize = !options.no_normalize;
    how.lower_case = options.bpe.lower_case;
    how.end_token = options.bpe.end_token;
    how.special_tokens = options.bpe.special_tokens;
    return text::train_words(lines, how, &globals.pool());
  }
  text::BpeTrainingOptions how = options.bpe;
  how.alphabet = options.type == "bpe" ? text::Alphabet::characters : text::Alphabet::bytes;
  how.words = word_rule(options.words.empty() ? "words" : options.words);
  how.normalize = !options.no_normalize;
  Progress progress(globals.quiet);
  how.progress = [&](std::size_t tokens) {
    progress.update(static_cast<double>(tokens) / static_cast<double>(how.vocabulary_size),
                    fmt::format("{} tokens", tokens));
  };
  return text::train_bpe(lines, how, &globals.pool());
}

void run(Globals& globals, const Options& options) {
  const Stopwatch watch;
  const auto tokenizer = train(globals, options);
  tokenizer->save(options.output);
  if (globals.json) {
    fmt::print("{}\n", Json{{"file", options.output},
                            {"vocabulary_size", tokenizer->vocabulary_size()},
                            {"seconds", watch.seconds()}}
                           .dump());
  } else if (!globals.quiet) {
    fmt::print(stderr, "{}: {} tokens, {:.1f} s\n", options.output, tokenizer->vocabulary_size(),
               watch.seconds());
  }
}

}  // namespace

void add_tokenizer_train(CLI::App& verb, Globals& globals) {
  CLI::App* train =
      verb.add_subcommand("train", "Learn a tokenizer from text files and save it as tokenizer.json");
  add_globals(*train, globals);
  const auto options = std::make_shared<Options>();
  train->add_option("--type", options->type, "byte-bpe, bpe (characters, bytes for rare ones), char or word")
      ->check(CLI::IsMember({"byte-bpe", "bpe", "char", "word"}))
      ->capture_default_str();
  train->add_option("-o,--output", options->output, "The tokenizer.json to write")->required();
  train->add_option("--vocab-size", options->bpe.vocabulary_size, "Tokens in all")->capture_default_str();
  train
      ->add_option("--min-frequency", options->bpe.min_frequency,
                   "A rarer pair is not joined, a rarer word is <unk>")
      ->capture_default_str();
  train
      ->add_option("--max-token-length", options->bpe.max_token_length, "In bytes or characters; 0: no limit")
      ->capture_default_str();
  train->add_option("--max-characters", options->bpe.max_characters, "Keep the commonest characters; 0: all")
      ->capture_default_str();
  train
      ->add_option("--words", options->words,
                   "Where words end: words (letters with marks, for every script; as a rule), gpt2, spaces, "
                   "signs (with --type word as a rule), bert")
      ->check(CLI::IsMember(word_rules()));
  train->add_option("--special", options->bpe.special_tokens, "Special tokens, in the order of their ids")
      ->capture_default_str();
  train->add_flag("--lower-case", options->bpe.lower_case, "Text is lower-cased first");
  train->add_flag("--prefix-space", options->bpe.prefix_space, "See a line's first word as the others are");
  train->add_flag("--end-token", options->bpe.end_token, "encode adds </s>");
  train->add_flag("--line-ends", options->line_ends, "Line ends belong to the text");
  train->add_flag("--no-normalize", options->no_normalize, "Leave the text as it is, not in normal form C");
  train->add_flag("--no-byte-fallback", options->no_fallback, "char only: unseen characters are <unk>");
  train->add_option("FILES", options->files, "Text files, read as one")->required();
  train->callback([&globals, options] { run(globals, *options); });
}

}  // namespace regard::cli
