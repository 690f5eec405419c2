// Reference implementation of attention, step by step, for one sequence. The fused kernels of
// kernels/attention.h are tested against it. T is float or double.
//
//   product = scale q kᵀ; capped = cap tanh(product / cap); score = capped + bias, −∞ where masked;
//   weight = softmax of score over keys; out = (weight ∘ dropout factor) v
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/namespaces.h"

namespace regard::ops::plain {

template <class T>
struct Attention {
  std::int64_t queries = 0, keys = 0;
  std::int64_t heads = 1, kv_heads = 1;  // query head h uses key/value head h / (heads / kv_heads)
  std::int64_t head_dim = 0, value_dim = 0;
  T scale = 1;
  T softcap = 0;            // 0 means none
  bool causal = false;      // causal mask: query i may attend to key j only if j ≤ i + offset
  std::int64_t window = 0;  // window: if above 0, query i attends to key j only if |i + offset − j| < window
  std::int64_t offset = 0;
  const T* query = nullptr;  // [queries, heads, head_dim]
  const T* key = nullptr;    // [keys, kv_heads, head_dim]
  const T* value = nullptr;  // [keys, kv_heads, value_dim]
  // Elements of mask and bias are indexed by (head, query, key); strides may be 0.
  const std::uint8_t* mask = nullptr;  // mask: 1 means that the query may attend to the key
  std::int64_t mask_head_stride = 0, mask_query_stride = 0;
  const T* bias = nullptr;
  std::int64_t bias_head_stride = 0, bias_query_stride = 0;
  // Returns the dropout factor of an attention weight; an empty function means no dropout.
  std::function<T(std::int64_t head, std::int64_t query, std::int64_t key)> dropout_factor;
};

template <class T>
struct AttentionResult {
  std::vector<T> product, capped, score, weight;  // [heads, queries, keys]
  std::vector<T> lse;                             // [queries, heads]
  std::vector<T> out;                             // [queries, heads, value_dim]
};

template <class T>
struct AttentionGradients {
  std::vector<T> query, key, value;  // gradients with the shapes of the inputs
  std::vector<T> bias;               // [heads, queries, keys], not summed over broadcast elements
};

template <class T>
bool may_attend(const Attention<T>& problem, std::int64_t head, std::int64_t query, std::int64_t key) {
  const std::int64_t position = query + problem.offset;
  const std::int64_t distance = position > key ? position - key : key - position;
  if (problem.causal && key > position) return false;
  if (problem.window > 0 && distance >= problem.window) return false;
  return problem.mask == nullptr ||
         problem.mask[head * problem.mask_head_stride + query * problem.mask_query_stride + key] != 0;
}

namespace detail {

template <class T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Call body(head, query, key, index in [heads, queries, keys]) for every score.
template <class T, class Body>
void for_each_score(const Attention<T>& problem, Body&& body) {
  std::size_t index = 0;
  for (std::int64_t head = 0; head < problem.heads; ++head)
    for (std::int64_t query = 0; query < problem.queries; ++query)
      for (std::int64_t key = 0; key < problem.keys; ++key) body(head, query, key, index++);
}

// Offsets, in elements, of the rows of one head in query, key, value and out.
template <class T>
struct Places {
  const Attention<T>& problem;
  std::int64_t kv_head(std::int64_t head) const { return head / (problem.heads / problem.kv_heads); }
  std::int64_t query(std::int64_t row, std::int64_t head) const {
    return (row * problem.heads + head) * problem.head_dim;
  }
  std::int64_t key(std::int64_t row, std::int64_t head) const {
    return (row * problem.kv_heads + kv_head(head)) * problem.head_dim;
  }
  std::int64_t value(std::int64_t row, std::int64_t head) const {
    return (row * problem.kv_heads + kv_head(head)) * problem.value_dim;
  }
  std::int64_t out(std::int64_t row, std::int64_t head) const {
    return (row * problem.heads + head) * problem.value_dim;
  }
};

// Compute weight = exp(score − lse) for one row of scores, and return lse. For a row of −∞, weights are zero
// and lse is −∞.
template <class T>
T softmax_row(const T* score, std::int64_t keys, T* weight) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T maximum = kNothing;
  for (std::int64_t key = 0; key < keys; ++key) maximum = score[key] > maximum ? score[key] : maximum;
  if (maximum == kNothing) {
    for (std::int64_t key = 0; key < keys; ++key) weight[key] = 0;
    return kNothing;
  }
  T sum = 0;
  for (std::int64_t key = 0; key < keys; ++key) sum += weight[key] = std::exp(score[key] - maximum);
  for (std::int64_t key = 0; key < keys; ++key) weight[key] /= sum;
  return maximum + std::log(sum);
}

template <class T>
T factor(const Attention<T>& problem, std::int64_t head, std::int64_t query, std::int64_t key) {
  return problem.dropout_factor ? problem.dropout_factor(head, query, key) : T(1);
}

}  // namespace detail

template <class T>
AttentionResult<T> attention(const Attention<T>& problem) {
  const detail::Places<T> at{problem};
  AttentionResult<T> result;
  const auto scores = static_cast<std::size_t>(problem.heads * problem.queries * problem.keys);
  result.product.resize(scores);
  result.capped.resize(scores);
  result.score.resize(scores);
  result.weight.resize(scores);
  result.lse.resize(static_cast<std::size_t>(problem.queries * problem.heads));
  result.out.assign(static_cast<std::size_t>(problem.queries * problem.heads * problem.value_dim), T(0));

  detail::for_each_score(problem, [&](std::int64_t head, std::int64_t query, std::int64_t key,
                                      std::size_t i) {
    const T product = problem.scale * detail::dot(problem.query + at.query(query, head),
                                                  problem.key + at.key(key, head), problem.head_dim);
    const T capped = problem.softcap > 0 ? problem.softcap * std::tanh(product / problem.softcap) : product;
    T score = capped;
    if (problem.bias != nullptr)
      score += problem.bias[head * problem.bias_head_stride + query * problem.bias_query_stride + key];
    if (!may_attend(problem, head, query, key)) score = -std::numeric_limits<T>::infinity();
    result.product[i] = product;
    result.capped[i] = capped;
    result.score[i] = score;
  });

  for (std::int64_t head = 0; head < problem.heads; ++head)
    for (std::int64_t query = 0; query < problem.queries; ++query) {
      const std::int64_t row = (head * problem.queries + query) * problem.keys;
      result.lse[static_cast<std::size_t>(query * problem.heads + head)] =
          detail::softmax_row(result.score.data() + row, problem.keys, result.weight.data() + row);
    }

  detail::for_each_score(problem,
                         [&](std::int64_t head, std::int64_t query, std::int64_t key, std::size_t i) {
                           const T weight = result.weight[i] * detail::factor(problem, head, query, key);
                           T* out = result.out.data() + at.out(query, head);
                           const T* value = problem.value + at.value(key, head);
                           for (std::int64_t c = 0; c < problem.value_dim; ++c) out[c] += weight * value[c];
                         });
  return result;
}

// Compute the gradients from out_gradient = d loss / d out [queries, heads, value_dim].
template <class T>
AttentionGradients<T> attention_backward(const Attention<T>& problem, const AttentionResult<T>& result,
                                         const T* out_gradient) {
  const detail::Places<T> at{problem};
  AttentionGradients<T> gradients;
  gradients.query.assign(static_cast<std::size_t>(problem.queries * problem.heads * problem.head_dim), T(0));
  gradients.key.assign(static_cast<std::size_t>(problem.keys * problem.kv_heads * problem.head_dim), T(0));
  gradients.value.assign(static_cast<std::size_t>(problem.keys * problem.kv_heads * problem.value_dim), T(0));
  gradients.bias.assign(result.weight.size(), T(0));
  std::vector<T> weight_gradient(result.weight.size());

  // Backward pass of out = (weight ∘ factor) v.
  detail::for_each_score(
      problem, [&](std::int64_t head, std::int64_t query, std::int64_t key, std::size_t i) {
        const T factor = detail::factor(problem, head, query, key);
        const T* gradient = out_gradient + at.out(query, head);
        weight_gradient[i] =
            factor * detail::dot(gradient, problem.value + at.value(key, head), problem.value_dim);
        T* value_gradient = gradients.value.data() + at.value(key, head);
        for (std::int64_t c = 0; c < problem.value_dim; ++c)
          value_gradient[c] += result.weight[i] * factor * gradient[c];
      });

  // Backward pass of weight = softmax(score): d score = weight ∘ (d weight − Σ d weight ∘ weight).
  for (std::int64_t row = 0; row < problem.heads * problem.queries; ++row) {
    const std::int64_t begin = row * problem.keys;
    const T sum = detail::dot(weight_gradient.data() + begin, result.weight.data() + begin, problem.keys);
    for (std::int64_t key = 0; key < problem.keys; ++key) {
      const auto i = static_cast<std::size_t>(begin + key);
      gradients.bias[i] = result.weight[i] * (weight_gradient[i] - sum);
    }
  }

  // Backward pass of score = cap tanh(scale q k / cap) + bias.
  detail::for_each_score(
      problem, [&](std::int64_t head, std::int64_t query, std::int64_t key, std::size_t i) {
        T gradient = gradients.bias[i] * problem.scale;
        if (problem.softcap > 0) {
          const T bent = result.capped[i] / problem.softcap;
          gradient *= 1 - bent * bent;
        }
        const T* q = problem.query + at.query(query, head);
        const T* k = problem.key + at.key(key, head);
        for (std::int64_t c = 0; c < problem.head_dim; ++c) {
          gradients.query[static_cast<std::size_t>(at.query(query, head) + c)] += gradient * k[c];
          gradients.key[static_cast<std::size_t>(at.key(key, head) + c)] += gradient * q[c];
        }
      });
  return gradients;
}

}  // namespace regard::ops::plain
