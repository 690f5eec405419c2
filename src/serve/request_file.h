// The sound or image file of a request.
#pragma once

#include "data/image.h"
#include "regard/error.h"
#include "serve/route.h"

namespace regard::serve {

// If `error` is bad_file or io, throw HttpError 400. Its message omits the path of the server's in-memory
// copy of the file. Otherwise rethrow the current exception. Call it in a catch block.
[[noreturn]] void refuse_file(const Error& error);

// Read the image file of the request. Throws HttpError 400 if it is not one image of at most 2^25 pixels.
data::Image read_picture(const Call& call);

}  // namespace regard::serve
