// Stop strings: generation ends when the output contains one of these texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace regard::infer {

class StopStrings {
 public:
  // Throws usage if a text is empty.
  StopStrings(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> texts);

  // Return true if the last token of `generated` completes a stop string. The tokens before the last one must
  // not contain a stop string. `generated` follows `prompt`; a stop string in `prompt` has no effect.
  bool ended_by(std::span<const std::int32_t> prompt, std::span<const std::int32_t> generated) const;

  // Return the position of the first stop string in `text`, or npos.
  std::size_t find(std::string_view text) const;
  // Return the length in bytes of the longest suffix of `text` that is a proper prefix of a stop string.
  std::size_t begun(std::string_view text) const;

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  // number of last tokens that ended_by() decodes: the size in bytes of the longest stop string, plus a
  // margin; each token has at least one byte
  std::size_t window_ = 0;
};

// Forwards streamed text up to the first stop string. Withholds a suffix that may be the start of a stop
// string.
class StopFilter {
 public:
  // `stops` may be null
  explicit StopFilter(std::shared_ptr<const StopStrings> stops) : stops_(std::move(stops)) {}

  std::string push(std::string_view text);  // return the text that cannot be part of a stop string
  std::string finish();                     // return the withheld text; empty after a stop string

 private:
  std::shared_ptr<const StopStrings> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace regard::infer
