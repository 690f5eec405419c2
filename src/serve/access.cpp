#include "serve/access.h"

#include <arpa/inet.h>

#include <algorithm>
#include <span>

#include "base/counted.h"
#include "base/file.h"
#include "base/sha256.h"
#include "regard/error.h"
#include "serve/http_text.h"

namespace regard::serve {
namespace {

constexpr std::uint64_t kLargestKeyFile = 1 << 20;  // maximum size of a key file in bytes
constexpr std::size_t kShortestKey = 16;            // minimum length of a key in characters

std::string digest_of(std::string_view key) {
  return sha256(std::as_bytes(std::span(key.data(), key.size())));
}

// Compare two digests in constant time, so that the time reveals nothing about the keys.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0u : 1u;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace

ApiKeys::ApiKeys(const std::filesystem::path& file) {
  const std::string text = read_file(file.string(), kLargestKeyFile);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1, ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kShortestKey)
      throw Error(ErrorKind::bad_file, "an API key is too short", {file.string(), number})
          .found(counted(line.size(), "character"))
          .expected("at least " + std::to_string(kShortestKey) + " characters")
          .remedy("Create one with: openssl rand -hex 32");
    digests_.push_back(digest_of(line));
  }
  if (digests_.empty()) throw file_error(file.string(), "the file has no API key").expected("one per line");
}

std::optional<std::size_t> ApiKeys::find(std::string_view key) const {
  const std::string digest = digest_of(key);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (equal_in_constant_time(digests_[i], digest)) found = i;
  return found;
}

std::string_view key_of(const HttpRequest& request) {
  const std::string_view authorization = request.field("authorization");
  if (authorization.size() > 7 && lower_case(authorization.substr(0, 7)) == "bearer ")
    return authorization.substr(7);
  return request.field("x-api-key");
}

std::optional<std::string> host_name(std::string_view field) {
  std::string_view name = field, rest;
  if (!field.empty() && field.front() == '[') {
    const std::size_t end = field.find(']');
    if (end == field.npos) return std::nullopt;
    name = field.substr(1, end - 1), rest = field.substr(end + 1);
  } else if (const std::size_t colon = field.find(':'); colon != field.npos) {
    name = field.substr(0, colon), rest = field.substr(colon);
  }
  if (name.empty() || (!rest.empty() && rest.front() != ':')) return std::nullopt;
  if (rest.size() > 6 || (!rest.empty() && rest.find_first_not_of("0123456789", 1) != rest.npos))
    return std::nullopt;
  return lower_case(name);
}

bool is_address(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

bool is_loopback(const std::string& address) {
  if (address == "localhost" || address == "::1") return true;
  in_addr bytes{};
  return ::inet_pton(AF_INET, address.c_str(), &bytes) == 1 && (ntohl(bytes.s_addr) >> 24) == 127;
}

bool host_allowed(std::string_view field, const std::vector<std::string>& names) {
  const auto name = host_name(field);
  if (!name) return false;
  if (*name == "localhost" || is_address(*name)) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return lower_case(one) == *name; });
}

bool origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& origins) {
  for (const std::string& one : origins)
    if (one == "*" || one == origin) return true;
  const std::size_t scheme = origin.find("://");
  return scheme != origin.npos && lower_case(origin.substr(scheme + 3)) == lower_case(host);
}

}  // namespace regard::serve
