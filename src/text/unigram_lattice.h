// All ways to cut a word into the pieces of a unigram model that is being learnt: the best one, and how often
// each piece is to be expected.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"
#include "text/unigram.h"

namespace regard::text {

class UnigramLattice {
 public:
  static constexpr std::int32_t kUnknown = -1;  // stands for a character that is no piece

  struct Node {
    std::uint32_t begin = 0, end = 0;  // in bytes of the word
    std::int32_t id = kUnknown;
  };
  // Reused from word to word, so that a word allocates nothing.
  struct Scratch {
    std::vector<Node> nodes;
    std::vector<double> weights, forward, backward;
    std::vector<std::int32_t> arrival;
    std::vector<std::int32_t> path;  // ids
  };

  UnigramLattice() = default;
  // The pieces by id; they are copied.
  explicit UnigramLattice(std::span<const ScoredPiece> pieces);
  // Other scores for the same pieces; minus infinity takes a piece out.
  void set_scores(std::span<const ScoredPiece> pieces);

  double lowest_score() const noexcept { return lowest_; }

  // Sets scratch.nodes and, in their order, scratch.weights: the probability that the cut uses the node.
  // Returns the log-likelihood of the word.
  double marginals(std::string_view word, Scratch& scratch) const;
  // Sets scratch.path and returns its score; of equally good ones the one whose last pieces are longest.
  // `without`: a piece that may not be used.
  double best(std::string_view word, Scratch& scratch, std::int32_t without = kNone) const;

 private:
  static constexpr std::int32_t kNone = -2;
  void find_nodes(std::string_view word, std::vector<Node>& nodes) const;
  double score_of(std::int32_t id) const noexcept {
    return id < 0 ? unknown_score_ : scores_[static_cast<std::size_t>(id)];
  }
  template <class Numbers>
  double sum_over_cuts(std::size_t size, Scratch& scratch) const;

  ByteTrie trie_;
  std::vector<double> scores_, probabilities_;
  double lowest_ = 0, unknown_score_ = 0, unknown_probability_ = 0;
};

}  // namespace regard::text
