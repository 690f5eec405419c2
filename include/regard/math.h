// Plain tensor arithmetic for f32 matrices and vectors: what the first-principles path is made of. Every
// function returns a new tensor and runs on the library's kernels. It throws usage where shapes do not fit, a
// dtype is not f32, a tensor is undefined or was moved from, or a number is outside its range. Tensors
// without elements are allowed; NaN in gives NaN out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regard/tensor.h"

namespace regard {

Tensor matmul(const Tensor& a, const Tensor& b);             // [m, k] · [k, n] → [m, n]
Tensor matmul_transposed(const Tensor& a, const Tensor& b);  // [m, k] · [n, k]ᵀ → [m, n]
Tensor transpose(const Tensor& a);                           // [m, n] → [n, m]

Tensor add(const Tensor& a, const Tensor& b);  // same shape, or b [n] added to every row of a [m, n]
Tensor scale(const Tensor& a, float factor);

Tensor softmax(const Tensor& a);  // along the last dimension, the maximum subtracted
Tensor layer_norm(const Tensor& a, float epsilon = 1e-5f);  // along the last dimension, gain 1, bias 0

float dot(const Tensor& a, const Tensor& b);                // Σ a_i b_i; one chain of fused multiply-adds
float norm(const Tensor& a);                                // √(a · a)
float cosine_similarity(const Tensor& a, const Tensor& b);  // a · b / (‖a‖ ‖b‖); 0 where either is zero

// mean 0, the given deviation (0 or more); the same numbers for the same seed and name on every machine.
Tensor random_normal(Shape shape, std::uint64_t seed, const std::string& name, float deviation = 1.0f);

// Rows of `table` [n, d] most similar to `query` [d] by dot product, best first: at most `count` row numbers.
// Rows whose product is NaN come last.
std::vector<std::int64_t> most_similar_rows(const Tensor& table, const Tensor& query, std::int64_t count);

// Sinusoidal positions [length, size] (Vaswani et al. 2017, section 3.5): sine in even features, cosine in
// odd ones, wavelengths from 2π to 10000 · 2π.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t size);

bool equal_bits(const Tensor& a, const Tensor& b);           // same shape, dtype and bits; of any dtype
float largest_difference(const Tensor& a, const Tensor& b);  // max |a_i − b_i|; NaN where one is

}  // namespace regard
