// The unigram language model (Kudo 2018). The Viterbi algorithm finds the segmentation of a word that has the
// largest sum of scores (log-probabilities).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/byte_trie.h"
#include "text/model.h"

namespace regard::text {

// Difference between the lowest score of a piece and the score of an unknown character, as in sentencepiece.
constexpr double kUnknownPenalty = 10.0;

struct ScoredPiece {
  std::string piece;
  double score = 0;
};

class Unigram final : public Model {
 public:
  // `pieces` must be ordered by id. Throws bad_file with `file` if `unknown` is not an id.
  Unigram(std::span<const ScoredPieceView> pieces, std::optional<std::int32_t> unknown, bool byte_fallback,
          const std::string& file);

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  std::vector<ScoredCut> best_ways(std::string_view word, std::size_t most) const override;
  void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override { return vocabulary_.find(token); }
  std::optional<std::string> token_of(std::int32_t id) const override;
  std::int32_t end_id() const override { return static_cast<std::int32_t>(scores_.size()); }
  std::size_t size() const override { return scores_.size(); }
  // The spelling of an unknown token is the text that it covers.
  std::string spelling(const Token& token, std::string_view word) const override;
  Json to_json() const override;
  const char* type() const override { return "Unigram"; }

 private:
  template <class Reach>
  std::size_t pieces_at(std::string_view word, std::size_t begin, const Reach& reach) const;
  // Passes tokens to `push`: adjacent unknown tokens are merged or encoded as bytes, other tokens are
  // unchanged.
  template <class Push>
  class Namer;
  // Call push(id, begin, end) for the tokens in order.
  template <class Push>
  void cut(std::string_view word, const Push& push) const;
  template <class Push>
  void spell_unknown(std::string_view word, std::size_t begin, std::size_t end, const Push& push) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  ByteTrie trie_;
  std::optional<std::int32_t> unknown_;
  std::int32_t fallback_ids_[256];
  double unknown_score_ = 0;
  bool byte_fallback_ = false;
};

std::unique_ptr<Model> read_unigram(const ModelSource& source);

}  // namespace regard::text
