// A server over tiny models on a loopback port, and a plain HTTP client.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "serve/service.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {

struct Reply {
  int status = 0;
  std::map<std::string, std::string> fields;  // headers; their names in lower case
  std::string body;                           // the body; chunks are joined

  Json json() const { return parse_json(body, "the reply"); }
  std::vector<std::string> events() const;  // data of the server-sent events, without "data: "
};

// A connection to 127.0.0.1. If a system call fails, the test fails.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(const std::string& bytes);  // false: the server closed the connection
  // Read one reply. Its status is 0 if the server closes the connection too early, or after `seconds`.
  Reply read(int seconds = 30);
  // Receive until the text occurs in the received data. read() still returns this data.
  bool read_until(const std::string& text, int seconds = 30);
  // true if the server closes the connection within `seconds`; received data is dropped
  bool closed(int seconds = 5);
  void reset();  // close with a TCP reset

 private:
  bool receive(int seconds);
  int socket_ = -1;
  std::string received_;
};

std::string request_text(const std::string& method, const std::string& path, const std::string& body = "",
                         const std::string& type = "application/json", const std::string& fields = "");

// Wait for at most `seconds` until test() holds. Returns whether it does.
template <class Test>
bool becomes(const Test& test, int seconds = 20) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < deadline) {
    if (test()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return test();
}

std::string repeated(const std::string& text, int count);

// Options for tests: any port, no log, small limits.
serve::ServeOptions serve_options();

// A server with the named models; without a name, with all of gpt, translator, embed, nli, ner, qa and fill.
class TestServer {
 public:
  explicit TestServer(serve::ServeOptions options = serve_options(), std::vector<std::string> names = {});

  serve::Service& service() { return *service_; }
  std::uint16_t port() const { return service_->port(); }
  // Each request uses a new connection.
  Reply get(const std::string& path);
  Reply post(const std::string& path, const Json& body);
  Reply post_form(const std::string& path, const std::string& body,
                  const std::string& type = "application/x-www-form-urlencoded");
  std::uint64_t counted(const std::string& metric);  // a value of /metrics; 0 if it is missing

  static std::string folder(const std::string& name);  // path of the model folder

 private:
  ThreadPool pool_{2};
  std::unique_ptr<serve::Service> service_;
};

}  // namespace regard::testing
