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

// Indices of the scores that are left, largest first; of equal ones the first stays longest.
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

// Removes from the least probable on while what is removed stays within 1 − p.
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

}  // namespace

void warp(const Warp& how, std::span<float> scores, std::vector<std::int32_t>& order) {
  if (how.temperature != 1.0)
    for (float& score : scores) score = static_cast<float>(static_cast<double>(score) / how.temperature);
  if (how.top_k <= 0 && how.top_p >= 1.0 && how.min_p <= 0.0) return;
  sort_remaining(scores, order);
  if (how.top_k > 0) keep_top_k(std::max(how.top_k, how.min_keep), scores, order);
  if (how.top_p < 1.0) keep_nucleus(how.top_p, how.min_keep, scores, order);
  if (how.min_p > 0.0) keep_min_p(how.min_p, how.min_keep, scores, order);
}

std::int32_t draw(std::span<const float> scores, double uniform) {
  const float shift = largest(scores);
  double total = 0.0;
  if (shift > kRemoved)
    for (const float score : scores) total += weight(score, shift);
  if (!(total > 0.0) || !std::isfinite(total))
    throw Error(ErrorKind::numeric, "there is no token to draw: no score is finite");
  double left = uniform * total;
  std::int32_t last = -1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kRemoved) continue;
    last = static_cast<std::int32_t>(i);
    left -= weight(scores[i], shift);
    if (left < 0.0) break;
  }
  return last;  // rounding may leave a crumb: then it is the last one that has any weight
}

}  // namespace regard::infer
