// Access control by API keys, the Host field and web origins.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"

namespace regard::serve {

// API keys, stored as SHA-256 digests. A key is compared with every stored key, each in constant time.
class ApiKeys {
 public:
  ApiKeys() = default;  // accepts every request: no key is required
  // Read a file with one key per line. Empty lines and lines that start with # are skipped. Throws io, or
  // bad_file if there is no key or a key has fewer than 16 characters.
  explicit ApiKeys(const std::filesystem::path& file);

  bool needed() const { return !digests_.empty(); }
  // Return the index of the key, or nullopt if the key is unknown.
  std::optional<std::size_t> find(std::string_view key) const;

 private:
  std::vector<std::string> digests_;
};

// Return the key of a request, from "Authorization: Bearer KEY" or "X-API-Key: KEY". Returns "" if there is
// none.
std::string_view key_of(const HttpRequest& request);

// Return the host name of a Host field in lower case, without port and brackets, or nullopt if the field is
// malformed.
std::optional<std::string> host_name(std::string_view field);
// Return true if the name is a numeric IPv4 or IPv6 address.
bool is_address(const std::string& name);
bool is_loopback(const std::string& address);  // true for a loopback address or "localhost"

// Return true if requests for this host are accepted: an address, localhost or one of `names`. This protects
// against web pages that make their own host name resolve to this machine (DNS rebinding).
bool host_allowed(std::string_view field, const std::vector<std::string>& names);

// Return true if web pages of this origin may send requests: `origins` contains the origin or "*", or the
// origin has the host and port of the request. `host` is the Host field of the request.
bool origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& origins);

}  // namespace regard::serve
