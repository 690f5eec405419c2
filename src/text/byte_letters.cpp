#include "text/byte_letters.h"

#include <array>
#include <vector>

#include "base/utf8.h"
#include "text/aligned_text.h"
#include "text/unicode.h"

namespace regard::text {
namespace {

constexpr bool printed_by_latin1(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<char32_t, 256> letters{};
  std::array<std::int16_t, 512> bytes{};
};

constexpr ByteAlphabet kAlphabet = [] {
  ByteAlphabet alphabet;
  for (auto& byte : alphabet.bytes) byte = -1;
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t letter = printed_by_latin1(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.letters[static_cast<std::size_t>(byte)] = letter;
    alphabet.bytes[letter] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

char32_t letter_of_byte(std::uint8_t byte) noexcept {
  return kAlphabet.letters[byte];
}

int byte_of_letter(char32_t letter) noexcept {
  return letter < kAlphabet.bytes.size() ? kAlphabet.bytes[letter] : -1;
}

std::string letters_of_bytes(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() * 2);
  for (const char byte : bytes) utf8::append(letters, letter_of_byte(static_cast<std::uint8_t>(byte)));
  return letters;
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size());
  for (std::size_t i = 0; i < letters.size();) {
    const utf8::Decoded letter = utf8::decode(letters, i);
    const int byte = letter.valid ? byte_of_letter(letter.value) : -1;
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    i += static_cast<std::size_t>(letter.size);
  }
  return bytes;
}

void to_byte_letters(AlignedText& text) {
  std::vector<unicode::Change> changes;
  changes.reserve(text.text().size());
  for (const char byte : text.text()) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
    changes.push_back({letter_of_byte(static_cast<std::uint8_t>(byte)), continues ? 1 : 0});
  }
  text.transform(changes);
}

}  // namespace regard::text
