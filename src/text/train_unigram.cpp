#include "text/train_unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "text/unigram_trainer.h"

namespace regard::text {
namespace {

// Score of tokens that must never match text. It is lower than the score of any segmentation into known
// characters.
constexpr double kNeverScore = -1000.0;

// Divide words at characters outside the alphabet. Return the parts with their counts, sorted.
std::vector<WordCount> known_parts(const std::vector<WordCount>& words,
                                   const std::vector<char32_t>& alphabet) {
  std::unordered_map<std::string, std::int64_t> counts;
  for (const WordCount& word : words) {
    std::string part;
    const auto close = [&] {
      if (!part.empty()) counts[part] += word.count;
      part.clear();
    };
    for (const char32_t c : utf8::code_points(word.word)) {
      if (std::binary_search(alphabet.begin(), alphabet.end(), c)) {
        utf8::append(part, c);
      } else {
        close();
      }
    }
    close();
  }
  std::vector<WordCount> parts;
  parts.reserve(counts.size());
  for (auto& [part, count] : counts) parts.push_back({part, count});
  std::sort(parts.begin(), parts.end(),
            [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  return parts;
}

Json pieces_json(const std::vector<std::string>& special, bool byte_fallback,
                 const std::vector<ScoredPiece>& pieces) {
  Json list = Json::array();
  for (const std::string& token : special) list.push_back({token, kNeverScore});
  if (byte_fallback)
    for (int byte = 0; byte < 256; ++byte) list.push_back({fmt::format("<0x{:02X}>", byte), kNeverScore});
  for (const ScoredPiece& piece : pieces) list.push_back({piece.piece, piece.score});
  return list;
}

}  // namespace

std::shared_ptr<const Tokenizer> train_unigram(const LineSource& lines, const UnigramTrainingOptions& options,
                                               ThreadPool* pool) {
  const std::vector<std::string> special = with_unknown(options.special_tokens, options.unknown);
  const bool metaspace = options.words == WordRule::metaspace;
  const bool prefix = options.prefix_space && !metaspace;
  Json json = pipeline_json(
      special, options.end_token, normalizer_json(options.normalize, options.lower_case, prefix),
      word_rule_json(options.words, false), character_decoder_json(options.byte_fallback, prefix, metaspace));
  std::vector<WordCount> words = count_words_of(lines, json, false, pool);
  AlphabetLimits limits = options.alphabet;
  if (options.byte_fallback) {
    // Add the characters of the names of byte tokens ("<0x41>"), so that a text with such a name can be
    // segmented.
    limits.always += "<0123456789ABCDEFx>";
    for (const std::string& token : special) limits.always += token;
  }
  std::vector<char32_t> alphabet = alphabet_of(words, limits);
  std::erase(alphabet, U'\0');
  const std::size_t reserved = special.size() + (options.byte_fallback ? 256 : 0);
  require_room(options.vocabulary_size, reserved + alphabet.size());
  words = known_parts(words, alphabet);
  UnigramTrainer trainer(words, pool);
  UnigramTrainer::Limits how;
  how.pieces = options.vocabulary_size - reserved;
  how.special_tokens = special.size();
  how.seeds = options.seed_pieces;
  how.max_length = options.max_piece_length;
  how.shrinking = options.shrinking;
  how.sub_iterations = options.sub_iterations;
  const std::vector<ScoredPiece> pieces = trainer.learn(how, alphabet, options.progress);
  const auto unknown = std::find(special.begin(), special.end(), options.unknown) - special.begin();
  json["model"] = {{"type", "Unigram"},
                   {"unk_id", unknown},
                   {"vocab", pieces_json(special, options.byte_fallback, pieces)},
                   {"byte_fallback", options.byte_fallback}};
  return Tokenizer::from_json(json, kTrainedSource);
}

}  // namespace regard::text
