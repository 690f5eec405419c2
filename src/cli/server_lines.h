// Decoding of lines by a running server. Counterpart of decode_lines(), which uses a model folder.
#pragma once

#include "cli/decode_lines.h"
#include "cli/http_client.h"

namespace regard::cli {

// Return the body of a POST /generate request for the options. Throws usage for options that require the
// model's folder.
Json generate_request(const ServerOptions& server, const DecodingOptions& options, const Globals& globals);

// Decode lines as decode_lines() does, but on a server. `request` is sent with the texts of the lines as
// "inputs".
void decode_lines_at(const ServerOptions& server, Json request, const DecodingOptions& options,
                     Globals& globals);

// Generate for --prompt or --chat. The request has "inputs" or "messages"; `shown` is printed before a result
// that continues it.
void generate_one_at(const ServerOptions& server, const Json& request, const std::string& shown,
                     const DecodingOptions& options, Globals& globals);

}  // namespace regard::cli
