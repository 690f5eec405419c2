// Exception that a route throws to send an error response with an HTTP status.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "regard/error.h"

namespace regard::serve {

// Return the kind of an error from its status: invalid_input for 413, resource_exhausted for 429 and 504,
// cancelled for 503, usage for 501 and other 4xx, and internal for the rest.
ErrorKind kind_of_status(int status);

class HttpError : public std::exception {
 public:
  // `code` is a machine-readable name, such as "model_not_found"; `parameter` is the name of the invalid
  // member of the request. Both may be empty.
  HttpError(int status, std::string message, std::string code = {}, std::string parameter = {})
      : kind(kind_of_status(status)),
        status_(status),
        message_(std::move(message)),
        code_(std::move(code)),
        parameter_(std::move(parameter)) {}

  int status() const { return status_; }
  const std::string& message() const { return message_; }
  const std::string& code() const { return code_; }
  const std::string& parameter() const { return parameter_; }
  int retry_after = 0;  // value of the field Retry-After in seconds; 0 means no such field
  std::string allow;    // methods of the path, for the Allow field of status 405
  // The kind is part of the error body of regard's own routes. With it, a client can distinguish a wrong
  // input (invalid_input) from a wrong option (usage).
  ErrorKind kind;
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int status_;
  std::string message_, code_, parameter_;
};

// Return the HttpError that is being handled, or convert another exception to one; call it within a catch
// block. Converted errors of the request (usage, invalid_input, resource_exhausted) have status 400,
// cancelled requests 503, and all other errors 500.
HttpError caught_http_error();

}  // namespace regard::serve
