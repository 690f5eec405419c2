// Lines decoded by a running server: what decode_lines() does with a folder.
#pragma once

#include "cli/decode_lines.h"
#include "cli/http_client.h"

namespace regard::cli {

// Return the members of POST /generate for the options. Throws usage for options that need the model's
// folder.
Json generate_request(const ServerOptions& server, const DecodingOptions& options, const Globals& globals);

// As decode_lines(); `request` is sent with the texts of the lines as "inputs".
void decode_lines_at(const ServerOptions& server, Json request, const DecodingOptions& options,
                     Globals& globals);

// As the verbs with --prompt or --chat: the request has "inputs" or "messages"; `shown` is printed before the
// result.
void generate_one_at(const ServerOptions& server, const Json& request, const std::string& shown,
                     const DecodingOptions& options, Globals& globals);

}  // namespace regard::cli
