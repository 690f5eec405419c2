// Word error rate and character error rate of transcripts: substitutions, deletions and insertions of the
// cheapest alignment (Levenshtein 1966) over the length of the reference, as jiwer computes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace regard::metrics {

struct Errors {
  std::int64_t errors = 0, length = 0;  // edits; words or characters of the reference

  // errors / length; without a reference 0 or, with errors, 1.
  double rate() const {
    if (length == 0) return errors == 0 ? 0.0 : 1.0;
    return static_cast<double>(errors) / static_cast<double>(length);
  }
  Errors& operator+=(const Errors& more) {
    errors += more.errors, length += more.length;
    return *this;
  }
};

// Words are separated by white space. Case, punctuation and accents are compared.
Errors word_errors(const std::string& output, const std::string& reference);
// Characters are code points, spaces included; white space around a text is dropped.
Errors character_errors(const std::string& output, const std::string& reference);

// Sums over pairs of equal index.
Errors word_errors(std::span<const std::string> outputs, std::span<const std::string> references);
Errors character_errors(std::span<const std::string> outputs, std::span<const std::string> references);

}  // namespace regard::metrics
