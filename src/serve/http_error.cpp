#include "serve/http_error.h"

namespace regard::serve {
namespace {

HttpError http_error_of(const Error& error) {
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

}  // namespace

ErrorKind kind_of_status(int status) {
  if (status == 413) return ErrorKind::invalid_input;
  if (status == 429 || status == 504) return ErrorKind::resource_exhausted;
  if (status == 503) return ErrorKind::cancelled;
  const bool usage = status < 500 || status == 501;  // 501: the server lacks a start option such as --detect
  return usage ? ErrorKind::usage : ErrorKind::internal;
}

HttpError caught_http_error() {
  try {
    throw;
  } catch (const HttpError& error) {
    return error;
  } catch (...) {
    const Error error = caught_error();
    HttpError found = http_error_of(error);
    found.kind = error.kind();
    return found;
  }
}

}  // namespace regard::serve
