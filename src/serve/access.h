// Who may use the server: API keys, the Host field, web origins.
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

// Keys are kept as SHA-256 digests. Every key is compared, in constant time.
class ApiKeys {
 public:
  ApiKeys() = default;  // no key is needed
  // One key per line; empty lines and lines that start with # are skipped. Throws io; bad_file if there is no
  // key or one has fewer than 16 characters.
  explicit ApiKeys(const std::filesystem::path& file);

  bool needed() const { return !digests_.empty(); }
  // The index of the key; nullopt: there is no such key.
  std::optional<std::size_t> find(std::string_view key) const;

 private:
  std::vector<std::string> digests_;
};

// The key of a request: "Authorization: Bearer KEY" or "X-API-Key: KEY"; "" if there is none.
std::string_view key_of(const HttpRequest& request);

// The host name of a Host field, without port and brackets, in lower case. Nullopt: malformed.
std::optional<std::string> host_name(std::string_view field);
// Whether the name is a numeric IPv4 or IPv6 address.
bool is_address(const std::string& name);
bool is_loopback(const std::string& address);  // also "localhost"

// Whether a request for this host is answered: for an address, localhost or a name of the list. A web page
// that makes its own name point to this machine (DNS rebinding) is refused thereby.
bool host_allowed(std::string_view field, const std::vector<std::string>& names);

// Whether a web page of this origin may send requests: of the same host and port, or of the list ("*": any).
bool origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& origins);

}  // namespace regard::serve
