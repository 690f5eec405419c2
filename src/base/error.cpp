#include "regard/error.h"

#include <utility>

namespace regard {

Error::Error(ErrorKind kind, std::string message) : Error(kind, std::move(message), {}) {}

Error::Error(ErrorKind kind, std::string message, Place place)
    : kind_(kind), message_(std::move(message)), place_(std::move(place)) {
  compose();
}

Error& Error::at(Place place) {
  place_ = std::move(place);
  compose();
  return *this;
}

Error& Error::found(std::string text) {
  found_ = std::move(text);
  compose();
  return *this;
}

Error& Error::expected(std::string text) {
  expected_ = std::move(text);
  compose();
  return *this;
}

Error& Error::remedy(std::string text) {
  remedy_ = std::move(text);
  compose();
  return *this;
}

namespace {

// Texts from files end up on terminals: control characters are written as escapes, and a part that fills
// screens is cut.
std::string printable(const std::string& text) {
  constexpr std::size_t kLongest = 600;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    const bool continues = (byte & 0xC0u) == 0x80u;
    if (result.size() >= kLongest && !continues)
      return result + "… (" + std::to_string(text.size()) + " bytes)";
    // U+0080 to U+009F are control characters too, in two bytes of UTF-8.
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

}  // namespace

void Error::compose() {
  text_.clear();
  if (!place_.file.empty()) {
    text_ += printable(place_.file);
    if (place_.line >= 0) text_ += ":" + std::to_string(place_.line);
    if (place_.byte >= 0) text_ += " (byte " + std::to_string(place_.byte) + ")";
    text_ += ": ";
  }
  text_ += printable(message_);
  if (!found_.empty() || !expected_.empty()) {
    text_ += " (";
    if (!found_.empty()) text_ += "found " + printable(found_);
    if (!found_.empty() && !expected_.empty()) text_ += "; ";
    if (!expected_.empty()) text_ += "expected " + printable(expected_);
    text_ += ")";
  }
  if (!remedy_.empty()) text_ += ". " + printable(remedy_);
}

Error usage_error(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

Error file_error(std::string file, std::string message) {
  return {ErrorKind::bad_file, std::move(message), {std::move(file), -1, -1}};
}

}  // namespace regard
