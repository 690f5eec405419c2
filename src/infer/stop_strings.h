// Texts that end a generation when they have been written.
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
  // Throws usage for an empty text.
  StopStrings(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> texts);

  // Whether the text of `generated` holds one of them that its last token completed; the tokens before it
  // held none. What stands in the prompt does not count.
  bool ended_by(std::span<const std::int32_t> generated) const;

  // Where the first of them begins in `text`, or npos.
  std::size_t find(std::string_view text) const;
  // How many bytes at the end of `text` may be the beginning of one of them.
  std::size_t begun(std::string_view text) const;

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::string> texts_;
  std::size_t window_ = 0;  // tokens whose text holds any of them, if each token has a byte
};

// Text that comes piece by piece, up to the first stop string: what may begin one is held back.
class StopFilter {
 public:
  explicit StopFilter(std::shared_ptr<const StopStrings> stops) : stops_(std::move(stops)) {}  // may be null

  std::string push(std::string_view text);  // what is certain now
  std::string finish();                     // what was held back, unless a stop string came

 private:
  std::shared_ptr<const StopStrings> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace regard::infer
