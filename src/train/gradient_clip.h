// Clipping of gradients by their global norm.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "ops/parameter.h"

namespace regard::train {

enum class NormType { two, one, infinity };

// Return the norm of the gradients of all trainable parameters together, computed in double in a fixed order.
// The result is not finite if any gradient is not finite.
double gradient_norm(ThreadPool& pool, std::span<Parameter* const> parameters, NormType type = NormType::two);

// Compute the norm from parts: norm_part() returns the part of one trainable parameter, and norm_of_parts()
// combines the parts. The result is bit-identical to gradient_norm() if the parts are in the order of the
// parameters.
double norm_part(ThreadPool& pool, const Parameter& parameter, NormType type);
double norm_of_parts(std::span<const double> parts, NormType type);

// Return the factor that reduces gradients of norm `norm` to a norm of at most `max_norm`: min(1, max_norm /
// (norm + 1e-6)), as in torch. Returns 1 if max_norm is 0.
double clip_factor(double norm, double max_norm);

}  // namespace regard::train
