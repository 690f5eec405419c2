// Reads the body of a request as JSON that is valid under the schema of its route.
#pragma once

#include "serve/route.h"

namespace regard::serve {

// Read the body into call.body and call.files. The body is JSON or, if the route accepts forms, an HTML form.
// Throws HttpError 400 for malformed or invalid content, and 415 for an unsupported content type or content
// encoding.
void read_body(Call& call);

}  // namespace regard::serve
