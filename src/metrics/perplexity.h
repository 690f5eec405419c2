// Perplexity (Jelinek et al. 1977): the exponential of the mean negative log-likelihood. It is computed per
// token and, to compare models with different tokenizers, per word and per byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace regard::metrics {

// Return exp(total / units) for a total in nats; infinity on overflow. Throws usage if units < 1.
double perplexity(double total_negative_log_likelihood, std::int64_t units);

// Return log2 of the perplexity per byte. Throws usage if bytes < 1.
double bits_per_byte(double total_negative_log_likelihood, std::int64_t bytes);

// Return the number of words: maximal sequences of characters that are not white space (Python's
// str.split()).
std::int64_t count_words(std::string_view text);

}  // namespace regard::metrics
