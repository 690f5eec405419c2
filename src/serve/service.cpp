#include "serve/service.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "regard/error.h"
#include "serve/request_body.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Maximum number of heavy requests in progress, at most one per client. A request is heavy if it has
// interventions or its route has Route::heavy.
constexpr std::size_t kHeavyThreads = 4;
// minimum time that a client has to receive a response, even after the deadline
constexpr std::chrono::seconds kReceived{60};
constexpr int kDisconnected = 499;  // status in the log: the client disconnected before the response
constexpr std::size_t kStoredBytes = std::size_t{64} << 20;  // maximum total bytes in the FileStore

void check(const ServeOptions& options) {
  if (options.folders.empty()) throw usage_error("expected a model folder, found none");
  for (std::size_t i = 0; i < options.folders.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (options.folders[i].name == options.folders[j].name)
        throw usage_error("two models have the same name")
            .found("\"" + options.folders[i].name + "\"")
            .remedy("Give each folder its own name with --name NAME=FOLDER");
  if (options.api_keys.empty() && !is_loopback(options.host))
    throw usage_error("--api-key-file is required, because other machines can reach the address of --host")
        .found(options.host)
        .remedy("Listen on 127.0.0.1, or write keys to a file, one per line");
}

void send_error(HttpExchange& exchange, Protocol protocol, const HttpError& error) {
  HttpResponse response{.status = error.status()};
  response.body = json_text(error_body(protocol, error));
  if (error.retry_after > 0) response.fields.emplace_back("Retry-After", std::to_string(error.retry_after));
  if (!error.allow.empty()) response.fields.emplace_back("Allow", error.allow);
  if (error.status() == 401) response.fields.emplace_back("WWW-Authenticate", "Bearer");
  exchange.send(std::move(response));
}

Protocol protocol_of(std::string_view path) {
  return path.starts_with("/v1/") ? Protocol::openai : Protocol::regard;
}

}  // namespace

Service::Service(ServeOptions options, ThreadPool& pool)
    : options_((check(options), std::move(options))),
      pool_(pool),
      keys_(options_.api_keys.empty() ? ApiKeys() : ApiKeys(options_.api_keys)),
      log_(options_.access_log),
      models_(options_, pool_, metrics_),
      files_(kStoredBytes),
      services_{options_,
                models_,
                metrics_,
                files_,
                routes_,
                [this] { return server_ ? server_->connections() : std::size_t{0}; },
                [this] { return draining_.load(); }} {
  add_operation_routes(routes_);
  add_openai_routes(routes_);
  add_libretranslate_routes(routes_);
  add_embedding_routes(routes_);
  add_regard_routes(routes_);
  add_attend_route(routes_);
  add_study_route(routes_);
  add_generate_route(routes_);
  add_line_routes(routes_);
  add_classify_picture_route(routes_);
  add_model_routes(routes_);
  const auto each = static_cast<std::int64_t>(options_.in_progress);
  threads_ = std::make_unique<HandlerThreads>(
      HandlerThreads::Limits{.threads = static_cast<std::size_t>(Share::places_for(each)),
                             .each = options_.in_progress,
                             .queue = options_.queue,
                             .queue_of_each = options_.queue - options_.queue / 4});
  heavy_ = std::make_unique<HandlerThreads>(
      HandlerThreads::Limits{.threads = std::min(kHeavyThreads, options_.in_progress),
                             .each = 1,
                             .queue = options_.queue,
                             .queue_of_each = std::max<std::size_t>(1, options_.queue / 2)});
  server_ = std::make_unique<HttpServer>(options_.host, options_.port, static_cast<HttpHandler&>(*this),
                                         options_.http);
  server_->start();
  loader_ = std::thread([this] {
    try {
      models_.load([this] { return draining_.load(); });
    } catch (...) {
      const std::lock_guard lock(loading_guard_);
      loading_error_ = std::current_exception();
    }
    loading_ = false;
  });
}

Service::~Service() {
  close();
}

void Service::check_loading() const {
  const std::lock_guard lock(loading_guard_);
  if (loading_error_) std::rethrow_exception(loading_error_);
}

void Service::reload(std::function<void(const std::string& error)> reloaded) {
  if (loader_.joinable()) loader_.join();
  loading_ = true;
  loader_ = std::thread([this, reloaded = std::move(reloaded)] {
    std::string error;
    try {
      log_.reopen();
      models_.load([this] { return draining_.load(); });
    } catch (...) {
      error = caught_error().what();
    }
    if (reloaded) reloaded(error);
    loading_ = false;
  });
}

bool Service::stop() {
  draining_ = true;
  server_->stop_accepting();
  const Stopwatch watch;
  const auto limit = static_cast<double>(options_.drain.count());
  while ((metrics_.in_progress > 0 || server_->connections() > 0) && watch.seconds() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const bool all = metrics_.in_progress == 0;
  close();
  return all;
}

void Service::close() {
  draining_ = true;
  if (loader_.joinable()) loader_.join();
  // Close the connections first. This cancels their requests, so that the handlers end.
  closing_ = true;
  if (server_) server_->close();
  // end() waits for running tasks, which use both objects. The objects are destroyed later.
  threads_->end();
  heavy_->end();
}

// --- on the server's thread ---

const Route* Service::find_route(std::string_view method, std::string_view path, std::string& allowed) const {
  if (method == "HEAD") method = "GET";
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    const std::string_view of = route.path;
    const std::size_t brace = of.find('{');
    const bool matches =
        brace == of.npos ? of == path : path.size() > brace && path.substr(0, brace) == of.substr(0, brace);
    if (!matches) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
    if (route.method == std::string_view("GET")) allowed += ", HEAD";
    if (method == route.method && (found == nullptr || brace == of.npos)) found = &route;
  }
  return found;
}

std::size_t Service::body_limit(std::string_view method, std::string_view path) const {
  std::string allowed;
  const Route* route = find_route(method, path, allowed);
  return route != nullptr && route->files ? options_.file_bytes : options_.body_bytes;
}

HttpResponse Service::refuse(const HttpRequest& request, int status, const std::string& message) {
  HttpResponse response{.status = status,
                        .body = json_text(error_body(Protocol::regard, HttpError(status, message)))};
  count_unrouted(request, status, request.method == "HEAD" ? 0 : response.body.size());
  return response;
}

void Service::abandoned(const HttpRequest& request) {
  count_unrouted(request, kDisconnected, 0);
}

void Service::count_unrouted(const HttpRequest& request, int status, std::uint64_t bytes) {
  metrics_.count_request("", status, 0.0);
  log_.write({.client = request.client,
              .method = request.method,
              .path = request.path,
              .model = {},
              .status = status,
              .bytes = bytes});
}

void Service::answer_preflight(const HttpRequest& request, HttpExchange& exchange) const {
  exchange.send({.status = 204,
                 .type = "",
                 .fields = {{"Access-Control-Allow-Methods", "GET, POST"},
                            {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-API-Key"},
                            {"Access-Control-Max-Age", "600"}}});
  (void)request;
}

// Check everything that does not depend on the body. Throws HttpError.
const Route& Service::admit(const HttpRequest& request, HttpExchange& exchange, std::string& client) const {
  if (!request.field("host").empty() && !host_allowed(request.field("host"), options_.allowed_hosts))
    throw HttpError(421,
                    "the server does not accept this name in the field Host; allow it with --allow-host");
  if (const std::string_view origin = request.field("origin"); !origin.empty()) {
    if (!origin_allowed(origin, request.field("host"), options_.origins))
      throw HttpError(403, "web pages of this origin may not use the server; allow it with --cors");
    exchange.add_field("Access-Control-Allow-Origin", std::string(origin));
    exchange.add_field("Vary", "Origin");
  }
  std::string allowed;
  const Route* route = find_route(request.method, request.path, allowed);
  if (route == nullptr && !allowed.empty()) {
    HttpError unsupported(405, "this path does not support the method " + request.method);
    unsupported.allow = std::move(allowed);
    throw unsupported;
  }
  if (route == nullptr) throw HttpError(404, "there is no such path; /openapi.json lists all paths");
  client = request.client;
  if (keys_.needed() && !route->open) {
    const std::string_view key = key_of(request);
    // Without a key in the header, a form may contain the key, as LibreTranslate's clients send it. begin()
    // checks that key.
    client = key.empty() && route->forms ? std::string() : client_of_key(key);
  }
  if (!models_.ready() && !route->any_time) {
    HttpError loading(503, "the models are being loaded", "loading");
    loading.retry_after = 1;
    throw loading;
  }
  return *route;
}

std::string Service::client_of_key(std::string_view key) const {
  const auto index = keys_.find(key);
  if (!index)
    throw HttpError(401, "expected a valid API key in Authorization: Bearer KEY", "invalid_api_key");
  return "key " + std::to_string(*index);
}

void Service::handle(std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpExchange> exchange) {
  std::string client;
  Protocol protocol = protocol_of(request->path);
  try {
    if (request->method == "OPTIONS" && !request->field("origin").empty() &&
        origin_allowed(request->field("origin"), request->field("host"), options_.origins)) {
      exchange->add_field("Access-Control-Allow-Origin", std::string(request->field("origin")));
      answer_preflight(*request, *exchange);
      return count_unrouted(*request, exchange->status(), 0);
    }
    const Route& route = admit(*request, *exchange, client);
    protocol = route.protocol;
    dispatch(route, request, exchange, client);
  } catch (...) {
    const HttpError error = caught_http_error();
    send_error(*exchange, protocol, error);
    count_unrouted(*request, error.status(), exchange->bytes_sent());
  }
}

// A request that a handler's thread processes.
struct Service::Task {
  Task(std::shared_ptr<HttpRequest> from, const Route& route, std::shared_ptr<HttpExchange> exchange,
       const Services& services, Waiting waiting)
      : request(std::move(from)), call{*request, route, std::move(exchange), services, std::move(waiting)} {}

  std::shared_ptr<HttpRequest> request;
  Call call;
  Stopwatch watch;
  std::shared_ptr<const void> ends_if_waiting;  // the callback of HttpExchange::when_gone
};

void Service::dispatch(const Route& route, const std::shared_ptr<HttpRequest>& request,
                       const std::shared_ptr<HttpExchange>& exchange, const std::string& client) {
  const auto deadline = route.any_time ? Clock::time_point::max() : Clock::now() + options_.timeout;
  const auto task = std::make_shared<Task>(request, route, exchange, services_,
                                           Waiting{client, deadline, [=] { return exchange->gone(); }});
  ++metrics_.in_progress;
  if (route.any_time) {  // do not wait for a handler's thread; all may be busy
    begin(task);
    return;
  }
  // `client` is empty if the API key is in the body. The body has not been read yet, so the address
  // identifies the client.
  task->ends_if_waiting = exchange->when_gone([this, weak = std::weak_ptr(task)] {
    if (const auto waiting = weak.lock()) end_if_waiting(*waiting);
  });
  if (threads_->submit(
          client.empty() ? request->client : client, [this, task] { begin(task); }, task.get()))
    return;
  --metrics_.in_progress;
  refuse_busy();
}

void Service::end_if_waiting(const Task& task) {
  // This runs the task on the calling thread. The task finds that the client has disconnected, and ends the
  // request.
  threads_->run_if_waiting(&task);
  heavy_->run_if_waiting(&task);
}

void Service::refuse_busy() {
  ++metrics_.refused;
  HttpError busy(429, "too many requests are waiting", "queue_full");
  busy.retry_after = 1;
  throw busy;
}

// --- on a handler's thread ---

// Read the body and process the request. Requests of a route with Route::heavy and requests with
// interventions are processed by a thread of heavy_ instead.
void Service::begin(const std::shared_ptr<Task>& task) {
  Call& call = task->call;
  try {
    call.waiting.require();
    read_body(call);
    if (call.waiting.client.empty())
      call.waiting.client = client_of_key(call.value<std::string>("api_key", ""));
    if (const std::string_view parameter = path_parameter(call.route.path); !parameter.empty())
      call.body[std::string(parameter)] =
          call.request.path.substr(std::string_view(call.route.path).find('{'));
    if (call.route.heavy || has_interventions(call.body)) {
      if (!heavy_->submit(
              call.waiting.client, [this, task] { finish(*task); }, task.get()))
        refuse_busy();
      // the client may have disconnected before the task was in the queue
      if (call.exchange->gone()) end_if_waiting(*task);
      return;
    }
  } catch (...) {
    send_error(*call.exchange, call.route.protocol, caught_http_error());
    return count(*task);
  }
  finish(*task);
}

void Service::finish(Task& task) {
  Call& call = task.call;
  try {
    call.waiting.require();
    call.route.handle(call);
  } catch (...) {
    const HttpError error = caught_http_error();
    if (call.exchange->status() == 0) send_error(*call.exchange, call.route.protocol, error);
  }
  call.edits.reset();  // end the exclusive use of the model
  count(task);
  // Keep this thread occupied until the response is sent. This limits the number of responses in memory that
  // wait for slow clients.
  if (!call.route.any_time)
    call.exchange->wait_until_received(std::max(call.waiting.deadline, Clock::now() + kReceived));
}

void Service::count(const Task& task) {
  const Call& call = task.call;
  const HttpExchange& exchange = *call.exchange;
  // A response to HEAD has no body, so a disconnected client may have received it.
  const bool unanswered = exchange.status() == 0 ||
                          (exchange.gone() && exchange.bytes_sent() == 0 && call.request.method != "HEAD");
  // The status of a request without a response: 503 if the server is closing all connections; otherwise, the
  // client has disconnected.
  const int status = !unanswered ? exchange.status() : closing_ ? 503 : kDisconnected;
  metrics_.count_request(call.route.path, status, task.watch.seconds());
  log_.write({.client = call.request.client,
              .method = call.request.method,
              .path = call.route.path,
              .model = call.model,
              .status = status,
              .bytes = exchange.bytes_sent(),
              .prompt_tokens = call.prompt_tokens,
              .completion_tokens = call.completion_tokens,
              .seconds = task.watch.seconds()});
  --metrics_.in_progress;
}

}  // namespace regard::serve
