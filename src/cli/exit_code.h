// Exit code of the program for each kind of error (regard/error.h).
#pragma once

#include "regard/error.h"

namespace regard::cli {

inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::invalid_input:
    case ErrorKind::bad_file:
      return 3;
    case ErrorKind::io:
      return 4;
    case ErrorKind::numeric:
      return 5;
    case ErrorKind::cancelled:
    case ErrorKind::resource_exhausted:
    case ErrorKind::internal:
      break;
  }
  return 1;
}

}  // namespace regard::cli
