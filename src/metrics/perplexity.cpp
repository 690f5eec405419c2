#include "metrics/perplexity.h"

#include <cmath>
#include <numbers>

#include "base/counted.h"
#include "base/utf8.h"
#include "regard/error.h"

namespace regard::metrics {

double perplexity(double total_negative_log_likelihood, std::int64_t units) {
  if (units <= 0) throw usage_error("perplexity needs at least one token").found(counted(units, "token"));
  return std::exp(total_negative_log_likelihood / static_cast<double>(units));
}

double bits_per_byte(double total_negative_log_likelihood, std::int64_t bytes) {
  if (bytes <= 0) throw usage_error("bits per byte need at least one byte").found(counted(bytes, "byte"));
  return total_negative_log_likelihood / static_cast<double>(bytes) / std::numbers::ln2;
}

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const utf8::Decoded next = utf8::decode(text, at);
    const bool letter = !utf8::is_space(next.value);
    if (letter && !inside) ++words;
    inside = letter;
    at += static_cast<std::size_t>(next.size);
  }
  return words;
}

}  // namespace regard::metrics
