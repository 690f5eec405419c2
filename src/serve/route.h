// Routes. One table is used to dispatch requests and to generate the OpenAPI document.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_text.h"
#include "serve/form.h"
#include "serve/http.h"
#include "serve/http_error.h"
#include "serve/metrics.h"
#include "serve/model_registry.h"
#include "serve/options.h"

namespace regard::serve {

class FileStore;
class RequestEdits;

inline constexpr std::int64_t kMostTexts = 2048;  // maximum number of texts in one request

// The API that a route belongs to. It determines the format of the route's error responses.
enum class Protocol : std::uint8_t { openai, libretranslate, embeddings, regard };

struct Call;

struct Route {
  const char* method = "";
  const char* path = "";
  Protocol protocol = Protocol::regard;
  const char* summary = "";
  void (*handle)(Call& call) = nullptr;
  Json request = nullptr;                 // schema of the body; null means no body
  Json response = nullptr;                // schema of a JSON response; null if the response is not JSON
  const char* type = "application/json";  // content type of the response
  bool also_text = false;                 // true if the route may also respond with text/plain
  bool forms = false;                     // true if the route also accepts HTML forms
  bool files = false;                     // true if the route accepts multipart forms with files
  bool streams = false;                   // true if the route also responds with server-sent events
  bool open = false;                      // true if the route requires no API key
  bool any_time = false;                  // true if requests are also handled before the models are loaded
  bool heavy = false;                     // true for slow or large requests; one per client runs at a time
};

// Objects of the server that handlers use.
struct Services {
  const ServeOptions& options;
  ModelRegistry& models;
  Metrics& metrics;
  FileStore& files;
  const std::vector<Route>& routes;
  std::function<std::size_t()> connections;  // returns the number of open connections
  std::function<bool()> draining;            // returns true if the server is about to stop
};

// One request that a handler processes. Handlers run on their own threads and may block. Handlers of routes
// with Route::any_time run on the server's thread and must not block.
struct Call {
  const HttpRequest& request;
  const Route& route;
  std::shared_ptr<HttpExchange> exchange;
  const Services& services;
  Waiting waiting;             // client and deadline of the request
  Json body = Json::object();  // body, valid under the route's schema; without null members
  std::vector<FormPart> files = {};
  std::shared_ptr<RequestEdits> edits = {};  // interventions of the request (request_edits.h)
  // Values for the log and the metrics.
  std::string model = {};
  std::uint64_t prompt_tokens = 0, completion_tokens = 0;

  // Send the response. Adds the member "warnings" to an object if an intervention of the request changed
  // nothing.
  void reply(Json json, int status = 200);
  void reply_text(std::string text, std::string type);
  // Return the only file of a multipart form. Throws HttpError 400 unless there is exactly one.
  const FormPart& only_file() const;
  // Return the model named by the body's member "model". Default: the only model with this ability. Throws
  // HttpError if there is no such model, or if several match.
  std::shared_ptr<ModelHost> find_model(Ability ability);
  // Return the member `name` of the body, or `otherwise` if it is absent.
  template <class T>
  T value(const char* name, T otherwise) const {
    const auto found = body.find(name);
    return found == body.end() ? std::move(otherwise) : found->get<T>();
  }
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  bool has(const char* name) const { return body.contains(name); }
};

// Return the name between braces at the end of a path such as "/v1/models/{model}", or "" if there is none.
// The parameter's value in a request is stored in Call::body under this name.
std::string_view path_parameter(std::string_view path);

// Return the texts in `value`, which is a text or a list of texts.
std::vector<std::string> texts_of(const Json& value);

// Return a route for the method GET or POST. `rest` contains the members other than the given ones.
Route get_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&),
                Route rest = {});
Route post_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&), Route rest);
// Return a route for the method POST that reads and returns JSON.
Route json_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&),
                 Json request, Json response);

// Each function adds the routes of one API to the table.
void add_operation_routes(std::vector<Route>& routes);
void add_openai_routes(std::vector<Route>& routes);
void add_libretranslate_routes(std::vector<Route>& routes);
void add_embedding_routes(std::vector<Route>& routes);
void add_regard_routes(std::vector<Route>& routes);
void add_generate_route(std::vector<Route>& routes);
void add_line_routes(std::vector<Route>& routes);
void add_study_route(std::vector<Route>& routes);
void add_attend_route(std::vector<Route>& routes);
void add_classify_picture_route(std::vector<Route>& routes);
void add_model_routes(std::vector<Route>& routes);

// Return the OpenAPI 3.1 document of the routes.
Json openapi_of(const std::vector<Route>& routes);

// Return the body of an error response in the format of the API `protocol`.
Json error_body(Protocol protocol, const HttpError& error);

}  // namespace regard::serve
