// Vectors computed by a running server.
#pragma once

#include <memory>

#include "cli/http_client.h"
#include "cli/vector_source.h"

namespace regard::cli {

// `model` is a name on the server. Throws the errors of HttpClient.
std::unique_ptr<VectorSource> server_source(const ServerOptions& server, const std::string& model,
                                            const std::vector<std::string>& interventions, bool truncate);

}  // namespace regard::cli
