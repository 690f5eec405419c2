// Errors of a sound or image file in a request.
#pragma once

#include "regard/error.h"

namespace regard::serve {

// If `error` is bad_file or io, throw HttpError 400. Its message omits the path of the server's in-memory
// copy of the file. Otherwise rethrow the current exception. Call it in a catch block.
[[noreturn]] void refuse_file(const Error& error);

}  // namespace regard::serve
