// The body of a request as JSON that is valid under its route's schema.
#pragma once

#include "serve/route.h"

namespace regard::serve {

// Read the body into call.body and call.files: JSON or an HTML form if the route accepts forms. Throws
// HttpError 400 for malformed or invalid content, 415 for another type.
void read_body(Call& call);

}  // namespace regard::serve
