// HTTP/1.1 server (RFC 9112) on one thread, with persistent connections but without pipelining. If proxies
// could interpret a request differently, for example because it has two lengths, the server refuses the
// request and closes the connection (ambiguity_of()).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "serve/http.h"

namespace regard::serve {

struct HttpLimits {
  std::size_t connections = 1024;   // maximum open connections; others get status 503 and are closed
  std::size_t header_bytes = 8192;  // maximum bytes of a request line and header fields
  std::chrono::seconds header{10};  // maximum time from the first byte of a request to the end of its header
  std::chrono::seconds body{60};    // maximum time from the end of the header to the end of the body
  std::chrono::seconds idle{75};    // maximum time to wait for a connection's next request
  std::chrono::seconds send{30};    // maximum time of each write to the socket
  // maximum number of unsent bytes of a response; above it, write() blocks
  std::size_t unsent_bytes = 64 * 1024;
  // Maximum total size, in bytes, of the request bodies above 1 MiB that are in memory. A body that would
  // exceed it gets status 429, unless no other such body is in memory.
  std::size_t large_bodies = std::size_t{512} << 20;
};

// Return false if the program was built without Boost. HttpServer then throws usage.
bool has_http_server();

class HttpServer {
 public:
  // Listen on `address`, a numeric IPv4 or IPv6 address or "localhost"; port 0 selects any free port.
  // `handler` must outlive the server. Throws usage if the address is malformed, and io if it cannot be used.
  HttpServer(const std::string& address, std::uint16_t port, HttpHandler& handler,
             const HttpLimits& limits = {});
  ~HttpServer();  // calls close()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();  // start to accept connections; call it once
  std::uint16_t port() const;
  std::size_t connections() const;
  // Stop accepting connections and close the idle ones. A connection that is processing a request is closed
  // after the response.
  void stop_accepting();
  // Close all connections and end the server's thread. No effect if called again.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regard::serve
