// Format and parse parts of HTTP messages: reason phrases, response heads and chunks, checks of request
// fields, and request targets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "serve/http.h"

namespace regard::serve {

const char* reason_of(int status);  // reason phrase of a status, such as "Not Found"

struct HeadOptions {
  bool keep_alive = true;
  // send the body in chunks; if false, the size is sent in Content-Length, unless `to_end` is set
  bool chunked = false;
  bool to_end = false;  // the body ends when the connection is closed
};
// Return the status line and fields of a response, with the final empty line. Status 204 has no body and no
// Content-Length.
std::string head_of(const HttpResponse& response, const HeadOptions& options);

std::string chunk_of(std::string_view part);  // return one chunk of a chunked body
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Return the reason to refuse a request whose length or host proxies could interpret differently, or nullopt
// for any other request. The names of `fields` must be in lower case; the HTTP version is 1.`minor`.
std::optional<std::string> ambiguity_of(const HttpFields& fields, int minor);

// Split a request target into path and query, and decode the path. The absolute form "http://host/path" is
// also accepted. Return nullopt if the target is malformed.
struct Target {
  std::string path, query;
};
std::optional<Target> split_target(std::string_view target);

std::string lower_case(std::string_view text);  // converts only ASCII letters

// Decode %XX and, with `plus`, "+" as a space. Return nullopt if the text is malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus);

}  // namespace regard::serve
