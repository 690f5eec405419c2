// A listening socket on a free port of 127.0.0.1, for servers with scripted responses.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "support/namespaces.h"

namespace regard::testing {

class LocalListener {
 public:
  LocalListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_, 4);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~LocalListener() { ::close(socket_); }
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;

  // Wait for a connection, and return its socket; returns −1 after stop().
  int accept() const { return ::accept(socket_, nullptr, nullptr); }
  void stop() const { ::shutdown(socket_, SHUT_RDWR); }
  const std::string& port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + port_; }

 private:
  int socket_;
  std::string port_;
};

}  // namespace regard::testing
