// The pre-tokenizers of tokenizer.json: how a text is cut into the words that the model sees.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "text/pieces.h"
#include "text/scanners.h"

namespace regard::text {

// Where a text may be cut so that its parts, cut each by itself, give the words of the whole: as for
// Locality, or the words are what a scanner finds.
enum class Cutting { none, at_spaces, at_signs, scanner };

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
  virtual Cutting cutting() const { return Cutting::none; }
  virtual WordScan scan() const { return WordScan::none; }  // if cutting() is scanner
  // Whether a normalized text is cut where a run of spaces begins with `mark`.
  virtual bool cuts_at(std::string_view mark) const { return mark == " "; }
};

struct PreTokenizerParts {
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: the whole text is one word
  // The last step was to write bytes as letters, and it was left out: the model is to work on bytes.
  bool letters_left_out = false;
};

// From a component with its "type", or null. Throws bad_file with the component's name if it is unknown. With
// `bytes`, a byte-level step at the end leaves the text in bytes and says so.
PreTokenizerParts read_pre_tokenizer(const Json& json, const std::string& file, bool bytes);

}  // namespace regard::text
