#include "base/printable.h"

namespace regard::base {

std::string printable(std::string_view text, std::size_t longest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    // Do not cut within a character: append at most three more continuation bytes. Text that is not UTF-8 may
    // have any number of them in a row.
    const bool continues = (byte & 0xC0u) == 0x80u && result.size() < longest + 3;
    if (result.size() >= longest && !continues)
      return result + "… (" + std::to_string(text.size()) + " bytes)";
    // U+0080 to U+009F are also control characters. UTF-8 encodes them in two bytes.
    const bool second_control = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
    if (byte >= 0x20 && byte != 0x7F && !second_control) {
      result += text[i];
      continue;
    }
    result += second_control ? "\\u00" : "\\x";
    const unsigned shown = second_control ? next : byte;
    result += kDigits[shown >> 4];
    result += kDigits[shown & 15];
    if (second_control) ++i;
  }
  return result;
}

}  // namespace regard::base
