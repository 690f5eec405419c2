// sentencepiece models (Kudo and Richardson 2018): .model files, their normalisation, and the four model
// types unigram, BPE, word and character. Arithmetic and tie-breaking are the same as in sentencepiece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/byte_trie.h"
#include "text/charsmap.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/running_model.h"

namespace regard::text {

// The symbol for a space in pieces: U+2581.
constexpr std::string_view kSpaceSymbol = "\u2581";

enum class PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePiece {
  std::string piece;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct SentencePieceOptions {
  enum class Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
  Kind kind = Kind::unigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  bool dummy_prefix = true;
  bool remove_extra_whitespace = true;
  bool escape_whitespace = true;
  std::string unknown_surface = " \u2047 ";  // text of an unknown piece when decoded
};

struct SentencePieceFile {
  std::vector<SentencePiece> pieces;  // ordered by id
  SentencePieceOptions options;
  std::string charsmap;  // precompiled normalisation rules; may be empty
};

// Parse a .model file. Throws bad_file with `file` and, for malformed data, the byte offset.
SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& file);

class SentencePieceModel final : public Model, private RunningModel {
 public:
  // Throws bad_file with `file` if a piece is invalid or repeated, or a required piece is missing.
  SentencePieceModel(std::vector<SentencePiece> pieces, SentencePieceOptions options,
                     const std::string& file);

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  std::vector<ScoredCut> best_ways(std::string_view word, std::size_t most) const override;
  void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  std::optional<std::string> token_of(std::int32_t id) const override;
  std::int32_t end_id() const override { return static_cast<std::int32_t>(pieces_.size()); }
  std::size_t size() const override { return pieces_.size(); }
  std::string spelling(const Token& token, std::string_view word) const override;
  bool is_control(std::int32_t id) const override { return has_type(id, PieceType::control); }
  std::optional<std::string> decode(std::span<const std::int32_t> ids) const override;
  Json to_json() const override;
  const char* type() const override { return "SentencePiece"; }
  Cutting cutting() const override { return apart_ ? Cutting::at_spaces : Cutting::none; }
  const RunningModel* running() const override {
    return options_.kind == SentencePieceOptions::Kind::unigram ? this : nullptr;
  }

  std::int32_t unknown_id() const noexcept { return unknown_id_; }

 private:
  bool has_type(std::int32_t id, PieceType type) const {
    return id >= 0 && id < end_id() && pieces_[static_cast<std::size_t>(id)].type == type;
  }
  std::int32_t find(std::string_view piece) const;  // returns unknown_id_ if `piece` is not in the vocabulary
  void rank_pieces();
  void set_scores();
  // Return the score of a user-defined piece. `length` is in bytes in the search for the best segmentation,
  // and in code points in the search for the n best, as in sentencepiece.
  static float user_defined_score(std::size_t length);
  float cut(std::string_view part, float so_far, IdBuffer& items, const Settled& settled) const override;
  Tables tables() const override { return {scores_.data(), nullptr, unknown_score_}; }
  float largest_score() const override { return largest_score_; }
  // walk_best() calls take(begin, end, arrival) for each piece of the best segmentation, in order. `arrival`
  // is the state of the search at `end`.
  struct Arrival;
  template <class Reach>
  std::size_t pieces_at(std::string_view word, std::size_t begin, const Reach& reach) const;
  template <class Take>
  void walk_best(std::string_view word, float so_far, const Take& take) const;
  std::size_t symbol_size(std::string_view text, bool& frozen) const;
  // Each cut function appends the pieces of the word with their ranges. cut_whole() calls the function that
  // options_.kind selects.
  void cut_whole(std::string_view word, std::vector<Token>& cuts) const;
  void name_unknown(std::string_view word, const std::vector<Token>& cuts, std::vector<Token>& tokens) const;
  void cut_unigram(std::string_view word, std::vector<Token>& cuts) const;
  void cut_bpe(std::string_view word, std::vector<Token>& cuts) const;
  void cut_words(std::string_view word, std::vector<Token>& cuts) const;
  void cut_characters(std::string_view word, std::vector<Token>& cuts) const;
  std::pair<std::string, bool> text_of(std::int32_t id, bool at_start) const;

  std::vector<SentencePiece> pieces_;
  SentencePieceOptions options_;
  // searched_ contains normal, user-defined and unused pieces; reserved_ contains all other pieces
  Vocabulary searched_, reserved_;
  ByteTrie trie_, user_defined_;
  std::int32_t byte_ids_[256];
  std::int32_t unknown_id_ = -1;
  // score of each id in the unigram search; NaN for ids that the search skips
  std::vector<float> scores_;
  float unknown_score_ = 0, largest_score_ = 0;
  bool apart_ = false;  // true if "▁" is a piece, and other pieces contain "▁" only at their start
  // rank of each id by score: 0 for the highest score, equal ranks for equal scores
  std::vector<std::int32_t> bpe_ranks_;
  float least_ = 0;  // minimum score of normal pieces
};

// The JSON components of sentencepiece models are regard's own, because Hugging Face's tokenizer.json cannot
// express sentencepiece's processing.
Json sentencepiece_normalizer_json(const SentencePieceFile& file);
std::unique_ptr<Normalizer> sentencepiece_normalizer(const Json& json, const std::string& file);
std::unique_ptr<SentencePieceModel> read_sentencepiece_pieces(const Json& json, const std::string& file);
inline std::unique_ptr<Model> read_sentencepiece_model(const Json& json, const std::string& file) {
  return read_sentencepiece_pieces(json, file);
}
// Read the model of a saved Marian tokenizer (marian.cpp).
std::unique_ptr<Model> read_marian_model(const Json& json, const std::string& file);

}  // namespace regard::text
