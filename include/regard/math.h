// Plain tensor arithmetic for f32 matrices and vectors, used by regard/explain.h; functions that return a
// tensor allocate a new one. Tensors without elements are allowed, and NaN propagates from input to output.
// All functions throw usage if shapes do not match, a dtype is not f32, a tensor is undefined or was moved
// from, or a number is out of range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

REGARD_API Tensor matmul(const Tensor& a, const Tensor& b);             // [m, k] · [k, n] → [m, n]
REGARD_API Tensor matmul_transposed(const Tensor& a, const Tensor& b);  // [m, k] · [n, k]ᵀ → [m, n]
REGARD_API Tensor transpose(const Tensor& a);                           // [m, n] → [n, m]

// Add tensors of the same shape, or b [n] to every row of a [m, n].
REGARD_API Tensor add(const Tensor& a, const Tensor& b);
REGARD_API Tensor scale(const Tensor& a, float factor);

// softmax along the last dimension, after subtracting the maximum
REGARD_API Tensor softmax(const Tensor& a);
// Normalise along the last dimension, with gain 1 and bias 0.
REGARD_API Tensor layer_norm(const Tensor& a, float epsilon = 1e-5f);

// Σ a_i b_i, computed as one chain of fused multiply-adds
REGARD_API float dot(const Tensor& a, const Tensor& b);
REGARD_API float norm(const Tensor& a);  // √(a · a)
// Return a · b / (‖a‖ ‖b‖), or 0 if either vector is zero.
REGARD_API float cosine_similarity(const Tensor& a, const Tensor& b);

// Return normally distributed random numbers with mean 0 and the given standard deviation (0 or more). The
// same shape, seed and name give the same numbers on every machine.
REGARD_API Tensor random_normal(Shape shape, std::uint64_t seed, const std::string& name,
                                float deviation = 1.0f);

// Return the indices of at most `count` rows of `table` [n, d] with the largest dot product with `query` [d],
// best first; rows whose product is NaN come last. `count` must not be negative.
REGARD_API std::vector<std::int64_t> most_similar_rows(const Tensor& table, const Tensor& query,
                                                       std::int64_t count);

// Return sinusoidal positions [length, size] (Vaswani et al. 2017, section 3.5): sine in even features,
// cosine in odd ones, with wavelengths from 2π to 10000 · 2π.
REGARD_API Tensor sinusoidal_positions(std::int64_t length, std::int64_t size);

// Return true if shape, dtype and bits are equal; any dtype is allowed.
REGARD_API bool equal_bits(const Tensor& a, const Tensor& b);
// Return max |a_i − b_i|; NaN if a difference is NaN.
REGARD_API float largest_difference(const Tensor& a, const Tensor& b);

}  // namespace regard
