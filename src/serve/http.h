// The server's HTTP interface: requests, responses and exchanges (a request with its response). Routes and
// protocols use only these types; http_server.cpp and http_connection.cpp implement them with Boost.
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

// pairs of name and value; names are in lower case
using HttpFields = std::vector<std::pair<std::string, std::string>>;

// A complete request. HttpLimits limits its size.
struct HttpRequest {
  std::string method;  // method, such as "GET"
  std::string path;    // percent-decoded, without the query
  std::string query;   // the part after "?", not decoded
  HttpFields fields;
  std::string body;
  std::string client;                         // the client's address, without the port
  std::shared_ptr<const void> reserved = {};  // reservation of memory for a large body (large_bodies.h)

  // value of the first field with this name; "" if there is none
  std::string_view field(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpFields fields = {};
};

// One request and its response; thread-safe. Send the response with send(), or in parts with begin(), write()
// and end(). The connection is closed if the exchange is destroyed before the response is complete.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  // Add a field to the response. Call before send() or begin().
  virtual void add_field(std::string name, std::string value) = 0;
  virtual void send(HttpResponse response) = 0;
  // Begin a response of unknown length. The body is sent in chunks; for HTTP/1.0, it ends when the connection
  // is closed.
  virtual void begin(HttpResponse head) = 0;
  // Append `part` to the body; block while HttpLimits::unsent_bytes or more bytes are unsent. Returns false
  // if the client has disconnected.
  virtual bool write(std::string_view part) = 0;
  virtual void end() = 0;
  // Wait until at most HttpLimits::unsent_bytes bytes are unsent or the client has disconnected. At
  // `deadline`, close the connection. Do not call this on the server's thread.
  virtual void wait_until_received(std::chrono::steady_clock::time_point deadline) = 0;

  virtual bool gone() const = 0;  // true if the client closed the connection or was disconnected
  // Call `callback` once, on the server's thread, when the client disconnects. If the client has already
  // disconnected, call it immediately. When the returned object is destroyed, the callback is removed, unless
  // its call has already begun.
  [[nodiscard]] virtual std::shared_ptr<const void> when_gone(std::function<void()> callback) = 0;

  // status() and bytes_sent() are for the log and may be called at any time. status() returns the HTTP status
  // of the response; 0 if there is none yet, or if the client disconnected before it.
  virtual int status() const = 0;
  virtual std::uint64_t bytes_sent() const = 0;  // bytes of the body passed to send() and write(); 0 for HEAD
};

// The interface that the server calls for each request. Its functions are called on the server's thread and
// must return quickly.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Return the maximum size of a request's body in bytes.
  virtual std::size_t body_limit(std::string_view method, std::string_view path) const = 0;
  virtual void handle(std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpExchange> exchange) = 0;
  // Return the response to a request that the server refuses while reading it. Such a request is malformed,
  // too large or too slow. `request` contains the client and the parts that could be read.
  virtual HttpResponse refuse(const HttpRequest& request, int status, const std::string& message) = 0;
  // Called for a request whose client disconnected after its header and before the end of its body.
  virtual void abandoned(const HttpRequest& request) = 0;
};

}  // namespace regard::serve
