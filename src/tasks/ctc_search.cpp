#include "tasks/ctc_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>

namespace regard::tasks {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double most = std::max(a, b);
  return most == kImpossible ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}

// A node of the tree of prefixes.
struct Prefix {
  std::int64_t parent = -1;
  CtcLabel label;
};

// Log-probabilities of the paths over the frames so far that reduce to a given prefix. `blank` is the sum
// over the paths that end in a blank; `label` is the sum over the paths that end in the prefix's last label.
struct Score {
  double blank = kImpossible, label = kImpossible;
  double total() const { return log_add(blank, label); }
};

constexpr std::int64_t kRoot = 0;

// Return the hash key of a prefix: the node of the prefix without its last label, and that label.
std::uint64_t key_of(std::int64_t parent, std::int32_t label) {
  return static_cast<std::uint64_t>(parent) << 24 ^ static_cast<std::uint64_t>(label);
}

// Tree of the prefixes that have been in the beam. Candidates outside the beam get no node, because most
// candidates are never in the beam.
class PrefixTree {
 public:
  std::int64_t child(std::int64_t parent, std::int32_t label, std::int64_t frame) {
    const auto [found, made] = children_.try_emplace(key_of(parent, label), std::ssize(nodes_));
    if (made) nodes_.push_back({parent, {label, frame, frame}});
    return found->second;
  }
  Prefix& node(std::int64_t at) { return nodes_[static_cast<std::size_t>(at)]; }

  std::vector<CtcLabel> path(std::int64_t at) {
    std::vector<CtcLabel> labels;
    for (; at != kRoot; at = node(at).parent) labels.push_back(node(at).label);
    std::reverse(labels.begin(), labels.end());
    return labels;
  }

 private:
  std::vector<Prefix> nodes_{Prefix{}};
  std::unordered_map<std::uint64_t, std::int64_t> children_;
};

// A prefix that may be in the beam after the current frame.
struct Candidate {
  std::int64_t parent = -1;  // −1 for the root
  std::int32_t label = 0;
  std::size_t place = 0;  // order in which the candidates of a frame were found
  Score score;
  double total = kImpossible;
};

// The candidates of a frame.
class Candidates {
 public:
  Score& score(std::int64_t parent, std::int32_t label) {
    const auto [found, made] = places_.try_emplace(key_of(parent, label), list_.size());
    if (made) list_.push_back({parent, label, list_.size(), {}, kImpossible});
    return list_[found->second].score;
  }
  void clear() {
    list_.clear();
    places_.clear();
  }

  // Return the best `width` candidates. Among candidates with equal scores, those found first are better.
  // Call clear() before the next score().
  std::span<const Candidate> best(std::int64_t width) {
    for (Candidate& one : list_) one.total = one.score.total();
    const auto kept = std::min(std::ssize(list_), static_cast<std::ptrdiff_t>(width));
    std::partial_sort(list_.begin(), list_.begin() + kept, list_.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return a.total > b.total || (a.total == b.total && a.place < b.place);
                      });
    return std::span(list_).first(static_cast<std::size_t>(kept));
  }

 private:
  std::vector<Candidate> list_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace

std::vector<CtcLabel> ctc_best_path(const Tensor& logits, std::int32_t blank) {
  std::vector<CtcLabel> labels;
  std::int32_t before = blank;
  for (std::int64_t t = 0; t < logits.rows(); ++t) {
    const float* row = logits.row(t);
    const auto best = static_cast<std::int32_t>(std::max_element(row, row + logits.columns()) - row);
    if (best != blank && best == before) labels.back().last = t;
    if (best != blank && best != before) labels.push_back({best, t, t});
    before = best;
  }
  return labels;
}

CtcHypothesis ctc_beam_search(const Tensor& log_p, std::int32_t blank, std::int64_t width) {
  // In each frame, skip labels whose log-probability is below the maximum of the frame by more than this
  // difference.
  constexpr float kHopeless = 15.0f;
  PrefixTree tree;
  Candidates candidates;
  std::vector<std::pair<std::int64_t, Score>> beam{{kRoot, {0.0, kImpossible}}};  // node and score
  for (std::int64_t t = 0; t < log_p.rows(); ++t) {
    const float* row = log_p.row(t);
    const float most = *std::max_element(row, row + log_p.columns());
    candidates.clear();
    for (const auto& [prefix, score] : beam) {
      const Prefix& node = tree.node(prefix);
      const std::int32_t last = prefix == kRoot ? -1 : node.label.label;
      const double total = score.total();
      Score& same = candidates.score(node.parent, node.label.label);
      same.blank = log_add(same.blank, total + static_cast<double>(row[blank]));
      if (last >= 0) same.label = log_add(same.label, score.label + static_cast<double>(row[last]));
      for (std::int32_t label = 0; label < log_p.columns(); ++label) {
        if (label == blank || row[label] < most - kHopeless) continue;
        Score& longer = candidates.score(prefix, label);
        const double before = label == last ? score.blank : total;
        longer.label = log_add(longer.label, before + static_cast<double>(row[label]));
      }
    }
    beam.clear();
    for (const Candidate& one : candidates.best(width)) {
      const std::int64_t prefix = one.parent < 0 ? kRoot : tree.child(one.parent, one.label, t);
      beam.emplace_back(prefix, one.score);
      if (prefix != kRoot && one.score.label >= one.score.blank) tree.node(prefix).label.last = t;
    }
  }
  return {tree.path(beam[0].first), beam[0].second.total()};
}

void to_log_probabilities(Tensor& logits) {
  for (std::int64_t t = 0; t < logits.rows(); ++t) {
    float* row = logits.row(t);
    const auto most = static_cast<double>(*std::max_element(row, row + logits.columns()));
    double sum = 0.0;
    for (std::int64_t c = 0; c < logits.columns(); ++c) sum += std::exp(static_cast<double>(row[c]) - most);
    const double shift = most + std::log(sum);
    for (std::int64_t c = 0; c < logits.columns(); ++c)
      row[c] = static_cast<float>(static_cast<double>(row[c]) - shift);
  }
}

}  // namespace regard::tasks
