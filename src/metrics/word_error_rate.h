// Word error rate and character error rate of transcripts, as jiwer computes them. A rate is the number of
// edits of the best alignment (Levenshtein 1966) divided by the length of the reference.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace regard::metrics {

struct Errors {
  std::int64_t errors = 0, length = 0;  // number of edits; number of words or characters in the reference

  // Return errors / length. If the reference is empty, return 0 if there are no errors, otherwise 1.
  double rate() const {
    if (length == 0) return errors == 0 ? 0.0 : 1.0;
    return static_cast<double>(errors) / static_cast<double>(length);
  }
  Errors& operator+=(const Errors& more) {
    errors += more.errors, length += more.length;
    return *this;
  }
};

// Compare two texts word by word. Words are separated by white space. Case, punctuation and accents count as
// differences.
Errors word_errors(const std::string& output, const std::string& reference);
// Compare two texts by code points, including spaces. White space at both ends of a text is ignored.
Errors character_errors(const std::string& output, const std::string& reference);

// Return the sums over all pairs (outputs[i], references[i]). Throws usage if the numbers of texts differ.
Errors word_errors(std::span<const std::string> outputs, std::span<const std::string> references);
Errors character_errors(std::span<const std::string> outputs, std::span<const std::string> references);

}  // namespace regard::metrics
