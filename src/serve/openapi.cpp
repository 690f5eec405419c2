// Generates the OpenAPI 3.1 document from the table of routes.
#include <fmt/format.h>

#include <algorithm>

#include "serve/http_text.h"
#include "serve/request_edits.h"
#include "serve/route.h"

namespace regard::serve {
namespace {

// OpenAPI names for a protocol: the tag of its routes, and the name of its error schema.
struct ProtocolNames {
  Protocol protocol;
  const char *tag, *error;
};
constexpr ProtocolNames kProtocolNames[] = {
    {Protocol::openai, "OpenAI", "OpenAIError"},
    {Protocol::libretranslate, "LibreTranslate", "Error"},
    {Protocol::embeddings, "text-embeddings-inference", "EmbeddingsError"},
    {Protocol::regard, "regard", "Error"},
};

const ProtocolNames& protocol_names(Protocol protocol) {
  return *std::ranges::find(kProtocolNames, protocol, &ProtocolNames::protocol);
}

// Return the names of all values of ErrorKind.
Json error_kinds() {
  Json names = Json::array();
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::invalid_input, ErrorKind::bad_file, ErrorKind::io, ErrorKind::numeric,
        ErrorKind::cancelled, ErrorKind::resource_exhausted, ErrorKind::internal})
    names.push_back(name_of(kind));
  return {{"type", "string"}, {"enum", std::move(names)}};
}

Json error_schemas() {
  const Json text{{"type", "string"}};
  const Json text_or_null{{"type", {"string", "null"}}};
  const auto object = [](Json properties, Json required) {
    return Json{{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
  };
  const Json inner =
      object({{"message", text}, {"type", text}, {"param", text_or_null}, {"code", text_or_null}},
             Json::array({"message", "type"}));
  return {{"OpenAIError", object({{"error", inner}}, Json::array({"error"}))},
          {"EmbeddingsError",
           object({{"error", text}, {"error_type", text}}, Json::array({"error", "error_type"}))},
          {"Error", object({{"error", text}, {"kind", error_kinds()}}, Json::array({"error", "kind"}))}};
}

Json request_of(const Route& route) {
  Json content = Json::object();
  content["application/json"] = {{"schema", route.request}};
  if (route.files) content = Json::object();
  if (route.forms && !route.files) content["application/x-www-form-urlencoded"] = {{"schema", route.request}};
  if (route.forms) content["multipart/form-data"] = {{"schema", route.request}};
  return {{"required", true}, {"content", std::move(content)}};
}

// Return the schema of the response. An object has the member "warnings" if the route accepts interventions.
Json response_schema(const Route& route) {
  Json schema = route.response;
  const bool edits = route.request.is_object() && route.request.contains("properties") &&
                     route.request["properties"].contains("interventions");
  if (edits && schema.is_object() && schema.value("type", Json()) == "object")
    schema["properties"]["warnings"] = warnings_schema();
  return schema;
}

Json responses_of(const Route& route) {
  Json content = Json::object();
  Json body = Json::object();
  if (!route.response.is_null()) body["schema"] = response_schema(route);
  content[route.type] = std::move(body);
  if (route.also_text) content["text/plain"] = Json::object();
  if (route.streams) content["text/event-stream"] = Json::object();
  Json responses = Json::object();
  responses["200"] = {{"description", "The result"}, {"content", std::move(content)}};
  for (const int status : {400, 401, 403, 404, 405, 408, 413, 415, 421, 429, 431, 500, 501, 503, 504}) {
    if (status == 501 && std::string_view(route.path) != "/detect") continue;
    Json schema{{"$ref", std::string("#/components/schemas/") + protocol_names(route.protocol).error}};
    responses[std::to_string(status)] = {
        {"description", reason_of(status)},
        {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
  }
  return responses;
}

}  // namespace

Json openapi_of(const std::vector<Route>& routes) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    Json operation{{"tags", Json::array({protocol_names(route.protocol).tag})}, {"summary", route.summary}};
    if (const std::string_view parameter = path_parameter(route.path); !parameter.empty())
      operation["parameters"] = Json::array(
          {{{"name", parameter}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
    if (!route.request.is_null()) operation["requestBody"] = request_of(route);
    operation["responses"] = responses_of(route);
    if (!route.open) operation["security"] = Json::array({Json::object(), {{"key", Json::array()}}});
    std::string method = route.method;
    for (char& letter : method) letter = static_cast<char>(letter + 32);
    paths[route.path][method] = std::move(operation);
  }
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "regard serve"},
        {"version", "1"},
        {"description",
         "Transformer models with the protocols of OpenAI, LibreTranslate and text-embeddings-inference."}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", error_schemas()},
        {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace regard::serve
