#include "serve/request_file.h"

#include <string>

#include "serve/http_error.h"

namespace regard::serve {

void refuse_file(const Error& error) {
  if (error.kind() != ErrorKind::bad_file && error.kind() != ErrorKind::io) throw;
  std::string message = error.message();
  if (!error.expected().empty()) message += ", expected " + error.expected();
  if (!error.found().empty()) message += ", found " + error.found();
  throw HttpError(400, "the file cannot be read: " + message, "invalid_file", "file");
}

}  // namespace regard::serve
