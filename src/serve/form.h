// Bodies of HTML forms: application/x-www-form-urlencoded and multipart/form-data (RFC 7578).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regard::serve {

struct FormPart {
  std::string name;
  std::string value;
  std::string file_name = {};  // name of an uploaded file; empty for an ordinary field
};

// parse_url_encoded() and parse_multipart() throw HttpError 400 for malformed input or more than `most`
// parts.
std::vector<FormPart> parse_url_encoded(std::string_view text, std::size_t most = 1000);
// Parse a multipart body. `type` is the Content-Type, which contains the boundary.
std::vector<FormPart> parse_multipart(std::string_view body, std::string_view type, std::size_t most = 100);

}  // namespace regard::serve
