#include "infer/warp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "regard/error.h"

namespace regard::infer {
namespace {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();

float largest(std::span<const float> scores) {
  float most = kRemoved;
  for (const float score : scores) most = std::max(most, score);
  return most;
}

double weight(float score, float shift) {
  return std::exp(static_cast<double>(score) - static_cast<double>(shift));
}

// The log softmax of a row. Each score is computed when it is needed.
class Normalised {
 public:
  explicit Normalised(std::span<const float> scores) : shift_(largest(scores)) {
    double total = 0.0;
    for (const float score : scores) total += weight(score, shift_);
    log_total_ = std::log(total);
  }
  double log_probability(float score) const {
    return static_cast<double>(score) - static_cast<double>(shift_) - log_total_;
  }
  double entropy(std::span<const float> scores) const {
    double sum = 0.0;
    for (const float score : scores) {
      if (score == kRemoved) continue;
      const double log = log_probability(score);
      sum -= std::exp(log) * log;
    }
    return sum;
  }

 private:
  float shift_;
  double log_total_ = 0.0;
};

// Sort the indices of the remaining scores, largest first. Equal scores are in the order of their indices.
void sort_remaining(std::span<const float> scores, std::vector<std::int32_t>& order) {
  order.clear();
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > kRemoved) order.push_back(static_cast<std::int32_t>(i));
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
}

void keep_top_k(std::int64_t k, std::span<float> scores, const std::vector<std::int32_t>& order) {
  if (k >= static_cast<std::int64_t>(order.size())) return;
  const float limit = scores[static_cast<std::size_t>(order[static_cast<std::size_t>(k - 1)])];
  for (float& score : scores)
    if (score < limit) score = kRemoved;
}

// Remove the least probable tokens, as long as their total probability is at most 1 − p.
void keep_nucleus(double p, std::int64_t min_keep, std::span<float> scores,
                  const std::vector<std::int32_t>& order) {
  const float shift = largest(scores);
  double total = 0.0, removed = 0.0;
  for (const std::int32_t i : order) total += weight(scores[static_cast<std::size_t>(i)], shift);
  for (auto place = static_cast<std::int64_t>(order.size()) - 1; place >= min_keep; --place) {
    float& score = scores[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])];
    if (score == kRemoved) continue;
    removed += weight(score, shift) / total;
    if (removed > 1.0 - p) return;
    score = kRemoved;
  }
}

void keep_min_p(double p, std::int64_t min_keep, std::span<float> scores,
                const std::vector<std::int32_t>& order) {
  const float shift = largest(scores);
  for (std::size_t place = static_cast<std::size_t>(min_keep); place < order.size(); ++place) {
    float& score = scores[static_cast<std::size_t>(order[place])];
    if (weight(score, shift) < p) score = kRemoved;
  }
}

// Keep the tokens whose −log p is nearest to the entropy, until their probabilities sum to `mass`. Tokens at
// the same distance as the last one are kept.
void keep_typical(double mass, std::int64_t min_keep, std::span<float> scores,
                  std::vector<std::int32_t>& order) {
  const Normalised normalised(scores);
  const double entropy = normalised.entropy(scores);
  const auto distance = [&](std::int32_t i) {
    return std::abs(-normalised.log_probability(scores[static_cast<std::size_t>(i)]) - entropy);
  };
  std::erase_if(order, [&](std::int32_t i) { return scores[static_cast<std::size_t>(i)] == kRemoved; });
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = distance(a), y = distance(b);
    return x != y ? x < y : a < b;
  });
  double held = 0.0;
  std::size_t last = 0;
  for (; last + 1 < order.size(); ++last) {
    held += std::exp(normalised.log_probability(scores[static_cast<std::size_t>(order[last])]));
    if (held >= mass) break;
  }
  const double limit = distance(order[last]);
  for (std::size_t place = static_cast<std::size_t>(min_keep); place < order.size(); ++place)
    if (distance(order[place]) > limit) scores[static_cast<std::size_t>(order[place])] = kRemoved;
}

// Remove tokens less probable than `least`, but always keep the min_keep most probable tokens.
void keep_above(double least, const Normalised& normalised, std::int64_t min_keep, std::span<float> scores,
                std::vector<std::int32_t>& order) {
  sort_remaining(scores, order);
  const auto kept = std::min(static_cast<std::size_t>(min_keep), order.size());
  const float best = scores[static_cast<std::size_t>(order[kept - 1])];
  for (const std::int32_t i : order) {
    float& score = scores[static_cast<std::size_t>(i)];
    if (score < best && std::exp(normalised.log_probability(score)) < least) score = kRemoved;
  }
}

}  // namespace

void warp(const Warp& how, std::span<float> scores, std::vector<std::int32_t>& order) {
  if (how.temperature != 1.0)
    for (float& score : scores) score = static_cast<float>(static_cast<double>(score) / how.temperature);
  if (how.removes_nothing()) return;
  sort_remaining(scores, order);
  if (order.empty()) return;  // all scores are −∞: draw() throws
  if (how.top_k > 0) keep_top_k(std::max(how.top_k, how.min_keep), scores, order);
  if (how.top_p < 1.0) keep_nucleus(how.top_p, how.min_keep, scores, order);
  if (how.min_p > 0.0) keep_min_p(how.min_p, how.min_keep, scores, order);
  if (how.typical_p < 1.0) keep_typical(how.typical_p, how.min_keep, scores, order);
  if (how.epsilon > 0.0) keep_above(how.epsilon, Normalised(scores), how.min_keep, scores, order);
  if (how.eta > 0.0) {
    const Normalised normalised(scores);
    const double eta = std::min(how.eta, std::sqrt(how.eta) * std::exp(-normalised.entropy(scores)));
    keep_above(eta, normalised, how.min_keep, scores, order);
  }
}

std::int32_t draw(std::span<const float> scores, double uniform) {
  const float shift = largest(scores);
  double total = 0.0;
  if (shift > kRemoved)
    for (const float score : scores) total += weight(score, shift);
  if (!(total > 0.0) || !std::isfinite(total))
    throw Error(ErrorKind::numeric, "cannot sample a token: no score is finite")
        .remedy("Remove rules that exclude every token, or check the weights of the model");
  double left = uniform * total;
  std::int32_t last = -1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kRemoved) continue;
    last = static_cast<std::int32_t>(i);
    left -= weight(scores[i], shift);
    if (left < 0.0) break;
  }
  return last;  // rounding may leave a remainder: return the last index with non-zero weight
}

}  // namespace regard::infer
