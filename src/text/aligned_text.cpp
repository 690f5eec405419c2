#include "text/aligned_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace regard::text {
namespace {

// Return the number of bytes of the code point that starts with this byte, in valid UTF-8.
std::size_t length_of(char first) noexcept {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

std::u32string AlignedText::code_points() const {
  return utf8::code_points(text_);
}

void AlignedText::transform(std::span<const unicode::Change> changes, std::size_t dropped) {
  std::string text;
  std::vector<Offsets> spans;
  text.reserve(text_.size());
  if (tracked_) spans.reserve(spans_.size());
  std::size_t place = 0;  // byte offset in the old text
  const auto skip = [&](std::size_t count) {
    for (; count > 0 && place < text_.size(); --count) place += length_of(text_[place]);
  };
  skip(dropped);
  for (const unicode::Change& change : changes) {
    Offsets span;
    if (tracked_) {
      if (change.change > 0) {
        span = place == 0 ? Offsets{origin_, origin_} : spans_[place - 1];
      } else {
        span = place < spans_.size() ? spans_[place] : Offsets{origin_, origin_};
      }
    }
    if (change.change <= 0) skip(1 + static_cast<std::size_t>(-change.change));
    const std::size_t before = text.size();
    utf8::append(text, change.value);
    if (tracked_) spans.insert(spans.end(), text.size() - before, span);
  }
  if (!tracked_ && !changes.empty() && dropped > 0) origin_ = 1;
  text_ = std::move(text);
  spans_ = std::move(spans);
}

void AlignedText::prepend(std::string_view prefix) {
  if (text_.empty()) return;
  text_.insert(0, prefix);
  // The prefix gets the input range of the first code point.
  if (tracked_) spans_.insert(spans_.begin(), prefix.size(), Offsets(spans_.front()));
}

void AlignedText::normalize(unicode::Form form) {
  if (unicode::surely_normal(form, text_)) return;
  std::vector<unicode::Change> changes;
  const std::u32string all = code_points();
  if (tracked_) {
    unicode::normalize(form, all, changes);
    return transform(changes);
  }
  // Process the text in blocks, to bound the extra memory.
  constexpr std::size_t kStretch = 4096;
  text_.clear();
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = std::min(all.size(), begin + kStretch);
    while (end < all.size() && !unicode::begins_anew(all[end])) ++end;
    changes.clear();
    unicode::normalize(form, std::u32string_view(all).substr(begin, end - begin), changes);
    for (const unicode::Change& change : changes) utf8::append(text_, change.value);
  }
}

void AlignedText::lowercase() {
  std::vector<unicode::Change> changes;
  changes.reserve(text_.size());
  for (const char32_t c : code_points()) {
    char32_t lower[3];
    const int count = unicode::to_lower(c, lower);
    for (int i = 0; i < count; ++i) changes.push_back({lower[i], i == 0 ? 0 : 1});
  }
  transform(changes);
}

void AlignedText::strip(bool left, bool right) {
  const std::u32string all = code_points();
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && unicode::is_white_space(all[begin])) ++begin;
  while (right && end > begin && unicode::is_white_space(all[end - 1])) --end;
  if (begin == 0 && end == all.size()) return;
  std::vector<unicode::Change> changes;
  for (std::size_t i = begin; i < end; ++i) changes.push_back({all[i], 0});
  transform(changes, begin);
}

void AlignedText::replace(std::span<const Match> matches, std::string_view content) {
  if (std::none_of(matches.begin(), matches.end(), [](const Match& match) { return match.matched; })) return;
  std::string text;
  std::vector<Offsets> spans;
  text.reserve(text_.size());
  for (const Match& match : matches) {
    if (!match.matched) {
      text.append(text_, match.begin, match.end - match.begin);
      if (tracked_) spans.insert(spans.end(), spans_.begin() + match.begin, spans_.begin() + match.end);
      continue;
    }
    text.append(content);
    if (tracked_)
      spans.insert(spans.end(), content.size(),
                   match.end == 0 ? Offsets{origin_, origin_} : spans_[match.end - 1]);
  }
  // The content gets the input range of the last code point of its match, as in Hugging Face's tokenizers.
  const Match& first = matches.front();
  if (!tracked_ && first.matched && first.end > (content.empty() ? 0 : length_of(text_.front()))) origin_ = 1;
  text_ = std::move(text);
  spans_ = std::move(spans);
}

void AlignedText::assign(std::string text, std::span<const std::size_t> places) {
  if (tracked_) {
    const auto input_place = [this](std::size_t place) {
      if (spans_.empty()) return origin_;
      return place < spans_.size() ? spans_[place].begin : spans_.back().end;
    };
    std::vector<Offsets> spans(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      spans[i] = {input_place(places[i]), input_place(places[i + 1])};
    spans_ = std::move(spans);
  }
  text_ = std::move(text);
}

}  // namespace regard::text
