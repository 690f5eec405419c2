#include "text/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/byte_letters.h"
#include "text/decoders.h"

namespace regard::text {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

// Return true if the decoder contains a component of this type.
bool decoder_has(const Json& decoder, std::string_view type) {
  if (!decoder.is_object()) return false;
  if (decoder.value("type", "") == type) return true;
  const auto parts = decoder.find("decoders");
  return parts != decoder.end() &&
         std::any_of(parts->begin(), parts->end(), [&](const Json& part) { return decoder_has(part, type); });
}

// Light background colours in the 256-colour palette; the text is black.
constexpr std::array<int, 6> kBackgrounds = {153, 158, 223, 183, 229, 217};

std::string coloured(const std::string& text, std::size_t index, bool special) {
  if (special) return fmt::format("\x1b[2m{}\x1b[0m", text);
  return fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", kBackgrounds[index % kBackgrounds.size()], text);
}

std::string padded(std::string text, int width) {
  const int missing = width - utf8::width(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

}  // namespace

std::string bytes_of_token(const Tokenizer& tokenizer, std::int32_t id) {
  std::string token = tokenizer.token_of(id);
  if (tokenizer.is_special(id)) return token;
  const Json none;
  const auto found = tokenizer.description().find("decoder");
  const Json& decoder = found != tokenizer.description().end() ? *found : none;
  if (decoder_has(decoder, "ByteLevel")) return bytes_of_letters(token).value_or(token);
  if (const int byte = byte_of_name(token); byte >= 0 && decoder_has(decoder, "ByteFallback"))
    return std::string(1, static_cast<char>(byte));
  if (decoder_has(decoder, "Metaspace") || decoder_has(decoder, "Replace"))
    for (std::size_t place = 0; (place = token.find(kSpaceMark, place)) != std::string::npos; ++place)
      token.replace(place, kSpaceMark.size(), " ");
  return token;
}

std::string make_visible(std::string_view bytes) {
  if (bytes.empty()) return "\u2205";
  std::string text, broken;
  const auto flush = [&] {
    if (!broken.empty()) text.append(fmt::format("\u2039{}\u203A", broken));
    broken.clear();
  };
  for (std::size_t i = 0; i < bytes.size();) {
    const utf8::Decoded symbol = utf8::decode(bytes, i);
    const std::string_view part = bytes.substr(i, static_cast<std::size_t>(symbol.size));
    i += part.size();
    if (!symbol.valid) {
      for (const char byte : part) broken.append(fmt::format("{:02X}", static_cast<unsigned char>(byte)));
      continue;
    }
    flush();
    if (symbol.value == ' ') {
      text.append("\u00B7");
    } else if (symbol.value == '\n') {
      text.append("\u21B5");
    } else if (symbol.value == '\t') {
      text.append("\u21E5");
    } else if (symbol.value < 0x20 || (symbol.value >= 0x7F && symbol.value < 0xA0)) {
      text.append(fmt::format("\\x{:02X}", static_cast<unsigned>(symbol.value)));
    } else {
      text.append(part);
    }
  }
  flush();
  return text;
}

std::string pieces_view(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, int columns,
                        bool colour) {
  std::string view, pieces, numbers;
  int used = 0;
  const auto flush = [&] {
    if (used == 0) return;
    for (std::string* line : {&pieces, &numbers})
      while (line->ends_with(' ')) line->pop_back();
    view.append(pieces).append("\n").append(numbers).append("\n");
    pieces.clear();
    numbers.clear();
    used = 0;
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string piece = make_visible(bytes_of_token(tokenizer, ids[i]));
    const std::string number = std::to_string(ids[i]);
    const int width = std::max(utf8::width(piece), static_cast<int>(number.size()));
    if (used > 0 && used + 1 + width > columns) flush();
    if (used > 0) {
      pieces.push_back(' ');
      numbers.push_back(' ');
      ++used;
    }
    pieces.append(colour ? coloured(piece, i, tokenizer.is_special(ids[i])) : piece);
    pieces.append(static_cast<std::size_t>(width - utf8::width(piece)), ' ');
    numbers.append(padded(number, width));
    used += width;
  }
  flush();
  return view;
}

}  // namespace regard::text
