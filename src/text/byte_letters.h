// GPT-2's alphabet: a printable letter for each byte, so that byte-level vocabularies can be written as text.
// Bytes that Latin-1 prints stand for themselves; the others, in order, are U+0100, U+0101, …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace regard::text {

char32_t letter_of_byte(std::uint8_t byte) noexcept;
// The byte whose letter this is, or -1.
int byte_of_letter(char32_t letter) noexcept;

std::string letters_of_bytes(std::string_view bytes);
// Nothing if some code point is no byte's letter.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace regard::text
