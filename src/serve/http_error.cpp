#include "serve/http_error.h"

#include "regard/error.h"

namespace regard::serve {

HttpError caught_http_error() {
  try {
    throw;
  } catch (const HttpError& error) {
    return error;
  } catch (...) {
    const Error error = caught_error();
    switch (error.kind()) {
      case ErrorKind::usage:
      case ErrorKind::invalid_input:
        return {400, error.what(), "invalid_request"};
      case ErrorKind::resource_exhausted:
        return {400, error.what(), "request_too_large"};
      case ErrorKind::cancelled:
        return {503, error.what(), "cancelled"};
      case ErrorKind::bad_file:
      case ErrorKind::io:
      case ErrorKind::numeric:
      case ErrorKind::internal:
        break;
    }
    return {500, error.what(), "internal_error"};
  }
}

}  // namespace regard::serve
