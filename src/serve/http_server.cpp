#include "serve/http_server.h"

#include "regard/error.h"

#ifndef REGARD_HAVE_BOOST

namespace regard::serve {

struct HttpServer::State {};

bool has_http_server() {
  return false;
}

HttpServer::HttpServer(const std::string&, std::uint16_t, HttpHandler&, const HttpLimits&) {
  throw usage_error("this program was built without Boost, which the server needs")
      .remedy("Install libboost-dev and build regard again");
}
HttpServer::~HttpServer() = default;
void HttpServer::close() {}
void HttpServer::start() {}
std::uint16_t HttpServer::port() const {
  return 0;
}
std::size_t HttpServer::connections() const {
  return 0;
}
void HttpServer::stop_accepting() {}

}  // namespace regard::serve

#else

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <vector>

#include "serve/http_connection.h"
#include "serve/http_text.h"

namespace regard::serve {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using ErrorCode = boost::system::error_code;

tcp::endpoint endpoint_of(const std::string& address, std::uint16_t port) {
  ErrorCode error;
  const auto parsed = net::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error)
    throw usage_error("the address to listen on is malformed")
        .found("\"" + address + "\"")
        .expected("a numeric address such as 127.0.0.1, 0.0.0.0 or ::1");
  return {parsed, port};
}

}  // namespace

struct HttpServer::State {
  State(HttpHandler& handler, const HttpLimits& limits)
      : core(std::make_shared<ServerCore>(handler, limits)), acceptor(core->context), retry(core->context) {}

  void listen(const std::string& address, std::uint16_t port) {
    const tcp::endpoint endpoint = endpoint_of(address, port);
    ErrorCode error;
    const auto check = [&](const char* what) {
      if (error)
        throw Error(ErrorKind::io, fmt::format("cannot {} {}:{}: {}", what, address, port, error.message()));
    };
    acceptor.open(endpoint.protocol(), error), check("open a socket for");
    acceptor.set_option(tcp::acceptor::reuse_address(true), error), check("reuse the address");
    acceptor.bind(endpoint, error), check("bind to");
    acceptor.listen(1024, error), check("listen on");
    port_in_use = acceptor.local_endpoint(error).port();
    accept();
  }

  void accept() {
    acceptor.async_accept([this](const ErrorCode& error, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (error) {  // accept failed, for example because no file descriptor is free: try again later
        retry.expires_after(std::chrono::milliseconds(100));
        return retry.async_wait([this](const ErrorCode& stopped) {
          if (!stopped && acceptor.is_open()) accept();
        });
      }
      if (core->open >= core->limits.connections)
        turn_away(socket);
      else
        start_connection(core, std::move(socket));
      accept();
    });
  }

  static void turn_away(tcp::socket& socket) {
    static const std::string full =
        head_of({.status = 503, .type = "", .fields = {{"Retry-After", "1"}}}, {.keep_alive = false});
    ::send(socket.native_handle(), full.data(), full.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ErrorCode ignored;
    socket.shutdown(tcp::socket::shutdown_both, ignored);
    socket.close(ignored);
  }

  void close_acceptor() {
    ErrorCode ignored;
    acceptor.close(ignored);
    retry.cancel();
  }

  // Return pointers that keep the open connections alive. Callers must not iterate over core->connections,
  // because close() removes the connection from that set.
  std::vector<std::shared_ptr<OpenConnection> > all() const {
    std::vector<std::shared_ptr<OpenConnection> > found;
    const std::lock_guard lock(core->guard);
    for (OpenConnection* one : core->connections)
      if (auto alive = one->weak_from_this().lock()) found.push_back(std::move(alive));
    return found;
  }

  std::shared_ptr<ServerCore> core;
  tcp::acceptor acceptor;
  net::steady_timer retry;
  std::uint16_t port_in_use = 0;
  std::thread thread;
};

bool has_http_server() {
  return true;
}

HttpServer::HttpServer(const std::string& address, std::uint16_t port, HttpHandler& handler,
                       const HttpLimits& limits)
    : state_(std::make_unique<State>(handler, limits)) {
  state_->listen(address, port);
}

void HttpServer::start() {
  state_->thread = std::thread([core = state_->core] {
    ErrorCode ignored;
    core->context.run(ignored);
  });
}

HttpServer::~HttpServer() {
  close();
}

void HttpServer::close() {
  if (!state_ || !state_->thread.joinable()) return;
  state_->core->draining = true;
  net::post(state_->core->context, [this] {
    state_->core->stop();
    state_->close_acceptor();
    for (const auto& connection : state_->all()) connection->close();
  });
  state_->thread.join();  // the thread ends when no operation is pending
}

std::uint16_t HttpServer::port() const {
  return state_->port_in_use;
}

std::size_t HttpServer::connections() const {
  return state_->core->open;
}

void HttpServer::stop_accepting() {
  state_->core->draining = true;
  net::post(state_->core->context, [this] {
    state_->close_acceptor();
    for (const auto& connection : state_->all()) connection->close_if_idle();
  });
}

}  // namespace regard::serve

#endif
