// Reads the body of a request as JSON that is valid under the schema of its route.
#pragma once

#include "serve/route.h"

namespace regard::serve {

// Read the body into call.body and call.files. The body is JSON or, if the route accepts forms, an HTML form.
// Throws HttpError 400 for malformed or invalid content, 415 for another content type.
void read_body(Call& call);

}  // namespace regard::serve
