// Errors of a sound or image file that a request contains.
#pragma once

#include "regard/error.h"

namespace regard::serve {

// Throw HttpError 400 for a file that cannot be read, without its path in memory; any other error unchanged.
// Call in a catch block.
[[noreturn]] void refuse_file(const Error& error);

}  // namespace regard::serve
