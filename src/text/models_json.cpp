// Creates the model of a tokenizer.json by its "type". Reads and writes vocabularies that map tokens to ids.
#include <fmt/format.h>

#include "text/bpe.h"
#include "text/sentencepiece.h"
#include "text/unigram.h"
#include "text/word_models.h"

namespace regard::text {

void Model::tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const {
  constexpr std::size_t kLong = std::size_t{1} << 16;
  scratch.clear();
  // Reserve memory for a long word, because each reallocation of a growing buffer would need memory for the
  // old and the new buffer.
  if (word.size() >= kLong) scratch.reserve(word.size());
  tokenize(word, scratch);
  std::int32_t* out = ids.reserve(scratch.size());
  for (const Token& token : scratch) *out++ = token.id;
  ids.advance(scratch.size());
}

std::vector<ScoredCut> Model::best_ways(std::string_view, std::size_t) const {
  throw usage_error("this tokenizer cannot return n-best segmentations")
      .found(fmt::format("a model of type {}", type()))
      .expected("a Unigram model of a tokenizer.json, or a SentencePiece file of type unigram");
}

std::optional<std::string> VocabularyModel::token_of(std::int32_t id) const {
  const auto token = vocabulary_.token(id);
  if (!token) return std::nullopt;
  return std::string(*token);
}

Vocabulary read_vocabulary(const ModelSource& source) {
  const std::vector<TokenView> tokens = source.tokens();
  Vocabulary vocabulary;
  vocabulary.add_all(tokens);
  return vocabulary;
}

Vocabulary read_vocabulary(const Json& json, const std::string& file) {
  return read_vocabulary(JsonModelSource(json, file));
}

Json write_vocabulary(const Vocabulary& vocabulary) {
  // Append entries without looking up their keys, because look-ups would take quadratic time in total.
  Json::object_t object;
  for (std::int32_t id = 0; id < vocabulary.end_id(); ++id)
    if (const auto token = vocabulary.token(id))
      static_cast<Json::object_t::Container&>(object).emplace_back(std::string(*token), id);
  return object;
}

std::unique_ptr<Model> read_model(const ModelSource& source) {
  const Json& json = source.settings();
  const std::string& file = source.file();
  std::string type = optional_value<std::string>(json, "type", file).value_or("");
  // Old files have no type; infer the type from the keys.
  if (type.empty()) {
    type = json.contains("merges")                                 ? "BPE"
           : json.contains("vocab") && json.at("vocab").is_array() ? "Unigram"
           : json.contains("max_input_chars_per_word")             ? "WordPiece"
                                                                   : "WordLevel";
  }
  if (type == "BPE") return read_bpe(source);
  if (type == "Unigram") return read_unigram(source);
  if (type == "WordPiece") return read_word_piece(source);
  if (type == "WordLevel") return read_word_level(source);
  if (type == "SentencePiece") return read_sentencepiece_model(json, file);
  if (type == "Marian") return read_marian_model(json, file);
  throw file_error(file, "unknown tokenizer model")
      .found(type)
      .expected("BPE, Unigram, WordPiece, WordLevel, SentencePiece or Marian")
      .remedy("Use a tokenizer with one of these models");
}

}  // namespace regard::text
