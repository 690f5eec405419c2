// The pre-tokenizers of tokenizer.json: split a text into words, which the model then tokenizes.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "text/pieces.h"
#include "text/scanners.h"

namespace regard::text {

// Positions where a text may be split so that the words of the parts are the words of the text. `scanner`
// means that the words are the matches of scan(); the other values have the same meaning as in Locality.
enum class Cutting { none, at_spaces, at_signs, scanner };

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
  virtual Cutting cutting() const { return Cutting::none; }
  // scanner of the words; valid if cutting() is `scanner`
  virtual WordScan scan() const { return WordScan::none; }
  // Return true if a normalised text is split before a sequence of spaces that starts with `mark` (see
  // Normalizer::space_mark()).
  virtual bool cuts_at(std::string_view mark) const { return mark == " "; }
};

struct PreTokenizerParts {
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // if null, the whole text is one word
  // True if the final step, which maps bytes to letters, was omitted. The model then receives words as bytes.
  bool letters_left_out = false;
};

// Create a pre-tokenizer from a JSON component with a "type"; null for a null component. If `bytes` is set, a
// ByteLevel step at the end does not map bytes to letters, and letters_left_out is true. Throws bad_file if
// the type is unknown; the error names the type.
PreTokenizerParts read_pre_tokenizer(const Json& json, const std::string& file, bool bytes);

}  // namespace regard::text
