// The sound or image file of a request.
#pragma once

#include "data/image.h"
#include "regard/error.h"
#include "serve/route.h"

namespace regard::serve {

// Call this in a catch block. If `error` is bad_file or io, throws HttpError 400 without the path of the
// in-memory file. Otherwise, rethrows the current exception.
[[noreturn]] void refuse_file(const Error& error);

// Read the image file of the request. Throws HttpError 400 if it is not one image of at most 2^25 pixels.
data::Image read_picture(const Call& call);

}  // namespace regard::serve
