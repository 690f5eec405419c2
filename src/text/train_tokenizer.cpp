#include "text/train_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/names.h"
#include "regard/error.h"
#include "text/train_bpe.h"
#include "text/train_unigram.h"
#include "text/train_word_piece.h"
#include "text/train_words.h"

namespace regard::text {
namespace {

// Return the requested word rule. Default: the first of `fitting`, the word rules that are valid for the
// tokenizer type. Throws usage if the requested rule is not one of them.
WordRule word_rule(const TokenizerTraining& options, const std::vector<WordRule>& fitting) {
  if (options.words.empty()) return fitting.front();
  const auto& names = word_rule_names();
  std::vector<std::string> fitting_names;
  for (const WordRule rule : fitting) {
    fitting_names.push_back(names[static_cast<std::size_t>(rule)]);
    if (fitting_names.back() == options.words) return rule;
  }
  throw usage_error(fmt::format("this split rule cannot be used with the tokenizer type {}", options.type))
      .found(options.words)
      .expected(fmt::format("{}", fmt::join(fitting_names, ", ")));
}

std::string unknown_of(const TokenizerTraining& options) {
  if (!options.unknown.empty()) return options.unknown;
  const auto& special = options.special_tokens;
  return std::find(special.begin(), special.end(), "[UNK]") != special.end() ? "[UNK]" : "<unk>";
}

// Create the options of a trainer, and set the options that several trainers have in common.
template <class Options>
Options common(const TokenizerTraining& from) {
  Options options;
  options.lower_case = from.lower_case;
  options.end_token = from.end_token;
  options.special_tokens = from.special_tokens;
  if constexpr (requires { options.vocabulary_size; }) options.vocabulary_size = from.vocabulary_size;
  if constexpr (requires { options.min_frequency; })
    options.min_frequency = from.min_frequency.value_or(options.min_frequency);
  if constexpr (requires { options.byte_fallback; }) options.byte_fallback = from.byte_fallback;
  if constexpr (requires { options.normalize; }) options.normalize = from.normalize;
  if constexpr (requires { options.prefix_space; }) options.prefix_space = from.prefix_space;
  if constexpr (requires { options.unknown; }) options.unknown = unknown_of(from);
  return options;
}

std::function<void(std::size_t)> token_progress(const TokenizerTraining& options) {
  if (!options.progress) return {};
  return [&options](std::size_t tokens) {
    options.progress(static_cast<double>(tokens) / static_cast<double>(options.vocabulary_size),
                     counted(tokens, "token"));
  };
}

using TokenizerPointer = std::shared_ptr<const Tokenizer>;

TokenizerPointer characters(const LineSource& lines, const TokenizerTraining& from, ThreadPool* pool) {
  auto options = common<CharacterTrainingOptions>(from);
  options.characters = from.alphabet;
  return train_characters(lines, options, pool);
}

TokenizerPointer whole_words(const LineSource& lines, const TokenizerTraining& from, ThreadPool* pool) {
  auto options = common<WordTrainingOptions>(from);
  options.words = word_rule(from, {WordRule::signs, WordRule::spaces, WordRule::bert});
  return train_words(lines, options, pool);
}

TokenizerPointer word_piece(const LineSource& lines, const TokenizerTraining& from, ThreadPool* pool) {
  auto options = common<WordPieceTrainingOptions>(from);
  options.alphabet = from.alphabet;
  options.continuing_prefix = from.continuing_prefix;
  options.words = word_rule(from, {WordRule::bert, WordRule::signs, WordRule::spaces});
  options.clean_text = from.normalize;
  options.strip_accents = from.strip_accents;
  options.progress = token_progress(from);
  return train_word_piece(lines, options, pool);
}

TokenizerPointer bpe(const LineSource& lines, const TokenizerTraining& from, ThreadPool* pool) {
  auto options = common<BpeTrainingOptions>(from);
  options.max_token_length = from.max_piece_length;
  options.alphabet = from.type == "bpe" ? Alphabet::characters : Alphabet::bytes;
  options.characters = from.alphabet;
  options.words = word_rule(from, {WordRule::words, WordRule::gpt2});
  options.progress = token_progress(from);
  return train_bpe(lines, options, pool);
}

TokenizerPointer unigram(const LineSource& lines, const TokenizerTraining& from, ThreadPool* pool) {
  auto options = common<UnigramTrainingOptions>(from);
  options.alphabet = from.alphabet;
  if (from.max_piece_length > 0)
    options.max_piece_length = static_cast<std::uint32_t>(std::min<std::size_t>(from.max_piece_length, 4096));
  options.words = word_rule(from, {WordRule::words, WordRule::gpt2, WordRule::metaspace});
  if (from.progress) options.progress = [&from](double part) { from.progress(part, "pieces"); };
  return train_unigram(lines, options, pool);
}

using Train = TokenizerPointer (*)(const LineSource&, const TokenizerTraining&, ThreadPool*);
constexpr std::pair<const char*, Train> kTrainers[] = {{"byte-bpe", bpe},         {"bpe", bpe},
                                                       {"wordpiece", word_piece}, {"unigram", unigram},
                                                       {"word", whole_words},     {"char", characters}};

}  // namespace

const std::vector<std::string>& trainable_types() {
  static const std::vector<std::string> names = names_of(kTrainers);
  return names;
}

const std::vector<std::string>& word_rule_names() {
  // Names in the order of WordRule.
  static const std::vector<std::string> names = {"words", "gpt2", "spaces", "signs", "bert", "metaspace"};
  return names;
}

std::shared_ptr<const Tokenizer> train_tokenizer(const LineSource& lines, const TokenizerTraining& options,
                                                 ThreadPool* pool) {
  for (const auto& [name, train] : kTrainers)
    if (options.type == name) return train(lines, options, pool);
  throw usage_error("unknown tokenizer type")
      .found(options.type)
      .expected(fmt::format("{}", fmt::join(trainable_types(), ", ")));
}

}  // namespace regard::text
