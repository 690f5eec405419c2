// GPT-2's byte alphabet: one printable letter for each byte, so that byte-level vocabularies can be written
// as text. Printable Latin-1 bytes map to themselves; the other bytes map in order to U+0100, U+0101, …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace regard::text {

class AlignedText;

char32_t letter_of_byte(std::uint8_t byte) noexcept;
// Return the byte that the letter represents, or -1 if there is none.
int byte_of_letter(char32_t letter) noexcept;

std::string letters_of_bytes(std::string_view bytes);
// Replace each byte of the text with its letter. A letter gets the offsets of the character that contains the
// byte.
void to_byte_letters(AlignedText& text);
// Return the bytes that the letters represent; nullopt if a code point is not the letter of a byte.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace regard::text
