// One connection of the server: reads requests within limits and writes responses. Needs Boost.
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
  virtual void close_if_idle() = 0;  // does nothing while a request has begun and its response is incomplete
};

// State shared by all connections. Lives as long as the server, a connection or an exchange uses it.
struct ServerCore {
  ServerCore(HttpHandler& to, const HttpLimits& within) : handler(to), limits(within) {}
  boost::asio::io_context context{1};
  HttpHandler& handler;
  HttpLimits limits;

  // Run `work` on the server's thread; dropped after stop(). Threads: any. Accepted work is always run: work
  // left in the context's queue would keep its connection and thereby this object alive.
  template <class Work>
  void post(Work&& work) {
    const std::lock_guard lock(guard);
    if (!stopped) boost::asio::post(context, std::forward<Work>(work));
  }
  void stop() {
    const std::lock_guard lock(guard);
    stopped = true;
  }

  std::mutex guard;                                 // guards the following two
  std::unordered_set<OpenConnection*> connections;  // handlers may destroy one while the server stops
  bool stopped = false;                             // all connections are being closed
  std::atomic<std::size_t> open{0};
  std::shared_ptr<LargeBodies> large_bodies = std::make_shared<LargeBodies>(limits.large_bodies);
  std::atomic<bool> draining{false};  // close each connection after its response
};

// Start to read requests. The connection owns itself until it is closed.
void start_connection(std::shared_ptr<ServerCore> core, boost::asio::ip::tcp::socket socket);

}  // namespace regard::serve
