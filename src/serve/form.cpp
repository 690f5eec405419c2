#include "serve/form.h"

#include <algorithm>
#include <optional>

#include "serve/http_error.h"
#include "serve/http_text.h"

namespace regard::serve {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Return the value of a parameter of a header field, such as boundary=… or name="…".
std::optional<std::string> parameter_of(std::string_view field, std::string_view name) {
  std::size_t at = field.find(';');
  while (at != field.npos) {
    std::string_view rest = trimmed(field.substr(at + 1));
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos) return std::nullopt;
    const std::string key = lower_case(trimmed(rest.substr(0, equals)));
    std::string_view value = trimmed(rest.substr(equals + 1));
    std::string found;
    std::size_t used = 0;
    if (!value.empty() && value.front() == '"') {
      for (used = 1; used < value.size() && value[used] != '"'; ++used) {
        if (value[used] == '\\' && used + 1 < value.size()) ++used;
        found += value[used];
      }
    } else {
      used = std::min(value.find(';'), value.size());
      found = std::string(trimmed(value.substr(0, used)));
    }
    if (key == name) return found;
    const std::size_t next = value.find(';', used);
    if (next == value.npos) return std::nullopt;
    field = value, at = next;
  }
  return std::nullopt;
}

FormPart part_of(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == text.npos) throw HttpError(400, "a part of the form has no header");
  std::string_view head = text.substr(0, end);
  FormPart part;
  bool named = false;
  while (!head.empty()) {
    const std::size_t line_end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, line_end);
    head.remove_prefix(std::min(line_end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || lower_case(trimmed(line.substr(0, colon))) != "content-disposition") continue;
    const std::string_view value = line.substr(colon + 1);
    if (const auto name = parameter_of(value, "name")) part.name = *name, named = true;
    if (const auto file = parameter_of(value, "filename")) part.file_name = *file;
  }
  if (!named) throw HttpError(400, "a part of the form has no name");
  part.value = std::string(text.substr(end + 4));
  return part;
}

}  // namespace

std::vector<FormPart> parse_url_encoded(std::string_view text, std::size_t most) {
  std::vector<FormPart> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    begin = end + 1;
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const bool has_value = equals != pair.npos;
    auto name = percent_decoded(pair.substr(0, equals), true);
    auto value = percent_decoded(has_value ? pair.substr(equals + 1) : std::string_view(), true);
    if (!name || !value) throw HttpError(400, "the form has a malformed % sequence");
    if (parts.size() == most)
      throw HttpError(400, "expected at most " + std::to_string(most) + " fields in the form, found more");
    parts.push_back({std::move(*name), std::move(*value)});
  }
  return parts;
}

std::vector<FormPart> parse_multipart(std::string_view body, std::string_view type, std::size_t most) {
  const auto boundary = parameter_of(type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 70)
    throw HttpError(400, "expected a boundary of 1 to 70 characters in the Content-Type");
  const std::string first = "--" + *boundary, next = "\r\n" + first;
  std::size_t at = body.find(first);
  if (at == body.npos) throw HttpError(400, "the form does not contain its boundary");
  at += first.size();
  std::vector<FormPart> parts;
  while (!body.substr(at).starts_with("--")) {
    if (!body.substr(at).starts_with("\r\n")) throw HttpError(400, "a boundary of the form is malformed");
    const std::size_t end = body.find(next, at);
    if (end == body.npos) throw HttpError(400, "the form has no closing boundary");
    if (parts.size() == most)
      throw HttpError(400, "expected at most " + std::to_string(most) + " parts in the form, found more");
    parts.push_back(part_of(body.substr(at + 2, end > at + 2 ? end - at - 2 : 0)));
    at = end + next.size();
  }
  return parts;
}

}  // namespace regard::serve
