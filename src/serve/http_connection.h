// One connection of the server: reads requests within limits, and writes responses. Requires Boost.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "serve/http_server.h"
#include "serve/large_bodies.h"

namespace regard::serve {

// Functions are called on the server's thread.
class OpenConnection : public std::enable_shared_from_this<OpenConnection> {
 public:
  virtual ~OpenConnection() = default;
  virtual void close() = 0;
  virtual void close_if_idle() = 0;  // close the connection if no request is in progress
};

// State of the server. The server, its connections and its exchanges share it; each of them owns a reference.
struct ServerCore {
  ServerCore(HttpHandler& to, const HttpLimits& within) : handler(to), limits(within) {}
  // queued work keeps its connection, and therefore this object, alive until it has run
  boost::asio::io_context context{1};
  HttpHandler& handler;
  HttpLimits limits;

  // Run `work` on the server's thread. After stop(), new work is dropped; work posted earlier is still run.
  // Thread-safe.
  template <class Work>
  void post(Work&& work) {
    const std::lock_guard lock(guard);
    if (!stopped) boost::asio::post(context, std::forward<Work>(work));
  }
  void stop() {
    const std::lock_guard lock(guard);
    stopped = true;
  }

  std::mutex guard;  // guards the next two members
  // the open connections; guarded because a handler's thread may destroy a connection while the server stops
  std::unordered_set<OpenConnection*> connections;
  bool stopped = false;  // true after the server has begun to close all connections
  std::atomic<std::size_t> open{0};
  std::shared_ptr<LargeBodies> large_bodies = std::make_shared<LargeBodies>(limits.large_bodies);
  std::atomic<bool> draining{false};  // if true, close each connection after its response
};

// Start to read requests from the socket. The connection object exists until the connection is closed.
void start_connection(std::shared_ptr<ServerCore> core, boost::asio::ip::tcp::socket socket);

}  // namespace regard::serve
