#include "text/train_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "text/bpe_trainer.h"
#include "text/byte_letters.h"
#include "text/training_pipeline.h"

namespace regard::text {
namespace {

Json decoder_json(bool bytes, bool prefix_space) {
  if (!bytes) return character_decoder_json(true, prefix_space, false);
  std::vector<Json> parts = {
      {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}};
  if (prefix_space) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return sequence_json("decoders", parts);
}

void add_fallback_tokens(BpeTrainer& trainer) {
  for (int byte = 0; byte < 256; ++byte) trainer.add_token(fmt::format("<0x{:02X}>", byte), true);
}

void add_byte_words(BpeTrainer& trainer, const std::vector<WordCount>& words) {
  // Letters are in the order of code points, as in Hugging Face's library.
  std::vector<char32_t> letters(256);
  for (std::size_t byte = 0; byte < 256; ++byte)
    letters[byte] = letter_of_byte(static_cast<std::uint8_t>(byte));
  std::sort(letters.begin(), letters.end());
  std::vector<std::int32_t> ids(256);
  for (const char32_t letter : letters)
    ids[static_cast<std::size_t>(byte_of_letter(letter))] = trainer.add_token(text_of(letter), false);
  for (const WordCount& word : words) {
    std::vector<std::int32_t> symbols;
    for (const char byte : word.word) symbols.push_back(ids[static_cast<std::uint8_t>(byte)]);
    trainer.add_word(symbols, word.count);
  }
}

void add_character_words(BpeTrainer& trainer, const std::vector<WordCount>& words,
                         const AlphabetLimits& limits) {
  std::map<char32_t, std::int32_t> ids;
  for (const char32_t c : alphabet_of(words, limits)) ids[c] = trainer.add_token(text_of(c), false);
  for (const WordCount& word : words) {
    std::vector<std::int32_t> symbols;
    for (const char32_t c : utf8::code_points(word.word)) {
      const auto id = ids.find(c);
      if (id != ids.end()) {
        symbols.push_back(id->second);
        continue;
      }
      trainer.add_word(symbols, word.count);  // a character that is encoded as bytes divides the word
      symbols.clear();
    }
    trainer.add_word(symbols, word.count);
  }
}

Json model_json(const BpeTrainer& trainer, const std::vector<BpeMerge>& merges, bool byte_fallback,
                const std::vector<std::string>& special) {
  const bool unknown = std::find(special.begin(), special.end(), "<unk>") != special.end();
  // A pair that was merged twice has the rank of its last merge, as in the reference implementation.
  std::set<std::pair<std::int32_t, std::int32_t>> listed;
  std::vector<Json> list;
  for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge)
    if (listed.emplace(merge->left, merge->right).second)
      list.push_back({trainer.tokens()[static_cast<std::size_t>(merge->left)],
                      trainer.tokens()[static_cast<std::size_t>(merge->right)]});
  std::reverse(list.begin(), list.end());
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown ? Json("<unk>") : Json(nullptr)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", byte_fallback},
          {"ignore_merges", false},
          {"vocab", vocabulary_json(trainer.tokens())},
          {"merges", std::move(list)}};
}

}  // namespace

std::shared_ptr<const Tokenizer> train_bpe(const LineSource& lines, const BpeTrainingOptions& options,
                                           ThreadPool* pool) {
  const bool bytes = options.alphabet == Alphabet::bytes;
  Json json = pipeline_json(options.special_tokens, options.end_token,
                            normalizer_json(options.normalize, options.lower_case, options.prefix_space),
                            word_rule_json(options.words, bytes), decoder_json(bytes, options.prefix_space));
  const std::vector<WordCount> words = count_words_of(lines, json, bytes, pool);
  BpeTrainer trainer;
  for (const std::string& token : options.special_tokens) trainer.add_token(token, true);
  if (bytes) {
    add_byte_words(trainer, words);
  } else {
    add_fallback_tokens(trainer);
    add_character_words(trainer, words, options.characters);
  }
  require_room(options.vocabulary_size, trainer.tokens().size());
  const auto merges = trainer.learn(
      {options.vocabulary_size, options.min_frequency, options.max_token_length, ""}, options.progress);
  json["model"] = model_json(trainer, merges, !bytes, options.special_tokens);
  return Tokenizer::from_json(json, kTrainedSource);
}

std::shared_ptr<const Tokenizer> train_characters(const LineSource& lines,
                                                  const CharacterTrainingOptions& options, ThreadPool* pool) {
  Json json = pipeline_json(options.special_tokens, options.end_token,
                            normalizer_json(options.normalize, options.lower_case, false), nullptr,
                            decoder_json(false, false));
  // Count words instead of whole lines, because the number of distinct words is smaller.
  Json cutting = json;
  cutting["pre_tokenizer"] = word_rule_json(WordRule::words, false);
  const std::vector<WordCount> words = count_words_of(lines, cutting, false, pool);
  BpeTrainer trainer;
  for (const std::string& token : options.special_tokens) trainer.add_token(token, true);
  if (options.byte_fallback) add_fallback_tokens(trainer);
  for (const char32_t c : alphabet_of(words, options.characters)) trainer.add_token(text_of(c), false);
  json["model"] = model_json(trainer, {}, options.byte_fallback, options.special_tokens);
  return Tokenizer::from_json(json, kTrainedSource);
}

}  // namespace regard::text
