// Vectors that a running server computes.
#pragma once

#include <memory>

#include "cli/http_client.h"
#include "cli/vector_source.h"

namespace regard::cli {

// `model`: a name on the server. Throws as HttpClient.
std::unique_ptr<VectorSource> server_source(const ServerOptions& server, const std::string& model,
                                            const std::vector<std::string>& interventions, bool truncate);

}  // namespace regard::cli
