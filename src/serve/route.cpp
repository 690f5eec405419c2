#include "serve/route.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "serve/request_edits.h"

namespace regard::serve {
namespace {

const char* openai_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

const char* embeddings_type(int status) {
  if (status == 429) return "overloaded";
  if (status == 413 || status == 422 || status == 400) return "validation";
  if (status == 503) return "unhealthy";
  return status < 500 ? "validation" : "backend";
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

void Call::reply(Json json, int status) {
  if (json.is_object() && edits && !json.contains("warnings"))
    if (const auto warnings = edits->pass()->warnings(); !warnings.empty())
      json["warnings"] = inspect::to_json(warnings);
  exchange->send({.status = status, .type = "application/json", .body = json_text(json)});
}

void Call::reply_text(std::string text, std::string type) {
  exchange->send({.status = 200, .type = std::move(type), .body = std::move(text)});
}

const FormPart& Call::only_file() const {
  if (files.size() != 1)
    throw HttpError(400, fmt::format("expected one file, found {}", files.size()), "invalid_value", "file");
  return files[0];
}

std::shared_ptr<ModelHost> Call::find_model(Ability ability) {
  auto host = services.models.find(value<std::string>("model", ""), ability);
  model = host->name();
  return host;
}

std::int64_t Call::integer(const char* name, std::int64_t otherwise) const {
  const auto found = body.find(name);
  if (found == body.end()) return otherwise;
  if (!found->is_number_float()) return found->get<std::int64_t>();
  // Schemas compare numbers as double, so 2^63 is accepted although it exceeds the largest integer.
  const double number = found->get<double>();
  return number < 0x1p63 ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::max();
}

std::string_view path_parameter(std::string_view path) {
  const std::size_t begin = path.find('{');
  return begin == path.npos ? std::string_view() : path.substr(begin + 1, path.size() - begin - 2);
}

std::vector<std::string> texts_of(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

Route get_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&), Route rest) {
  rest.method = "GET", rest.path = path, rest.protocol = protocol;
  rest.summary = summary, rest.handle = handle;
  return rest;
}

Route post_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&),
                 Route rest) {
  rest = get_route(protocol, path, summary, handle, std::move(rest));
  rest.method = "POST";
  return rest;
}

Route json_route(Protocol protocol, const char* path, const char* summary, void (*handle)(Call&),
                 Json request, Json response) {
  return post_route(protocol, path, summary, handle,
                    {.request = std::move(request), .response = std::move(response)});
}

Json error_body(Protocol protocol, const HttpError& error) {
  switch (protocol) {
    case Protocol::openai:
      return {{"error",
               {{"message", error.message()},
                {"type", openai_type(error.status())},
                {"param", text_or_null(error.parameter())},
                {"code", text_or_null(error.code())}}}};
    case Protocol::embeddings:
      return {{"error", error.message()}, {"error_type", embeddings_type(error.status())}};
    case Protocol::libretranslate:
    case Protocol::regard:
      break;
  }
  return {{"error", error.message()}, {"kind", name_of(error.kind)}};
}

}  // namespace regard::serve
