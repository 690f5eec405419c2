#include "text/pieces.h"

#include "base/counted.h"
#include "regard/error.h"

namespace regard::text {

Pieces::Pieces(std::string_view input, bool tracked, bool at_start) : text_(input), tracked_(tracked) {
  if (input.size() >= 0x7FFFFFFF)
    throw input_error("a text to tokenize is too long")
        .found(counted(input.size(), "byte"))
        .expected("less than 2 GiB")
        .remedy("Split it into lines or documents");
  if (!utf8::valid(input)) {
    for (std::size_t i = 0; i < input.size();) {
      const utf8::Decoded part = utf8::decode(input, i);
      const std::size_t before = storage_.size();
      utf8::append(storage_, part.value);
      const std::size_t next = i + static_cast<std::size_t>(part.size);
      if (tracked_)
        spans_.insert(spans_.end(), storage_.size() - before,
                      Offsets{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(next)});
      i = next;
    }
    text_ = storage_;
  }
  if (!text_.empty()) list_.push_back({0, static_cast<std::uint32_t>(text_.size()), at_start ? 0u : 1u, -1});
}

Offsets Pieces::span_of(std::uint32_t begin, std::uint32_t end) const noexcept {
  if (!spans_.empty()) return {spans_[begin].begin, spans_[end - 1].end};
  const auto continues = [this](std::uint32_t place) {
    return place < text_.size() && (static_cast<unsigned char>(text_[place]) & 0xC0u) == 0x80u;
  };
  while (begin > 0 && continues(begin)) --begin;
  while (continues(end)) ++end;
  return {begin, end};
}

AlignedText Pieces::detach(const Piece& piece) const {
  const std::string_view text = text_of(piece);
  if (!tracked_) return {text, {}, piece.origin, false};
  if (!spans_.empty())
    return {text, std::span(spans_).subspan(piece.begin, piece.end - piece.begin), piece.origin, true};
  std::vector<Offsets> spans;
  spans.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto size = static_cast<std::size_t>(utf8::decode(text, i).size);
    const auto begin = piece.begin + static_cast<std::uint32_t>(i);
    spans.insert(spans.end(), size, Offsets{begin, begin + static_cast<std::uint32_t>(size)});
    i += size;
  }
  return {text, spans, piece.origin, true};
}

}  // namespace regard::text
