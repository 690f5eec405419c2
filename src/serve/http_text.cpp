#include "serve/http_text.h"

#include <fmt/format.h>

#include <ctime>

namespace regard::serve {
namespace {

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Replace the control characters of a field value with spaces, so that the value cannot start another field.
std::string one_line(std::string_view value) {
  std::string text(value);
  for (char& letter : text)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  return text;
}

}  // namespace

const char* reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

std::string head_of(const HttpResponse& response, const HeadOptions& options) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nServer: regard\r\n", response.status,
                                 reason_of(response.status), http_date());
  if (!response.type.empty()) head += "Content-Type: " + one_line(response.type) + "\r\n";
  if (options.chunked)
    head += "Transfer-Encoding: chunked\r\n";
  else if (!options.to_end && response.status != 204)  // RFC 9110, 8.6: 204 has no Content-Length
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  for (const auto& [name, value] : response.fields) head += name + ": " + one_line(value) + "\r\n";
  head += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  head += options.keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string chunk_of(std::string_view part) {
  return fmt::format("{:x}\r\n{}\r\n", part.size(), part);
}

std::optional<std::string> ambiguity_of(const HttpFields& fields, int minor) {
  int lengths = 0, codings = 0, hosts = 0;
  for (const auto& [name, value] : fields) {
    if (name == "content-length") {
      ++lengths;
      if (value.find_first_not_of("0123456789") != value.npos) return "expected a number in Content-Length";
    }
    if (name == "host") ++hosts;
    if (name == "transfer-encoding") {
      ++codings;
      if (lower_case(value) != "chunked") return "expected the transfer coding chunked, found another one";
    }
  }
  if (lengths > 1) return "expected one Content-Length, found several";
  if (codings > 1) return "expected one Transfer-Encoding, found several";
  if (lengths > 0 && codings > 0) return "expected Content-Length or Transfer-Encoding, found both";
  if (codings > 0 && minor == 0) return "expected no Transfer-Encoding in HTTP/1.0";
  if (hosts > 1) return "expected one Host, found several";
  if (hosts == 0 && minor >= 1) return "expected a Host field, found none";
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 32);
  return lower;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      decoded += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::optional<Target> split_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      const std::size_t slash = target.find('/', scheme.size());
      target = slash == target.npos ? "/" : target.substr(slash);
    }
  if (target.empty() || target.front() != '/') return std::nullopt;
  const std::size_t question = target.find('?');
  std::optional<std::string> path = percent_decoded(target.substr(0, question), false);
  if (!path) return std::nullopt;
  std::string query = question == target.npos ? std::string() : std::string(target.substr(question + 1));
  return Target{std::move(*path), std::move(query)};
}

}  // namespace regard::serve
