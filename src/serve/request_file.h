// Errors of a sound or image file that a request contains.
#pragma once

#include "regard/error.h"

namespace regard::serve {

// If `error` is bad_file or io, throw HttpError 400; its message omits the path of the server's in-memory
// copy of the file. Otherwise rethrow the current exception. Call in a catch block.
[[noreturn]] void refuse_file(const Error& error);

}  // namespace regard::serve
