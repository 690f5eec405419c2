#include "regard/error.h"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/printable.h"

namespace regard {

Error::Error(ErrorKind kind, std::string message) : Error(kind, std::move(message), {}) {}

Error::Error(ErrorKind kind, std::string message, Place place)
    : kind_(kind), message_(std::move(message)), place_(std::move(place)) {
  compose();
}

Error& Error::at(Place place) {
  place_ = std::move(place);
  return compose();
}

Error& Error::found(std::string text) {
  found_ = std::move(text);
  return compose();
}

Error& Error::expected(std::string text) {
  expected_ = std::move(text);
  return compose();
}

Error& Error::remedy(std::string text) {
  remedy_ = std::move(text);
  return compose();
}

Error& Error::compose() {
  text_.clear();
  if (!place_.file.empty()) {
    text_ += base::printable(place_.file);
    if (place_.line >= 0) text_ += ":" + std::to_string(place_.line);
    if (place_.byte >= 0) text_ += " (byte " + std::to_string(place_.byte) + ")";
    text_ += ": ";
  }
  text_ += base::printable(message_);
  if (!found_.empty() || !expected_.empty()) {
    text_ += " (";
    if (!expected_.empty()) text_ += "expected " + base::printable(expected_);
    if (!found_.empty() && !expected_.empty()) text_ += ", ";
    if (!found_.empty()) text_ += "found " + base::printable(found_);
    text_ += ")";
  }
  if (!remedy_.empty()) text_ += ". " + base::printable(remedy_);
  return *this;
}

const char* name_of(ErrorKind kind) noexcept {
  constexpr const char* kNames[] = {"usage",   "invalid_input", "bad_file",           "io",
                                    "numeric", "cancelled",     "resource_exhausted", "internal"};
  const auto at = static_cast<std::size_t>(kind);
  return at < std::size(kNames) ? kNames[at] : "internal";
}

Error usage_error(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

Error input_error(std::string message) {
  return {ErrorKind::invalid_input, std::move(message)};
}

Error file_error(std::string file, std::string message) {
  return {ErrorKind::bad_file, std::move(message), {std::move(file), -1, -1}};
}

Error cancelled_error(std::string message) {
  return {ErrorKind::cancelled, std::move(message)};
}

Error resource_error(std::string message) {
  return {ErrorKind::resource_exhausted, std::move(message)};
}

Error out_of_memory(std::uint64_t bytes) {
  return resource_error("out of memory: cannot allocate " + std::to_string(bytes) + " bytes");
}

Error caught_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return resource_error("out of memory");
  } catch (const std::system_error& error) {
    // EAGAIN means that the system could not start another thread.
    const int code = error.code().value();
    return {base::is_exhausted(code) || code == EAGAIN ? ErrorKind::resource_exhausted : ErrorKind::io,
            error.what()};
  } catch (const std::exception& error) {
    return {ErrorKind::internal, error.what()};
  } catch (...) {
    return {ErrorKind::internal, "an exception of an unknown type"};
  }
}

}  // namespace regard
