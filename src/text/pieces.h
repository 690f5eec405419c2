// A text during tokenization: one buffer, and a list of its pieces (texts and added tokens). Until the text
// is rewritten, the buffer is the input itself, and offsets are computed on demand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/aligned_text.h"

namespace regard::text {

struct Piece {
  std::uint32_t begin = 0, end = 0;  // range of the piece in bytes of the buffer
  // byte offset of the piece in the input; if offsets are not tracked, 0 at the start of the input and
  // nonzero elsewhere
  std::uint32_t origin = 0;
  std::int32_t token = -1;  // id of an added token; −1 for text
};

class Pieces {
 public:
  // Start with one piece, which is all of `input`; `input` must outlive this object. Set `at_start` if
  // `input` is the start of the caller's text. Each maximal ill-formed UTF-8 sequence is read as one U+FFFD
  // with the offsets of its bytes.
  Pieces(std::string_view input, bool tracked, bool at_start = true);

  std::string_view text() const noexcept { return text_; }
  std::string_view text_of(const Piece& piece) const noexcept {
    return text_.substr(piece.begin, piece.end - piece.begin);
  }
  const std::vector<Piece>& list() const noexcept { return list_; }
  bool tracked() const noexcept { return tracked_; }
  // Return the range of input bytes for [begin, end) in the buffer; `begin` must be less than `end`.
  Offsets span_of(std::uint32_t begin, std::uint32_t end) const noexcept;

  // Divide each text piece. cut(text, add) must call add(begin, end, token = -1) for each new piece, with
  // offsets relative to the old piece; empty pieces are dropped.
  template <class Cut>
  void split(Cut cut);
  // Call change(AlignedText&) to rewrite each text piece for which unchanged(text) is false.
  template <class Unchanged, class Change>
  void rewrite(Unchanged unchanged, Change change);
  template <class Normalizer>
  void normalize(const Normalizer& normalizer) {
    rewrite([&](std::string_view text) { return normalizer.surely_unchanged(text); },
            [&](AlignedText& text) { normalizer.apply(text); });
  }

 private:
  AlignedText detach(const Piece& piece) const;

  std::string_view text_;
  std::string storage_;
  // input range of each byte of the buffer; empty if offsets are not tracked or if the buffer is the input
  std::vector<Offsets> spans_;
  std::vector<Piece> list_;
  bool tracked_ = true;
};

template <class Cut>
void Pieces::split(Cut cut) {
  std::vector<Piece> after;
  after.reserve(list_.size() + text_.size() / 4);
  for (const Piece& piece : list_) {
    if (piece.token >= 0) {
      after.push_back(piece);
      continue;
    }
    cut(text_of(piece), [&](std::size_t begin, std::size_t end, std::int32_t token = -1) {
      if (begin >= end) return;
      const auto first = piece.begin + static_cast<std::uint32_t>(begin);
      const auto last = piece.begin + static_cast<std::uint32_t>(end);
      const std::uint32_t origin = tracked_ ? span_of(first, last).begin : begin == 0 ? piece.origin : 1;
      after.push_back({first, last, origin, token});
    });
  }
  list_ = std::move(after);
}

template <class Unchanged, class Change>
void Pieces::rewrite(Unchanged unchanged, Change change) {
  bool any = false;
  for (const Piece& piece : list_) any = any || (piece.token < 0 && !unchanged(text_of(piece)));
  if (!any) return;
  std::string storage;
  std::vector<Offsets> spans;
  storage.reserve(text_.size() + text_.size() / 8);
  for (Piece& piece : list_) {
    AlignedText aligned = detach(piece);
    if (piece.token < 0) change(aligned);
    if (!tracked_) piece.origin = aligned.origin();
    piece.begin = static_cast<std::uint32_t>(storage.size());
    storage.append(aligned.text());
    spans.insert(spans.end(), aligned.spans().begin(), aligned.spans().end());
    piece.end = static_cast<std::uint32_t>(storage.size());
  }
  std::erase_if(list_, [](const Piece& piece) { return piece.begin == piece.end; });
  storage_ = std::move(storage);
  spans_ = std::move(spans);
  text_ = storage_;
}

}  // namespace regard::text
