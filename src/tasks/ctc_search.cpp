#include "tasks/ctc_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

class PrefixTree {
 public:
  std::int64_t child(std::int64_t parent, std::int32_t label, std::int64_t frame) {
    const auto [found, made] = children_.try_emplace(key(parent, label), std::ssize(nodes_));
    if (made) nodes_.push_back({parent, {label, frame, frame}});
    return found->second;
  }
  Prefix& node(std::int64_t at) { return nodes_[static_cast<std::size_t>(at)]; }

  std::vector<CtcLabel> path(std::int64_t at) {
    std::vector<CtcLabel> labels;
    for (; at > 0; at = node(at).parent) labels.push_back(node(at).label);
    std::reverse(labels.begin(), labels.end());
    return labels;
  }

 private:
  static std::uint64_t key(std::int64_t parent, std::int32_t label) {
    return static_cast<std::uint64_t>(parent) << 24 ^ static_cast<std::uint64_t>(label);
  }
  std::vector<Prefix> nodes_{Prefix{}};
  std::unordered_map<std::uint64_t, std::int64_t> children_;
};

using Beam = std::vector<std::pair<std::int64_t, Score>>;

// Keep the best `width` prefixes. Among prefixes with equal scores, keep the older ones.
void prune(Beam& beam, std::int64_t width) {
  const auto better = [](const auto& a, const auto& b) {
    const double x = a.second.total(), y = b.second.total();
    return x > y || (x == y && a.first < b.first);
  };
  const auto kept = std::min(std::ssize(beam), static_cast<std::ptrdiff_t>(width));
  std::partial_sort(beam.begin(), beam.begin() + kept, beam.end(), better);
  beam.resize(static_cast<std::size_t>(kept));
}

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
  Beam beam{{0, {0.0, kImpossible}}};
  std::unordered_map<std::int64_t, Score> next;
  for (std::int64_t t = 0; t < log_p.rows(); ++t) {
    const float* row = log_p.row(t);
    const float most = *std::max_element(row, row + log_p.columns());
    next.clear();
    for (const auto& [prefix, score] : beam) {
      const std::int32_t last = prefix == 0 ? -1 : tree.node(prefix).label.label;
      Score& same = next[prefix];
      same.blank = log_add(same.blank, score.total() + static_cast<double>(row[blank]));
      if (last >= 0) same.label = log_add(same.label, score.label + static_cast<double>(row[last]));
      for (std::int32_t label = 0; label < log_p.columns(); ++label) {
        if (label == blank || row[label] < most - kHopeless) continue;
        const std::int64_t child = tree.child(prefix, label, t);
        const double before = label == last ? score.blank : score.total();
        Score& longer = next[child];
        longer.label = log_add(longer.label, before + static_cast<double>(row[label]));
      }
    }
    beam.assign(next.begin(), next.end());
    prune(beam, width);
    for (const auto& [prefix, score] : beam)
      if (prefix != 0 && score.label >= score.blank) tree.node(prefix).label.last = t;
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
