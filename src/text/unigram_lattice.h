// Lattice of all segmentations of a word under a unigram model. Training uses it to find the best
// segmentation and the expected count of each piece in the word.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"
#include "text/unigram.h"

namespace regard::text {

// The logarithm of 0, which is the score of a piece that is no longer used.
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

class UnigramLattice {
 public:
  static constexpr std::int32_t kUnknown = -1;  // id of a character that is not a piece

  struct Node {
    std::uint32_t begin = 0, end = 0;  // byte range of the node within the word
    std::int32_t id = kUnknown;
  };
  // Buffers that are reused, so that words do not require allocations.
  struct Scratch {
    std::vector<Node> nodes;
    std::vector<double> weights, forward, backward;
    std::vector<std::int32_t> arrival;
    std::vector<std::int32_t> path;  // ids of the best segmentation
  };

  UnigramLattice() = default;
  // `pieces` must be ordered by id. They are copied.
  explicit UnigramLattice(std::span<const ScoredPiece> pieces);
  // Replace the scores of the pieces. Minus infinity removes a piece.
  void set_scores(std::span<const ScoredPiece> pieces);

  double lowest_score() const noexcept { return lowest_; }

  // Fill scratch.nodes with the nodes of the lattice, and scratch.weights with the marginal probability of
  // each node, in the same order. Return the log-likelihood of the word.
  double marginals(std::string_view word, Scratch& scratch) const;
  // Fill scratch.path with the ids of the best segmentation that does not contain the piece with the id
  // `without`, and return its score. Among segmentations with equal scores, choose the one with the longer
  // last piece.
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
