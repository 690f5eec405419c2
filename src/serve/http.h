// The server's HTTP interface: requests, responses, and exchanges, each of which joins a request to its
// response. Routes and protocols use only these types. http_server.cpp implements them; only
// http_connection.cpp includes Boost.Beast.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regard::serve {

using HttpFields = std::vector<std::pair<std::string, std::string>>;  // names in lower case

// A complete request. Its size is bounded by HttpLimits.
struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // percent-decoded, without the query
  std::string query;   // the query, not decoded
  HttpFields fields;
  std::string body;
  std::string client;                         // the peer's address, without the port
  std::shared_ptr<const void> reserved = {};  // the server's memory for a large body

  std::string_view field(std::string_view name) const;  // the first value; "" if there is none
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpFields fields = {};
};

// One request and its response. Threads: every function may be called from any thread. Exactly one response
// is sent: either send(), or begin(), any number of write() and end(). If the exchange is destroyed before,
// the connection is closed.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  // Add a field to the response. Call before send() or begin().
  virtual void add_field(std::string name, std::string value) = 0;
  virtual void send(HttpResponse response) = 0;
  // Begin a response of unknown length (chunked; for HTTP/1.0 it ends with the connection).
  virtual void begin(HttpResponse head) = 0;
  // Send a part. Blocks until the client has received earlier parts. Returns false if the client has
  // disconnected.
  virtual bool write(std::string_view part) = 0;
  virtual void end() = 0;
  // Wait until the client has received almost all of the response, or has disconnected. The connection is
  // closed at `deadline`. A handler that calls it holds its place while a large response is in memory. Must
  // not be called on the server's thread.
  virtual void wait_until_received(std::chrono::steady_clock::time_point deadline) = 0;

  virtual bool gone() const = 0;  // true if the client closed the connection or was disconnected
  // Call `callback` once, on the server's thread, when the client disconnects; immediately if it already
  // has.
  virtual void when_gone(std::function<void()> callback) = 0;

  // Totals for the log, valid at any time.
  virtual int status() const = 0;                // 0: no response yet
  virtual std::uint64_t bytes_sent() const = 0;  // bytes of bodies that were sent
};

// Interface that the server calls for requests. Functions are called on the server's thread and must return
// quickly.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Return the maximum size of a request's body in bytes.
  virtual std::size_t body_limit(std::string_view method, std::string_view path) const = 0;
  virtual void handle(std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpExchange> exchange) = 0;
  // Return the response to a request that is refused before it is complete: malformed, too large or too
  // slow.
  virtual HttpResponse refuse(int status, const std::string& message) = 0;
};

}  // namespace regard::serve
