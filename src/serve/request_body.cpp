#include "serve/request_body.h"

#include "base/parse_number.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "serve/http_error.h"
#include "serve/http_text.h"
#include "serve/json_schema.h"

namespace regard::serve {
namespace {

std::string media_type(std::string_view field) {
  std::string type(field.substr(0, field.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return lower_case(type);
}

bool may_be(const Json& schema, const char* type) {
  if (const auto choices = schema.find("anyOf"); choices != schema.end())
    return std::any_of(choices->begin(), choices->end(), [&](const Json& one) { return may_be(one, type); });
  const auto found = schema.find("type");
  if (found == schema.end()) return false;
  if (found->is_string()) return *found == type;
  return std::find(found->begin(), found->end(), type) != found->end();
}

// Convert the value of a form's field to the type that the schema expects. If this is impossible, return it
// as text.
Json value_of(const Json& schema, const std::string& text) {
  if (may_be(schema, "string")) return text;
  if (may_be(schema, "boolean")) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  }
  if (may_be(schema, "integer")) {
    if (const auto number = parse_number<std::int64_t>(text)) return *number;
  }
  if (may_be(schema, "number")) {
    if (const auto number = parse_number<double>(text)) return *number;
  }
  if (may_be(schema, "array")) return Json::array({text});
  return text;
}

void read_form(Call& call, std::vector<FormPart> parts) {
  const Json& properties = call.route.request.at("properties");
  for (FormPart& part : parts) {
    if (!utf8::valid(part.name) || !utf8::valid(part.file_name))
      throw HttpError(400, "the form is not UTF-8");
    if (!part.file_name.empty()) {
      if (!call.route.files) throw HttpError(400, "expected no file", {}, part.name);
      call.body[part.name] = part.file_name;
      call.files.push_back(std::move(part));
      continue;
    }
    if (!utf8::valid(part.value)) throw HttpError(400, "the text is not UTF-8", {}, part.name);
    const auto schema = properties.find(part.name);
    Json value = schema == properties.end() ? Json(part.value) : value_of(*schema, part.value);
    // Collect the values of a repeated field in a list, if the schema accepts a list.
    if (const auto found = call.body.find(part.name);
        found != call.body.end() && schema != properties.end() && may_be(*schema, "array")) {
      if (!found->is_array()) *found = Json::array({*found});
      found->push_back(value.is_array() ? value[0] : value);
    } else {
      call.body[part.name] = std::move(value);
    }
  }
}

void read_json_body(Call& call) {
  try {
    call.body = parse_json(call.request.body, "the body",
                           {.depth = call.services.options.json_depth, .bytes = call.request.body.size()});
  } catch (const Error& error) {
    throw HttpError(400, error.what(), "invalid_json");
  }
}

// Remove the null members of objects, because clients send null for members that they do not set. Null
// elements of arrays remain.
void remove_null_members(Json& value) {
  if (value.is_object()) {
    // Make a new list of members, because erase() and look-ups take time proportional to the number of
    // members.
    auto& members = static_cast<Json::object_t::Container&>(value.get_ref<Json::object_t&>());
    Json::object_t::Container kept;
    for (auto& [name, member] : members)
      if (!member.is_null()) kept.emplace_back(name, std::move(member));
    members = std::move(kept);
  }
  if (value.is_structured())
    for (Json& one : value) remove_null_members(one);  // the limit on the JSON depth bounds the recursion
}

}  // namespace

void read_body(Call& call) {
  if (call.route.request.is_null()) return;
  if (const std::string_view coding = call.request.field("content-encoding");
      !coding.empty() && lower_case(coding) != "identity")
    throw HttpError(415, "expected a body without Content-Encoding, found \"" + std::string(coding) + "\"");
  const std::string_view field = call.request.field("content-type");
  const std::string type = media_type(field);
  const bool json = type == "application/json" || type.ends_with("+json");
  if (json && !call.route.files)
    read_json_body(call);
  else if (call.route.forms && type == "multipart/form-data")
    read_form(call, parse_multipart(call.request.body, field));
  else if (call.route.forms && !call.route.files && type == "application/x-www-form-urlencoded")
    read_form(call, parse_url_encoded(call.request.body));
  else
    throw HttpError(415, "expected a body of type " +
                             std::string(call.route.files ? "multipart/form-data" : "application/json") +
                             ", found " +
                             (type.empty() ? std::string("no Content-Type") : "\"" + type + "\""));
  if (const auto bad = violation_of(call.route.request, call.body))
    throw HttpError(400, bad->place.empty() ? bad->message : bad->place + ": " + bad->message,
                    "invalid_value", bad->place);
  remove_null_members(call.body);
}

}  // namespace regard::serve
