#include "text/unigram_lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace regard::text {
namespace {

// Arithmetic with probabilities instead of their logarithms. It is fast, but inaccurate if a product of
// probabilities underflows.
struct Plain {
  static constexpr double kZero = 0.0, kOne = 1.0;
  static double plus(double a, double b) { return a + b; }
  static double times(double a, double b) { return a * b; }
  static double over(double a, double b) { return a / b; }
  static double log(double a) { return std::log(a); }
};

// Arithmetic with logarithms of probabilities, for long words.
struct Logarithms {
  static constexpr double kZero = kMinusInfinity, kOne = 0.0;
  static double plus(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == kMinusInfinity ? a : a + std::log1p(std::exp(b - a));
  }
  static double times(double a, double b) { return a + b; }
  static double over(double a, double b) { return std::exp(a - b); }
  static double log(double a) { return a; }
};

}  // namespace

UnigramLattice::UnigramLattice(std::span<const ScoredPiece> pieces) {
  std::vector<TokenView> strings;
  strings.reserve(pieces.size());
  for (std::size_t id = 0; id < pieces.size(); ++id)
    strings.push_back({pieces[id].piece, static_cast<std::int32_t>(id)});
  trie_ = ByteTrie(strings);
  set_scores(pieces);
}

void UnigramLattice::set_scores(std::span<const ScoredPiece> pieces) {
  lowest_ = std::numeric_limits<double>::infinity();
  scores_.clear();
  probabilities_.clear();
  for (const ScoredPiece& piece : pieces) {
    scores_.push_back(piece.score);
    probabilities_.push_back(std::exp(piece.score));
    if (piece.score != kMinusInfinity) lowest_ = std::min(lowest_, piece.score);
  }
  if (!std::isfinite(lowest_)) lowest_ = 0;
  unknown_score_ = lowest_ - kUnknownPenalty;
  unknown_probability_ = std::exp(unknown_score_);
}

void UnigramLattice::find_nodes(std::string_view word, std::vector<Node>& nodes) const {
  nodes.clear();
  for (std::size_t begin = 0; begin < word.size();) {
    const auto size = static_cast<std::size_t>(utf8::decode(word, begin).size);
    bool single = false;
    std::int32_t node = ByteTrie::kRoot;
    for (std::size_t end = begin; end < word.size() && !trie_.empty();) {
      node = trie_.child(node, word[end++]);
      if (node == ByteTrie::kNone) break;
      const std::int32_t id = trie_.value(node);
      if (id < 0 || scores_[static_cast<std::size_t>(id)] == kMinusInfinity) continue;
      nodes.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), id});
      single = single || end - begin == size;
    }
    if (!single)
      nodes.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + size), kUnknown});
    begin += size;
  }
}

// Forward–backward algorithm over all segmentations (Baum et al. 1970). scratch.weights holds the weight of
// each node before the call and its marginal probability afterwards.
template <class Numbers>
double UnigramLattice::sum_over_cuts(std::size_t size, Scratch& scratch) const {
  std::vector<double>&forward = scratch.forward, &backward = scratch.backward, &weights = scratch.weights;
  forward.assign(size + 1, Numbers::kZero);
  backward.assign(size + 1, Numbers::kZero);
  forward[0] = backward[size] = Numbers::kOne;
  // Nodes are ordered by start, so the sum at a position is complete before it is used.
  for (std::size_t i = 0; i < scratch.nodes.size(); ++i) {
    const Node& node = scratch.nodes[i];
    forward[node.end] = Numbers::plus(forward[node.end], Numbers::times(forward[node.begin], weights[i]));
  }
  for (std::size_t i = scratch.nodes.size(); i-- > 0;) {
    const Node& node = scratch.nodes[i];
    backward[node.begin] =
        Numbers::plus(backward[node.begin], Numbers::times(backward[node.end], weights[i]));
  }
  const double whole = forward[size];
  for (std::size_t i = 0; i < scratch.nodes.size(); ++i) {
    const Node& node = scratch.nodes[i];
    weights[i] = Numbers::over(
        Numbers::times(Numbers::times(forward[node.begin], weights[i]), backward[node.end]), whole);
  }
  return Numbers::log(whole);
}

double UnigramLattice::marginals(std::string_view word, Scratch& scratch) const {
  constexpr std::size_t kLong = 40;  // maximum length in bytes of a word for which Plain is used
  find_nodes(word, scratch.nodes);
  std::vector<double>& weights = scratch.weights;
  if (word.size() <= kLong) {
    weights.clear();
    for (const Node& node : scratch.nodes)
      weights.push_back(node.id < 0 ? unknown_probability_
                                    : probabilities_[static_cast<std::size_t>(node.id)]);
    const double likelihood = sum_over_cuts<Plain>(word.size(), scratch);
    if (likelihood > -600) return likelihood;  // the terms that underflowed are negligible
  }
  weights.clear();
  for (const Node& node : scratch.nodes) weights.push_back(score_of(node.id));
  return sum_over_cuts<Logarithms>(word.size(), scratch);
}

double UnigramLattice::best(std::string_view word, Scratch& scratch, std::int32_t without) const {
  find_nodes(word, scratch.nodes);
  std::vector<double>& score = scratch.forward;
  score.assign(word.size() + 1, 0.0);
  scratch.arrival.assign(word.size() + 1, -1);
  for (std::size_t i = 0; i < scratch.nodes.size(); ++i) {
    const Node& node = scratch.nodes[i];
    if (node.id == without || (node.begin > 0 && scratch.arrival[node.begin] < 0)) continue;
    const double reached = score[node.begin] + score_of(node.id);
    if (scratch.arrival[node.end] >= 0 && reached <= score[node.end]) continue;
    score[node.end] = reached;
    scratch.arrival[node.end] = static_cast<std::int32_t>(i);
  }
  scratch.path.clear();
  for (std::size_t end = word.size(); end > 0;) {
    if (scratch.arrival[end] < 0) {  // every segmentation contains the excluded piece
      scratch.path.clear();
      return kMinusInfinity;
    }
    const Node& node = scratch.nodes[static_cast<std::size_t>(scratch.arrival[end])];
    scratch.path.push_back(node.id);
    end = node.begin;
  }
  std::reverse(scratch.path.begin(), scratch.path.end());
  return score[word.size()];
}

}  // namespace regard::text
