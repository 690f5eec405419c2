// The normalizers of tokenizer.json: what is done to a text before it is cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/aligned_text.h"

namespace regard::text {

// Where a text may be cut so that its parts, normalised each by itself, are the
// normalised whole: nowhere, before a run of spaces that something solid
// precedes (scan_spaces), or also around ASCII signs (scan_bert).
enum class Locality { none, at_spaces, at_signs };

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  // The same without alignment: writes the normalised `text` to `out`. Returns
  // whether it still begins with the text's first code point.
  virtual bool rewrite(std::string_view text, std::string& out) const;
  // Whether the text would certainly stay as it is; false says nothing.
  virtual bool surely_unchanged(std::string_view) const { return false; }
  virtual Locality locality() const { return Locality::none; }
};

// From a component with its "type". Throws bad_file with the component's name
// if it is unknown.
std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& file);

// Those with a file of their own.
std::unique_ptr<Normalizer> bert_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> precompiled_normalizer(const Json& json, const std::string& file);
std::unique_ptr<Normalizer> nmt_normalizer();

}  // namespace regard::text
