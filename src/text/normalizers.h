// The normalizers of tokenizer.json, applied to a text before pre-tokenization.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/aligned_text.h"

namespace regard::text {

// Where a text may be split so that normalising the parts gives the normalised whole: nowhere, before a run
// of spaces that follows a non-space (scan_spaces), or also around ASCII signs (scan_bert).
enum class Locality { none, at_spaces, at_signs };

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  // The same without alignment: write the normalised `text` to `out`. Return whether it still starts with the
  // text's first code point.
  virtual bool rewrite(std::string_view text, std::string& out) const;
  // True only if the text is certainly unchanged; false means unknown.
  virtual bool surely_unchanged(std::string_view) const { return false; }
  virtual Locality locality() const { return Locality::none; }
  // The string that a run of spaces starts with after normalisation.
  virtual std::string_view space_mark() const { return " "; }
};

// From a component with its "type". Throws bad_file with the component's name
// if it is unknown.
std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& file);

// Normalizers implemented in files of their own.
std::unique_ptr<Normalizer> bert_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> precompiled_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> nmt_normalizer();

}  // namespace regard::text
