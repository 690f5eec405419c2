#include "base/plain_text.h"

namespace regard::base {

std::string normalize_whitespace(std::string_view text) {
  text = without_byte_order_mark(text);
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t begin = place;
    int spaces = 0;
    for (utf8::Decoded symbol; place < text.size();
         place += static_cast<std::size_t>(symbol.size), ++spaces) {
      symbol = utf8::decode(text, place);
      if (!utf8::is_space(symbol.value)) break;
    }
    if (spaces == 0) {
      const auto size = static_cast<std::size_t>(utf8::decode(text, place).size);
      clean.append(text.substr(place, size));
      place += size;
    } else if (!clean.empty() && place < text.size()) {
      const bool kept = spaces == 1 && static_cast<unsigned char>(text[begin]) >= 0x80;
      clean.append(kept ? text.substr(begin, place - begin) : " ");
    }
  }
  return clean;
}

std::string html_escaped(std::string_view text, bool quotes) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char& c : text)
    escaped += c == '&'             ? "&amp;"
               : c == '<'           ? "&lt;"
               : c == '>'           ? "&gt;"
               : c == '"' && quotes ? "&quot;"
                                    : std::string_view(&c, 1);
  return escaped;
}

}  // namespace regard::base
