// A text that can be rewritten, with the range of input bytes that each byte of the text replaces. The ranges
// follow the rules of Hugging Face's NormalizedString, so that offsets are the same as in the reference
// implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"
#include "text/unicode.h"

namespace regard::text {

// A range of a text. `matched` is true if the range matched the pattern that split the text.
struct Match {
  std::uint32_t begin = 0, end = 0;
  bool matched = false;
};

class AlignedText {
 public:
  AlignedText() = default;
  // `spans` has one entry per byte of `text`, or is empty if offsets are not needed. `origin` is the byte
  // offset of `text` in the input. If `tracked` is false, `origin` only needs to be zero at the start of the
  // input, and nonzero elsewhere.
  AlignedText(std::string_view text, std::span<const Offsets> spans, std::uint32_t origin, bool tracked)
      : text_(text), spans_(spans.begin(), spans.end()), origin_(origin), tracked_(tracked) {}

  const std::string& text() const noexcept { return text_; }
  const std::vector<Offsets>& spans() const noexcept { return spans_; }
  std::uint32_t origin() const noexcept { return origin_; }
  bool tracked() const noexcept { return tracked_; }

  // Replace the whole text with the code points of `changes`, which are aligned with the old text as
  // described at unicode::Change. The first `dropped` code points of the old text are removed.
  void transform(std::span<const unicode::Change> changes, std::size_t dropped = 0);
  void prepend(std::string_view prefix);
  void normalize(unicode::Form form);
  void lowercase();
  void strip(bool left, bool right);
  // Replace each matched range with `content`. The ranges of `matches` must cover the text.
  void replace(std::span<const Match> matches, std::string_view content);
  // Replace the text; byte i of the new text replaces the range [places[i], places[i + 1]) of the old text.
  // `places` is used only if offsets are tracked.
  void assign(std::string text, std::span<const std::size_t> places);
  template <class Keep>
  void filter(Keep keep);
  template <class Function>
  void map(Function function);

  std::u32string code_points() const;

 private:
  std::string text_;
  std::vector<Offsets> spans_;
  std::uint32_t origin_ = 0;
  bool tracked_ = true;
};

template <class Keep>
void AlignedText::filter(Keep keep) {
  std::vector<unicode::Change> changes;
  changes.reserve(text_.size());
  std::size_t dropped = 0;
  for (const char32_t c : code_points()) {
    if (keep(c)) {
      changes.push_back({c, 0});
    } else if (changes.empty()) {
      ++dropped;
    } else {
      --changes.back().change;
    }
  }
  transform(changes, dropped);
}

template <class Function>
void AlignedText::map(Function function) {
  std::vector<unicode::Change> changes;
  changes.reserve(text_.size());
  for (const char32_t c : code_points()) changes.push_back({function(c), 0});
  transform(changes);
}

}  // namespace regard::text
