// HTTP client for --server: sends JSON requests to a running `regard serve`, over one connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/verb.h"
#include "inspect/intervention_warning.h"

namespace regard::cli {

struct ServerOptions {
  std::string url;       // URL of the server; empty without --server
  std::string key_file;  // file whose first line is the API key; empty if there is none

  bool given() const { return !url.empty(); }
  // Throws usage if --server is given and `set` is true, because `option` cannot be combined with it.
  void exclude(bool set, const char* option) const;
};

void add_server_options(CLI::App& verb, ServerOptions& options);

class HttpClient {
 public:
  // Throws usage for a URL that is not http://HOST[:PORT][/PATH], and io if the key file cannot be read.
  explicit HttpClient(const ServerOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Send the body and return the response's JSON; while the server is busy or loading (429, 503), wait and
  // repeat the request. If the server refuses the request (another 4xx status), throws an error of the kind
  // named in the response: invalid_input, resource_exhausted or usage. Throws io if the server fails, cannot
  // be reached or sends a malformed response, and Stopped after a stop signal.
  Json post(const std::string& path, const Json& body);

  // Call post() and return the result of `read` for the response's JSON. Also throws io if a member that
  // `read` requires is missing or has another type.
  template <class Read>
  auto post(const std::string& path, const Json& body, const Read& read) {
    const Json json = post(path, body);
    try {
      return read(json);
    } catch (const Json::exception&) {
      throw malformed();
    }
  }
  Error malformed() const;  // return the error for a malformed response
  // Print the warnings that every response contained, such as the warning that an intervention changed
  // nothing.
  void print_warnings() const;

 private:
  struct Response {
    int status = 0, retry_after = 1;
    std::string body;
  };
  void connect();
  void disconnect();
  Response exchange(const std::string& request);
  void send_all(const std::string& bytes);
  Response receive();
  bool read_more();
  Error failed(const std::string& what) const;
  Json json_of(const std::string& body) const;
  void keep_warnings(const Json& response);

  std::string url_, host_, port_, base_, key_;
  int socket_ = -1;
  std::string received_;
  // warnings that every response so far contained; unset before the first one
  std::optional<std::vector<inspect::InterventionWarning>> warnings_;
};

}  // namespace regard::cli
