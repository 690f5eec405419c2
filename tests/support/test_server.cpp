#include "support/test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace regard::testing {

std::vector<std::string> Reply::events() const {
  std::vector<std::string> events;
  for (std::size_t at = body.find("data: "); at != body.npos; at = body.find("data: ", at)) {
    const std::size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end;
  }
  return events;
}

RawClient::RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ADD_FAILURE() << "cannot connect to port " << port;
}

RawClient::~RawClient() {
  if (socket_ >= 0) ::close(socket_);
}

void RawClient::reset() {
  const linger abrupt{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
  ::close(socket_);
  socket_ = -1;
}

bool RawClient::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool RawClient::receive(int seconds) {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, seconds * 1000) <= 0) return false;
  char buffer[16384];
  const auto count = ::recv(socket_, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

bool RawClient::read_until(const std::string& text, int seconds) {
  while (received_.find(text) == received_.npos)
    if (!receive(seconds)) return false;
  return true;
}

bool RawClient::closed(int seconds) {
  pollfd ready{socket_, POLLIN, 0};
  char buffer[16384];
  while (::poll(&ready, 1, seconds * 1000) > 0)
    if (::recv(socket_, buffer, sizeof buffer, 0) <= 0) return true;
  return false;
}

Reply RawClient::read(int seconds) {
  if (!read_until("\r\n\r\n", seconds)) return {};
  Reply reply;
  std::size_t at = received_.find("\r\n") + 2;
  reply.status = std::stoi(received_.substr(9, 3));
  while (received_.compare(at, 2, "\r\n") != 0) {
    const std::size_t end = received_.find("\r\n", at), colon = received_.find(':', at);
    std::string name = received_.substr(at, colon - at);
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    reply.fields[name] = received_.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  received_.erase(0, at + 2);
  const auto need = [&](std::size_t bytes) {
    while (received_.size() < bytes)
      if (!receive(seconds)) return false;
    return true;
  };
  if (reply.fields.contains("content-length")) {
    const std::size_t length = std::stoul(reply.fields["content-length"]);
    if (!need(length)) return {};
    reply.body = received_.substr(0, length);
    received_.erase(0, length);
    return reply;
  }
  if (!reply.fields.contains("transfer-encoding")) {
    while (receive(seconds)) {
    }
    reply.body = std::exchange(received_, "");
    return reply;
  }
  while (true) {
    if (!read_until("\r\n", seconds)) return {};
    const std::size_t length = std::stoul(received_, nullptr, 16), head = received_.find("\r\n") + 2;
    if (!need(head + length + 2)) return {};
    reply.body += received_.substr(head, length);
    received_.erase(0, head + length + 2);
    if (length == 0) return reply;
  }
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string request_text(const std::string& method, const std::string& path, const std::string& body,
                         const std::string& type, const std::string& fields) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields;
  if (method != "GET")
    text += "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

std::string TestServer::folder(const std::string& name) {
  static const TemporaryFolder written;
  if (name == "embed") return golden("hf-more/st-mean").string();
  if (name == "nli") return golden("hf-more/bert-nli").string();
  if (name == "ner") return golden("hf-more/bert-ner").string();
  if (name == "qa") return golden("tasks/roberta-qa").string();
  if (name == "whisper") return golden("sound/whisper-small").string();
  if (name == "ctc") return golden("hf-tiny/wav2vec2-adapter").string();
  if (name == "vit") return golden("hf-tiny/vit").string();
  if (name == "clip") return golden("hf-more/clip-words").string();
  if (name == "fill") return golden("tasks/roberta-fill").string();
  const auto path = written / name;
  if (!std::filesystem::exists(path)) write_text_model(path, name, name == "gpt" ? 256 : 0);
  return path.string();
}

serve::ServeOptions serve_options() {
  serve::ServeOptions options;
  options.port = 0, options.access_log = "";
  options.sessions = {.rows = 16, .cache_tokens = 8192, .tokens_at_once = 64, .sessions = 1024};
  options.in_progress = 16, options.queue = 64;
  options.languages["translator"] = {{"en"}, {"hi"}};
  options.chat_template = "chatml";
  return options;
}

TestServer::TestServer(serve::ServeOptions options, std::vector<std::string> names) {
  if (names.empty()) names = {"gpt", "translator", "embed", "nli", "ner", "qa", "fill"};
  for (const std::string& name : names) options.folders.push_back({name, folder(name)});
  service_ = std::make_unique<serve::Service>(std::move(options), pool_);
  while (!service_->ready()) {
    service_->check_loading();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Reply TestServer::get(const std::string& path) {
  RawClient client(port());
  client.send(request_text("GET", path));
  return client.read();
}

std::uint64_t TestServer::counted(const std::string& metric) {
  const std::string text = get("/metrics").body;
  const std::size_t at = text.find(metric + " ");
  return at == text.npos ? 0 : std::stoull(text.substr(at + metric.size() + 1));
}

Reply TestServer::post(const std::string& path, const Json& body) {
  RawClient client(port());
  client.send(request_text("POST", path, body.dump()));
  return client.read();
}

Reply TestServer::post_form(const std::string& path, const std::string& body, const std::string& type) {
  RawClient client(port());
  client.send(request_text("POST", path, body, type));
  return client.read();
}

}  // namespace regard::testing
