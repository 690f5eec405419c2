// Settings of the server, set by the options of `regard serve`.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "infer/sessions.h"
#include "models/weights.h"
#include "serve/http_server.h"

namespace regard::serve {

struct ServedFolder {
  std::string name;  // name of the model in requests
  std::filesystem::path path;
};

// Languages of a translation model, as codes such as "en".
struct Languages {
  std::vector<std::string> sources, targets;
};

struct ServeOptions {
  std::vector<ServedFolder> folders;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // port; 0 selects any free port
  WeightMode weights = WeightMode::stored;
  std::filesystem::path detect;                // folder of the model that detects languages; empty means none
  std::map<std::string, Languages> languages;  // by model name; override the languages found in the folders
  std::string chat_template;  // name of the chat template; empty selects the folder's default template

  // Limits per model. `rows` is the maximum number of sequences of one client that are decoded together; for
  // all clients together, the maximum is a third larger (share.h).
  infer::SessionLimits sessions{.rows = 64,
                                .cache_tokens = 16384,
                                .tokens_at_once = 128,
                                .sessions = 4096,
                                .kept_prefixes = 32,
                                // a key/value cache of at most this size is resident from the start, so that
                                // the memory of the server is constant under load
                                .resident_bytes = std::int64_t{64} << 20};
  std::int64_t most_new_tokens = 2048;  // maximum new tokens of each result
  // maximum requests in progress of one client; the maximum for all clients is a third larger
  std::size_t in_progress = 64;
  std::size_t queue = 256;            // maximum number of waiting requests; additional ones get status 429
  std::chrono::seconds timeout{600};  // maximum time of a request, including waiting
  std::chrono::seconds drain{30};     // maximum time to wait for requests in progress when the server stops
  std::size_t body_bytes = std::size_t{1} << 20, file_bytes = std::size_t{25} << 20;
  std::size_t json_depth = 64;
  HttpLimits http;

  std::filesystem::path api_keys;  // file with one API key per line; empty means that no key is required
  // names accepted in the field Host, in addition to IP addresses and localhost
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> origins;  // web origins that may use the server (CORS); "*" allows all
  std::string access_log = "-";      // file of the access log; "-" means standard error, empty means no log
};

}  // namespace regard::serve
