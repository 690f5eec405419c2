// The tokenizer of Marian translation models: sentencepiece segments the text, and one vocabulary for both
// languages maps the pieces to ids. ">>xx<<" at the start of the text selects the target language.
#include <fmt/format.h>

#include "base/file.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_files.h"

namespace regard::text {
namespace {

class MarianModel final : public VocabularyModel, private RunningModel {
 public:
  MarianModel(std::unique_ptr<SentencePieceModel> pieces, Vocabulary vocabulary, std::int32_t unknown)
      : VocabularyModel(std::move(vocabulary)), pieces_(std::move(pieces)), unknown_(unknown) {
    for (std::int32_t id = 0; id < vocabulary_.end_id(); ++id) {
      const auto token = vocabulary_.token(id);
      piece_ids_.push_back(token ? pieces_->id_of(*token).value_or(-1) : -1);
    }
    for (std::int32_t id = 0; id < pieces_->end_id(); ++id)
      ids_.push_back(id == pieces_->unknown_id()
                         ? unknown_
                         : vocabulary_.find(*pieces_->token_of(id)).value_or(unknown_));
  }

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override {
    const std::size_t first = tokens.size();
    pieces_->tokenize(word, tokens);
    for (std::size_t i = first; i < tokens.size(); ++i)
      tokens[i].id = ids_[static_cast<std::size_t>(tokens[i].id)];
  }
  std::string spelling(const Token& token, std::string_view word) const override {
    if (token.id == unknown_) return std::string(word.substr(token.begin, token.end - token.begin));
    return token_of(token.id).value_or("");
  }
  // A token that is not in this language's sentencepiece model decodes to an empty text. Examples are special
  // tokens and tokens of the other language.
  std::optional<std::string> decode(std::span<const std::int32_t> ids) const override {
    std::vector<std::int32_t> pieces;
    for (const std::int32_t id : ids)
      if (id >= 0 && id < end_id() && piece_ids_[static_cast<std::size_t>(id)] >= 0)
        pieces.push_back(piece_ids_[static_cast<std::size_t>(id)]);
    return pieces_->decode(pieces);
  }
  Json to_json() const override {
    return {{"type", "Marian"}, {"pieces", pieces_->to_json()}, {"vocab", write_vocabulary(vocabulary_)}};
  }
  const char* type() const override { return "Marian"; }
  Cutting cutting() const override { return pieces_->cutting(); }
  const RunningModel* running() const override { return pieces_->running() != nullptr ? this : nullptr; }

 private:
  float cut(std::string_view part, float so_far, IdBuffer& items, const Settled& settled) const override {
    return pieces_->running()->cut(part, so_far, items, settled);
  }
  Tables tables() const override {
    Tables tables = pieces_->running()->tables();
    tables.outside = ids_.data();
    return tables;
  }
  float largest_score() const override { return pieces_->running()->largest_score(); }

  std::unique_ptr<SentencePieceModel> pieces_;
  std::int32_t unknown_;
  std::vector<std::int32_t> piece_ids_, ids_;  // maps from vocabulary id to piece id, and back
};

}  // namespace

std::unique_ptr<Model> read_marian_model(const Json& json, const std::string& file) {
  Vocabulary vocabulary = read_vocabulary(json, file);
  const auto unknown = vocabulary.find("<unk>");
  if (!unknown)
    throw file_error(file, "a token that Marian requires is missing from the vocabulary")
        .expected("the token <unk>");
  return std::make_unique<MarianModel>(read_sentencepiece_pieces(require<Json>(json, "pieces", file), file),
                                       std::move(vocabulary), *unknown);
}

TokenizerFile read_marian(const std::filesystem::path& folder, Language language) {
  const std::string vocabulary_file = (folder / "vocab.json").string();
  Vocabulary vocabulary = read_vocabulary({{"vocab", read_json(vocabulary_file)}}, vocabulary_file);
  const auto id_of = [&](const char* token) {
    if (const auto id = vocabulary.find(token)) return *id;
    throw file_error(vocabulary_file, "a token that Marian requires is missing from the vocabulary")
        .expected(std::string("the token ") + token);
  };
  const std::int32_t end = id_of("</s>"), unknown = id_of("<unk>");
  Json added = Json::array();
  for (std::int32_t id = 0; id < vocabulary.end_id(); ++id) {
    const auto token = vocabulary.token(id);
    if (!token) continue;
    const bool language_code = token->size() > 4 && token->starts_with(">>") && token->ends_with("<<");
    if (language_code || id == end || id == unknown || *token == "<pad>")
      added.push_back(special_token_json(std::string(*token), id));
  }
  const std::string spm = (folder / (language == Language::source ? "source.spm" : "target.spm")).string();
  SentencePieceFile file = parse_sentencepiece(read_regular_file(spm, std::uint64_t{1} << 28), spm);
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const Json mark{{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}};
  Json pipeline{{"version", "1.0"},
                {"truncation", nullptr},
                {"padding", nullptr},
                {"added_tokens", std::move(added)},
                {"normalizer", sentencepiece_normalizer_json(file)},
                {"pre_tokenizer", nullptr},
                {"post_processor",
                 {{"type", "TemplateProcessing"},
                  {"single", {text("A", 0), mark}},
                  {"pair", {text("A", 0), text("B", 0), mark}},
                  {"special_tokens", {{"</s>", {{"id", "</s>"}, {"ids", {end}}, {"tokens", {"</s>"}}}}}}}},
                {"decoder", nullptr}};
  auto pieces = std::make_unique<SentencePieceModel>(std::move(file.pieces), std::move(file.options), spm);
  return {folder.string(), std::move(pipeline),
          std::make_unique<MarianModel>(std::move(pieces), std::move(vocabulary), unknown)};
}

}  // namespace regard::text
