#include "regard/error.h"

#include <utility>

#include "base/printable.h"

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
    if (!expected_.empty()) text_ += "expected " + printable(expected_);
    if (!found_.empty() && !expected_.empty()) text_ += ", ";
    if (!found_.empty()) text_ += "found " + printable(found_);
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
