#include "cli/http_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/plain_text.h"
#include "base/printable.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "inspect/edited_pass.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

// maximum size of a response's header and body in bytes
constexpr std::size_t kMostHeader = std::size_t{64} << 10, kMostBody = std::size_t{1} << 30;
constexpr std::size_t kMostKey = 4096;
constexpr std::size_t kMostError = std::size_t{1} << 20;  // maximum bytes of an error body parsed as JSON
constexpr int kMostRetries = 60;        // maximum repetitions of a request while the server is busy
constexpr double kPatience = 900;       // maximum seconds to wait for the server to send or accept bytes
constexpr int kPollMilliseconds = 200;  // milliseconds between two checks for stop signals

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Return the value of a field in a response's header; "" if there is none.
std::string field(const std::string& head, const std::string& name) {
  const std::size_t at = lower(head).find("\r\n" + name + ":");
  if (at == head.npos) return {};
  const std::size_t begin = head.find_first_not_of(' ', at + name.size() + 3);
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::size_t number_of(const std::string& text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end != text.data() ? value : kMostBody + 1;
}

// Wait until the socket is ready. Returns false after kPatience seconds.
bool wait_for(int socket, short events) {
  const base::Stopwatch waited;
  while (waited.seconds() < kPatience) {
    throw_if_stopped();
    pollfd one{socket, events, 0};
    if (::poll(&one, 1, kPollMilliseconds) > 0) return true;
  }
  return false;
}

// Parse the body of an error as JSON. Returns a "discarded" value if the body is not JSON or is longer than
// kMostError.
Json error_json(const std::string& body) {
  if (body.size() > kMostError) return Json(Json::value_t::discarded);
  return Json::parse(body, nullptr, false);
}

// Return the message of an error body: {"error": TEXT} or {"error": {"message": TEXT}}. For a body without
// "error", returns its first 500 bytes.
std::string message_of(const std::string& body) {
  const Json json = error_json(body);
  if (!json.is_object() || !json.contains("error")) return body.substr(0, 500);
  const Json& error = json["error"];
  const Json& message = error.is_object() && error.contains("message") ? error["message"] : error;
  return message.is_string() ? message.get<std::string>() : std::string();
}

// Return the error kind that the body of a response with status 4xx names. If it names no kind (the response
// may be that of a proxy), return invalid_input for status 413 and usage for another status.
ErrorKind kind_of(int status, const std::string& body) {
  const Json json = error_json(body);
  if (!json.is_object() || !json.contains("kind"))
    return status == 413 ? ErrorKind::invalid_input : ErrorKind::usage;
  for (const ErrorKind kind : {ErrorKind::invalid_input, ErrorKind::resource_exhausted})
    if (json["kind"] == name_of(kind)) return kind;
  return ErrorKind::usage;
}

}  // namespace

void ServerOptions::exclude(bool set, const char* option) const {
  if (given() && set)
    throw usage_error(std::string(option) + " cannot be combined with --server")
        .remedy("Remove one of the two options");
}

void add_server_options(CLI::App& verb, ServerOptions& options) {
  verb.add_option("--server", options.url,
                  "Use a running `regard serve` at this URL (http://HOST:PORT); MODEL is then the name of a "
                  "model\non the server")
      ->check(not_empty());
  verb.add_option("--server-key", options.key_file,
                  "File whose first line is the server's API key. Default: send no key")
      ->check(not_empty());
}

HttpClient::HttpClient(const ServerOptions& options) : url_(options.url) {
  std::string rest = url_;
  const auto malformed = [&] {
    return usage_error("the URL of --server is malformed")
        .found("\"" + url_ + "\"")
        .expected("http://HOST:PORT");
  };
  if (rest.starts_with("https://"))
    throw malformed().remedy("HTTPS is not supported: use the server's own address or a tunnel");
  if (!rest.starts_with("http://")) throw malformed();
  rest.erase(0, 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  base_ = rest.substr(slash), rest.resize(slash);
  while (base_.ends_with('/')) base_.pop_back();
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  const std::size_t colon = bracket == rest.npos ? rest.npos : rest.find(':', bracket);
  host_ = rest.substr(0, colon), port_ = colon == rest.npos ? "80" : rest.substr(colon + 1);
  if (host_.starts_with('[') && host_.ends_with(']')) host_ = host_.substr(1, host_.size() - 2);
  if (host_.empty() || host_.find_first_of("[]") != host_.npos || port_.empty() ||
      port_.find_first_not_of("0123456789") != port_.npos || url_.find_first_of(" \r\n\t") != url_.npos)
    throw malformed();
  if (options.key_file.empty()) return;
  key_ = read_file(options.key_file, kMostKey);
  key_.resize(std::min(key_.find_first_of("\r\n"), key_.size()));
}

HttpClient::~HttpClient() {
  disconnect();
}

void HttpClient::disconnect() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  received_.clear();
}

Error HttpClient::failed(const std::string& what) const {
  return Error(ErrorKind::io, what, {url_, -1, -1});
}

Error HttpClient::malformed() const {
  return failed("the server's response is malformed");
}

Json HttpClient::json_of(const std::string& body) const {
  try {
    return parse_json(body, url_, {.bytes = kMostBody});
  } catch (const Error& error) {
    throw malformed().found(error.message());
  }
}

void HttpClient::connect() {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found); error != 0)
    throw failed("cannot resolve the host name of the server").found(::gai_strerror(error));
  int reason = 0;
  for (const addrinfo* one = found; one != nullptr && socket_ < 0; one = one->ai_next) {
    const int made = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, one->ai_protocol);
    if (made >= 0 && ::connect(made, one->ai_addr, one->ai_addrlen) == 0) {
      socket_ = made;
    } else {
      reason = errno;
      if (made >= 0) ::close(made);
    }
  }
  ::freeaddrinfo(found);
  if (socket_ < 0) throw_if_stopped();  // if there is no connection, a signal may have interrupted connect()
  if (socket_ < 0)
    throw failed("cannot connect to the server")
        .found(std::strerror(reason))
        .remedy("Check that the server is running at this address");
}

// Send the bytes. Return early if the server closes the connection, because it may have sent a response
// already, for example with status 413.
void HttpClient::send_all(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    if (!wait_for(socket_, POLLOUT)) throw failed("the server did not accept the request in time");
    const ssize_t count =
        ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

// Receive further bytes. Returns false if the server has closed the connection.
bool HttpClient::read_more() {
  if (!wait_for(socket_, POLLIN)) throw failed("the server did not respond in time");
  char buffer[65536];
  const ssize_t count = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

HttpClient::Response HttpClient::receive() {
  const auto need = [&](std::size_t size) {
    while (received_.size() < size)
      if (!read_more()) throw failed("the server closed the connection before the end of its response");
  };
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == received_.npos) {
    if (received_.size() > kMostHeader) throw malformed();
    if (!read_more()) return {};
  }
  const std::string head = received_.substr(0, end + 2);
  received_.erase(0, end + 4);
  if (!head.starts_with("HTTP/1.") || head.size() < 12) throw malformed();
  Response response{static_cast<int>(number_of(head.substr(9, 3), 10)), 1, {}};
  if (const std::string retry = field(head, "retry-after"); !retry.empty())
    response.retry_after = static_cast<int>(std::min<std::size_t>(number_of(retry, 10), 60));
  if (lower(field(head, "transfer-encoding")) == "chunked") {
    for (std::size_t size = 1; size > 0;) {
      while ((end = received_.find("\r\n")) == received_.npos) {
        if (received_.size() > kMostHeader) throw malformed();
        need(received_.size() + 1);
      }
      size = number_of(received_.substr(0, end), 16);
      if (size > kMostBody - response.body.size()) throw failed("the server's response is too large");
      need(end + size + 4);
      response.body.append(received_, end + 2, size);
      received_.erase(0, end + size + 4);
    }
  } else {
    const std::size_t size = number_of(field(head, "content-length"), 10);
    if (size > kMostBody) throw failed("the server's response is too large or has no length");
    need(size);
    response.body = received_.substr(0, size);
    received_.erase(0, size);
  }
  if (lower(field(head, "connection")) == "close") disconnect();
  return response;
}

// Send one request and read its response. Opens a new connection if the server has closed the old one.
HttpClient::Response HttpClient::exchange(const std::string& request) {
  const bool old = socket_ >= 0;
  if (!old) connect();
  send_all(request);
  Response response = receive();
  if (response.status != 0) return response;
  disconnect();
  if (!old) throw failed("the server closed the connection without a response");
  return exchange(request);
}

// Keep only the warnings that this response contains too: an intervention without effect in one request may
// change the result of another.
void HttpClient::keep_warnings(const Json& response) {
  std::vector<inspect::InterventionWarning> now;
  if (response.is_object() && response.contains("warnings")) now = inspect::warnings_in(response["warnings"]);
  warnings_ = warnings_ ? inspect::common_warnings(*warnings_, now) : std::move(now);
}

void HttpClient::print_warnings() const {
  if (!warnings_) return;
  for (const inspect::InterventionWarning& warning : *warnings_) {
    const std::string text = warning.text();
    print_message("regard: warning: {}\n", printable(text, text.size()));
  }
}

Json HttpClient::post(const std::string& path, const Json& body) {
  const std::string text = json_text(body);
  std::string request =
      "POST " + base_ + path +
      " HTTP/1.1\r\nHost: " + (host_.find(':') == host_.npos ? host_ : "[" + host_ + "]") + ":" + port_ +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(text.size()) + "\r\n";
  if (!key_.empty()) request += "Authorization: Bearer " + key_ + "\r\n";
  request += "\r\n" + text;
  for (int attempt = 0;; ++attempt) {
    const Response response = exchange(request);
    if (response.status == 200) {
      Json json = json_of(response.body);
      keep_warnings(json);
      return json;
    }
    const std::string message = message_of(response.body);
    if ((response.status == 429 || response.status == 503) && attempt < kMostRetries) {
      for (int i = 0; i < response.retry_after * 5; ++i) {
        throw_if_stopped();
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
      }
      continue;
    }
    if (response.status < 400 || response.status >= 500 || response.status == 429)
      throw failed("the server failed: " + message).found("status " + std::to_string(response.status));
    Error error(kind_of(response.status, response.body), "the server refused the request: " + message);
    if (response.status == 401 || response.status == 403)
      error.remedy("Give the server's API key with --server-key");
    throw error;
  }
}

}  // namespace regard::cli
