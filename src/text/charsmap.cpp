#include "text/charsmap.h"

#include <cstring>

#include "regard/error.h"

namespace regard::text {
namespace {

// A unit of the double array contains a label, the offset of its children, and whether it has a value.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1u) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFu;
}
std::uint32_t offset_of(std::uint32_t unit) {
  return unit >> 10 << ((unit & 0x200u) >> 6);
}

}  // namespace

CharsMap::CharsMap(std::string_view blob, const std::string& file) {
  if (blob.empty()) return;
  std::uint32_t trie_size = 0;
  // the file and all supported machines are little-endian
  if (blob.size() >= 4) std::memcpy(&trie_size, blob.data(), 4);
  if (blob.size() < 4 || trie_size % 4 != 0 || trie_size == 0 || trie_size > blob.size() - 4)
    throw file_error(file, "precompiled_charsmap is damaged: wrong size of the trie")
        .found(std::to_string(trie_size) + " in " + std::to_string(blob.size()) + " bytes")
        .expected("a positive multiple of 4 that fits into the data");
  units_.resize(trie_size / 4);
  std::memcpy(units_.data(), blob.data() + 4, trie_size);
  replacements_ = blob.substr(4 + trie_size);
  replacements_.push_back('\0');  // a final NUL, so that every replacement in the block is terminated
}

bool CharsMap::reaches_over_spaces() const noexcept {
  for (std::size_t place = 1; place < units_.size(); ++place) {
    const std::uint32_t label = label_of(units_[place]);
    if (label == 0 || label > 0xFF) continue;  // the unit is unused or contains a value
    const std::size_t by_space = place ^ offset_of(units_[place]) ^ ' ';
    if (by_space < units_.size() && label_of(units_[by_space]) == ' ') return true;
  }
  return false;
}

std::optional<CharsMap::Rule> CharsMap::find(std::string_view text, bool longest) const noexcept {
  std::optional<Rule> found;
  if (units_.empty()) return found;
  std::size_t place = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte == 0) break;
    place ^= byte;
    if (place >= units_.size() || label_of(units_[place]) != byte) break;
    const std::uint32_t unit = units_[place];
    place ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (place >= units_.size()) break;
    const std::size_t begin = value_of(units_[place]);
    if (begin >= replacements_.size()) break;
    found = Rule{i + 1, std::string_view(replacements_.c_str() + begin)};
    if (!longest) break;
  }
  return found;
}

}  // namespace regard::text
