// The server: the models, the routes, and the path of a request to its handler.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/access.h"
#include "serve/access_log.h"
#include "serve/file_store.h"
#include "serve/handler_threads.h"
#include "serve/http_error.h"
#include "serve/http_server.h"
#include "serve/route.h"

namespace regard::serve {

class Service : private HttpHandler {
 public:
  // Listen, and load the models on a thread. Requests for models get 503 until all are loaded. `pool` must
  // outlive the service. Throws usage for invalid options, io and bad_file for files, and the errors of
  // HttpServer.
  Service(ServeOptions options, ThreadPool& pool);
  ~Service() override;  // stops as stop() does, without waiting for requests

  std::uint16_t port() const { return server_->port(); }
  bool ready() const { return models_.ready(); }
  // Throw the error that ended the first loading, if there was one.
  void check_loading() const;
  // Load the folders again and reopen the log. Returns at once. The old models answer requests until the new
  // ones are ready. Then calls `reloaded` with "" or an error.
  void reload(std::function<void(const std::string& error)> reloaded);
  // Stop accepting connections and wait for the requests in progress, at most for options.drain; then close
  // all connections. Returns true if all requests were answered.
  bool stop();

  const Metrics& metrics() const { return metrics_; }
  std::size_t connections() const { return server_->connections(); }  // open now

 private:
  struct Task;
  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void handle(std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpExchange> exchange) override;
  HttpResponse refuse(int status, const std::string& message) override;

  const Route* find_route(std::string_view method, std::string_view path, bool& path_exists) const;
  const Route& admit(const HttpRequest& request, HttpExchange& exchange, std::string& client) const;
  std::string client_of_key(std::string_view key) const;  // throws HttpError 401
  void answer_preflight(const HttpRequest& request, HttpExchange& exchange) const;
  void dispatch(const Route& route, const std::shared_ptr<HttpRequest>& request,
                const std::shared_ptr<HttpExchange>& exchange, const std::string& client);
  [[noreturn]] void refuse_busy();  // throws HttpError 429
  void begin(const std::shared_ptr<Task>& task);
  void finish(Task& task);
  void count(const Task& task);
  void close();

  ServeOptions options_;
  ThreadPool& pool_;
  ApiKeys keys_;
  AccessLog log_;
  Metrics metrics_;
  ModelRegistry models_;
  FileStore files_;
  std::vector<Route> routes_;
  std::atomic<bool> draining_{false};
  Services services_;
  mutable std::mutex loading_guard_;
  std::exception_ptr loading_error_;
  std::thread loader_;
  std::unique_ptr<HandlerThreads> threads_, heavy_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace regard::serve
