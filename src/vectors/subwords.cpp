#include "vectors/subwords.h"

#include <string>

namespace regard::vectors {
namespace {

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

}  // namespace

std::uint32_t subword_hash(std::string_view text) noexcept {
  std::uint32_t hash = 2166136261u;
  for (const char byte : text)
    hash = (hash ^ static_cast<std::uint32_t>(static_cast<std::int8_t>(byte))) * 16777619u;
  return hash;
}

void Subwords::buckets_of(std::string_view word, std::vector<std::int64_t>& numbers) const {
  numbers.clear();
  if (buckets <= 0 || word == "</s>") return;
  std::string framed;
  framed.reserve(word.size() + 2);
  framed.append("<").append(word).append(">");
  for (std::size_t begin = 0; begin < framed.size(); ++begin) {
    if (continues(framed[begin])) continue;
    std::size_t end = begin;
    for (int length = 1; length <= longest && end < framed.size(); ++length) {
      do {
        ++end;
      } while (end < framed.size() && continues(framed[end]));
      const bool bracket = length == 1 && (begin == 0 || end == framed.size());
      if (length < shortest || bracket) continue;
      const std::uint32_t hash = subword_hash(std::string_view(framed).substr(begin, end - begin));
      numbers.push_back(static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(buckets)));
    }
  }
}

}  // namespace regard::vectors
