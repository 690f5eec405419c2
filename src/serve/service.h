// The server: the models, the routes, and the dispatch of requests to handlers.
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
  // Start to listen, and load the models on a separate thread. Requests for models get status 503 until all
  // models are loaded. `pool` must outlive the service. Throws usage for invalid options, io and bad_file for
  // files, and the errors of HttpServer.
  Service(ServeOptions options, ThreadPool& pool);
  ~Service() override;  // stops without waiting for requests in progress

  std::uint16_t port() const { return server_->port(); }
  bool ready() const { return models_.ready(); }
  // If the models could not be loaded at startup, throw the error.
  void check_loading() const;
  bool loading() const { return loading_; }  // true while the models are loaded, at startup or by reload()
  // Wait for any load in progress, then start a thread that reopens the log and loads the folders again while
  // the old models process requests. At the end, the thread calls `reloaded` with "" or an error message.
  void reload(std::function<void(const std::string& error)> reloaded);
  // Stop accepting connections, wait for requests in progress for at most options.drain, then close all
  // connections. Returns true if all requests were completed.
  bool stop();

  const ModelRegistry& models() const { return models_; }
  const Metrics& metrics() const { return metrics_; }
  std::size_t connections() const { return server_->connections(); }  // number of open connections

 private:
  struct Task;
  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void handle(std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpExchange> exchange) override;
  HttpResponse refuse(const HttpRequest& request, int status, const std::string& message) override;
  void abandoned(const HttpRequest& request) override;

  // Return the route, or null if there is none. Appends the methods of the path to `allowed`.
  const Route* find_route(std::string_view method, std::string_view path, std::string& allowed) const;
  const Route& admit(const HttpRequest& request, HttpExchange& exchange, std::string& client) const;
  // return the client with this API key; throws HttpError 401 for an unknown key
  std::string client_of_key(std::string_view key) const;
  void answer_preflight(const HttpRequest& request, HttpExchange& exchange) const;
  void dispatch(const Route& route, const std::shared_ptr<HttpRequest>& request,
                const std::shared_ptr<HttpExchange>& exchange, const std::string& client);
  [[noreturn]] void refuse_busy();  // throw HttpError 429 (too many requests) and count the refusal
  void begin(const std::shared_ptr<Task>& task);
  // If the task waits for a thread, end it now. Call it only after the client has disconnected.
  void end_if_waiting(const Task& task);
  void finish(Task& task);
  void count(const Task& task);
  // Count and log a request that no route processes.
  void count_unrouted(const HttpRequest& request, int status, std::uint64_t bytes);
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
  std::atomic<bool> closing_{false};  // true after the server has begun to close all connections
  Services services_;
  mutable std::mutex loading_guard_;
  std::exception_ptr loading_error_;
  std::thread loader_;
  std::atomic<bool> loading_{true};
  std::unique_ptr<HandlerThreads> threads_, heavy_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace regard::serve
