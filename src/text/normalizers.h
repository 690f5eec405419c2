// The normalizers of tokenizer.json, applied to a text before pre-tokenization.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/aligned_text.h"

namespace regard::text {

// Positions where a text may be split so that normalising the parts has the same result as normalising the
// whole text. `at_spaces` allows positions before spaces that follow another character (scan_spaces);
// `at_signs` also allows positions before and after ASCII punctuation (scan_bert).
enum class Locality { none, at_spaces, at_signs };

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  // Normalise without alignment: write the normalised `text` to `out`. Returns true if the result still
  // starts with the text's first code point.
  virtual bool rewrite(std::string_view text, std::string& out) const;
  // Return true only if normalisation certainly does not change the text. False means unknown.
  virtual bool surely_unchanged(std::string_view) const { return false; }
  virtual Locality locality() const { return Locality::none; }
  // Return the string with which a normalised sequence of spaces starts. Default: a space.
  virtual std::string_view space_mark() const { return " "; }
};

// Create a normalizer from a JSON component with a "type". Throws bad_file if the type is unknown; the error
// names the type.
std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& file);

// Normalizers that are implemented in separate files.
std::unique_ptr<Normalizer> bert_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> precompiled_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> nmt_normalizer();

}  // namespace regard::text
