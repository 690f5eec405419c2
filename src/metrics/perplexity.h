// Perplexity (Jelinek et al. 1977): the exponential of the mean negative log-likelihood.
#pragma once

#include <cstdint>

namespace regard::metrics {

// exp(total_negative_log_likelihood / units), in nats; infinite on overflow. Throws usage if units < 1.
double perplexity(double total_negative_log_likelihood, std::int64_t units);

}  // namespace regard::metrics
