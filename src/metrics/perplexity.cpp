#include "metrics/perplexity.h"

#include <cmath>

#include "regard/error.h"

namespace regard::metrics {

double perplexity(double total_negative_log_likelihood, std::int64_t units) {
  if (units <= 0) throw usage_error("perplexity needs at least one token");
  return std::exp(total_negative_log_likelihood / static_cast<double>(units));
}

}  // namespace regard::metrics
