// The only file that includes Boost.Beast, because the headers of Boost.Beast take a long time to compile.
#ifdef REGARD_HAVE_BOOST

#include "serve/http_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <limits>
#include <optional>

#include "serve/http_delivery.h"
#include "serve/http_text.h"
#include "serve/outgoing_bytes.h"

namespace regard::serve {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using net::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadAhead = 32 * 1024;        // size of a connection's input buffer in bytes
constexpr std::size_t kWriteAtOnce = 256 * 1024;     // maximum bytes per write; time limit: HttpLimits::send
constexpr std::size_t kMostDiscarded = 1024 * 1024;  // maximum bytes read and discarded after a refusal
constexpr std::chrono::seconds kLinger{2};           // maximum time to read and discard input after a refusal

// One connection. All functions run on the server's thread.
class Connection : public OpenConnection {
 public:
  Connection(std::shared_ptr<ServerCore> core, tcp::socket socket)
      : core_(std::move(core)), stream_(std::move(socket)), buffer_(kReadAhead) {
    ErrorCode ignored;
    const auto peer = stream_.socket().remote_endpoint(ignored);
    if (!ignored) client_ = peer.address().to_string();
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    const std::lock_guard lock(core_->guard);
    core_->connections.insert(this);
    ++core_->open;
  }
  ~Connection() override { unlist(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { wait_for_request(); }

  // Append bytes to the response to the current request. `last` is true if these bytes complete the response.
  void enqueue(std::string bytes, bool last) {
    if (closed_) return;
    outgoing_.add(std::move(bytes));
    ended_ = ended_ || last;
    if (!writing_) write_next();
  }
  bool keep_alive() const { return keep_alive_ && !early_ && !core_->draining; }
  bool head_only() const { return head_only_; }
  bool is_http10() const { return http10_; }
  void close_after_response() { keep_alive_ = false; }
  void close_if_idle() override {
    if (!busy_) close();
  }
  void close() override {
    if (closed_) return;
    closed_ = true;
    ErrorCode ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    if (delivery_) delivery_->leave();
    delivery_.reset();
    unlist();
  }

 private:
  class Exchange;

  std::shared_ptr<Connection> self() { return std::static_pointer_cast<Connection>(shared_from_this()); }

  void unlist() {
    const std::lock_guard lock(core_->guard);
    if (core_->connections.erase(this) > 0) --core_->open;
  }

  void wait_for_request() {
    busy_ = ended_ = head_only_ = http10_ = early_ = false;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(core_->limits.header_bytes));
    // no limit on the body until the route is known
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    if (core_->draining) return close();
    if (buffer_.size() > 0) return read_header();
    stream_.expires_after(core_->limits.idle);
    stream_.async_read_some(buffer_.prepare(2048),
                            [self = self()](const ErrorCode& error, std::size_t count) {
                              if (error) return self->close();
                              self->buffer_.commit(count);
                              self->read_header();
                            });
  }

  void read_header() {
    busy_ = true;
    request_ = std::make_shared<HttpRequest>();
    request_->client = client_;
    stream_.expires_after(core_->limits.header);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = self()](const ErrorCode& error, std::size_t) { self->on_header(error); });
  }

  void on_header(const ErrorCode& error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(431, fmt::format("the header exceeds {} bytes", core_->limits.header_bytes));
    if (error == beast::error::timeout) return close();
    if (error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      return refuse(400, "the request is not valid HTTP/1.1: " + error.message());
    if (error) return close();
    const auto& message = parser_->get();
    request_->method = std::string(message.method_string());
    head_only_ = request_->method == "HEAD";
    const auto target = split_target({message.target().data(), message.target().size()});
    if (target) request_->path = target->path, request_->query = target->query;
    for (const auto& field : message) {
      request_->fields.emplace_back(lower_case({field.name_string().data(), field.name_string().size()}),
                                    std::string(field.value()));
    }
    if (message.version() != 10 && message.version() != 11)
      return refuse(400, "expected HTTP/1.0 or HTTP/1.1");
    http10_ = message.version() == 10;
    if (const auto why = ambiguity_of(request_->fields, http10_ ? 0 : 1)) return refuse(400, *why);
    if (!target) return refuse(400, "the request target is malformed");
    keep_alive_ = parser_->keep_alive();
    read_body();
  }

  void read_body() {
    const std::size_t limit = core_->handler.body_limit(request_->method, request_->path);
    const auto length = parser_->content_length();
    if (length && *length > limit) return refuse(413, fmt::format("the body exceeds {} bytes", limit));
    parser_->body_limit(limit);
    auto reserved = core_->large_bodies->reserve(length ? static_cast<std::size_t>(*length) : limit);
    if (!reserved) return refuse(429, "the server is reading too many large bodies");
    request_->reserved = std::move(*reserved);
    const std::string_view expected = request_->field("expect");
    if (!expected.empty()) {
      if (lower_case(expected) != "100-continue") return refuse(417, "expected 100-continue in Expect");
      if (!parser_->is_done()) {
        static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        stream_.expires_after(core_->limits.send);
        return net::async_write(stream_, net::buffer(go_on),
                                [self = self()](const ErrorCode& error, std::size_t) {
                                  if (error) return self->abandon();
                                  self->read_rest();
                                });
      }
    }
    read_rest();
  }

  void read_rest() {
    stream_.expires_after(core_->limits.body);
    http::async_read(stream_, buffer_, *parser_,
                     [self = self()](const ErrorCode& error, std::size_t) { self->on_body(error); });
  }

  void on_body(const ErrorCode& error) {
    if (error == http::error::body_limit) return refuse(413, "the body is too large");
    if (error == beast::error::timeout) return refuse(408, "the body did not arrive in time");
    if (error && error != http::error::end_of_stream && error != http::error::partial_message &&
        error.category() == make_error_code(http::error::bad_method).category())
      return refuse(400, "the body is not valid HTTP/1.1: " + error.message());
    if (error) return abandon();
    request_->body = std::move(parser_->get().body());
    early_ = buffer_.size() > 0;
    deliver();
  }

  void deliver();

  // Report to the handler that the client has disconnected before the end of its request, and close the
  // connection.
  void abandon() {
    if (!closed_) core_->handler.abandoned(*request_);
    close();
  }

  // Detect that the client closes the connection while its request is processed. If bytes of a further
  // (pipelined) request arrive, close the connection after this response.
  void watch() {
    const std::uint64_t id = ++watch_;
    stream_.socket().async_wait(tcp::socket::wait_read, [self = self(), id](const ErrorCode& error) {
      if (error || self->closed_ || id != self->watch_ || self->ended_) return;
      char dropped[4096];
      const auto count =
          ::recv(self->stream_.socket().native_handle(), dropped, sizeof dropped, MSG_DONTWAIT);
      if (count > 0) {
        self->early_ = true;
        self->discarded_ += static_cast<std::size_t>(count);
        if (self->discarded_ > kMostDiscarded) return self->close();
      } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        return self->close();
      }
      self->watch();
    });
  }

  // Send an error response to an incomplete request, and close the connection without a reset.
  void refuse(int status, const std::string& message) {
    HttpResponse response = core_->handler.refuse(*request_, status, message);
    delivery_ = std::make_shared<Delivery>();
    keep_alive_ = false, lingers_ = true;
    std::string bytes = head_of(response, {.keep_alive = false});
    if (!head_only_) bytes += response.body;
    enqueue(std::move(bytes), true);
  }

  void write_next() {
    if (closed_) return;
    const std::string_view piece = outgoing_.next();
    if (piece.empty()) {
      writing_ = false;
      if (ended_) finish();
      return;
    }
    writing_ = true;
    stream_.expires_after(core_->limits.send);
    net::async_write(stream_, net::buffer(piece), [self = self()](const ErrorCode& error, std::size_t count) {
      if (error) return self->close();
      self->outgoing_.taken(count);
      if (self->delivery_) self->delivery_->sent(count);
      self->write_next();
    });
  }

  void finish() {
    ++watch_;
    const bool again = keep_alive();
    delivery_.reset();
    if (lingers_ || (!again && early_)) return linger();
    ErrorCode ignored;
    stream_.socket().cancel(ignored);  // cancel the wait that watch() started
    if (again) return wait_for_request();
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    close();
  }

  // Read and discard the remaining input. Closing the connection with unread input would reset the
  // connection, and the client might not receive the response.
  void linger() {
    ErrorCode ignored;
    stream_.socket().cancel(ignored);
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    discard();
  }
  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(16384),
                            [self = self()](const ErrorCode& error, std::size_t count) {
                              self->discarded_ += count;
                              if (error || self->discarded_ > kMostDiscarded) return self->close();
                              self->discard();
                            });
  }

  std::shared_ptr<ServerCore> core_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body> > parser_;
  std::shared_ptr<HttpRequest> request_;
  std::shared_ptr<Delivery> delivery_;
  std::string client_;
  OutgoingBytes outgoing_{kWriteAtOnce};
  std::size_t discarded_ = 0;  // number of bytes discarded
  std::uint64_t watch_ = 0;
  bool keep_alive_ = true, head_only_ = false, http10_ = false;
  bool busy_ = false;   // true if a request has begun and its response is incomplete
  bool early_ = false;  // true if bytes arrived after the request but before the end of its response
  bool ended_ = false, writing_ = false, closed_ = false, lingers_ = false;
};

// Implements HttpExchange. The exchange keeps its connection alive until the response is complete.
class Connection::Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<ServerCore> core, std::shared_ptr<Connection> connection,
           std::shared_ptr<Delivery> delivery)
      : core_(std::move(core)),
        connection_(std::move(connection)),
        delivery_(std::move(delivery)),
        head_only_(connection_->head_only()),
        http10_(connection_->is_http10()) {}
  ~Exchange() override {
    core_->post([connection = std::move(connection_), complete = complete_.load()] {
      if (!complete) connection->close();
    });
  }

  void add_field(std::string name, std::string value) override {
    fields_.emplace_back(std::move(name), std::move(value));
  }

  void send(HttpResponse response) override {
    response.fields.insert(response.fields.end(), fields_.begin(), fields_.end());
    complete_ = true;
    if (!delivery_->begin(response.status)) return;
    if (!head_only_) {
      delivery_->bytes = response.body.size();
      delivery_->add(response.body.size());
    }
    post([response = std::move(response), head_only = head_only_](Connection& connection) {
      std::string bytes = head_of(response, {.keep_alive = connection.keep_alive()});
      if (!head_only) bytes += response.body;
      connection.enqueue(std::move(bytes), true);
    });
  }

  void begin(HttpResponse head) override {
    head.fields.insert(head.fields.end(), fields_.begin(), fields_.end());
    if (!delivery_->begin(head.status)) return;
    post([head = std::move(head), http10 = http10_](Connection& connection) {
      if (http10) connection.close_after_response();
      connection.enqueue(
          head_of(head, {.keep_alive = connection.keep_alive(), .chunked = !http10, .to_end = http10}),
          false);
    });
  }

  bool write(std::string_view part) override {
    if (part.empty()) return !gone();
    std::string bytes = http10_ ? std::string(part) : chunk_of(part);
    if (!delivery_->add_when_room(bytes.size(), core_->limits.unsent_bytes)) return false;
    delivery_->bytes += part.size();
    post([bytes = std::move(bytes)](Connection& connection) mutable {
      connection.enqueue(std::move(bytes), false);
    });
    return true;
  }

  void end() override {
    complete_ = true;
    post([http10 = http10_](Connection& connection) {
      connection.enqueue(http10 ? std::string() : std::string(kLastChunk), true);
    });
  }

  void wait_until_received(std::chrono::steady_clock::time_point deadline) override {
    if (delivery_->wait_until_sent(core_->limits.unsent_bytes, deadline)) return;
    post([](Connection& connection) { connection.close(); });
  }

  bool gone() const override { return delivery_->is_gone(); }
  std::shared_ptr<const void> when_gone(std::function<void()> callback) override {
    return delivery_->call_when_gone(std::move(callback));
  }
  int status() const override { return delivery_->status; }
  std::uint64_t bytes_sent() const override { return delivery_->bytes; }

 private:
  template <class Work>
  void post(Work&& work) {
    core_->post([connection = connection_, delivery = delivery_, work = std::forward<Work>(work)]() mutable {
      if (connection->delivery_ == delivery) work(*connection);
    });
  }

  std::shared_ptr<ServerCore> core_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Delivery> delivery_;
  HttpFields fields_;
  std::atomic<bool> complete_{false};
  bool head_only_, http10_;
};

void Connection::deliver() {
  delivery_ = std::make_shared<Delivery>();
  auto exchange = std::make_shared<Exchange>(core_, self(), delivery_);
  watch();
  core_->handler.handle(std::move(request_), std::move(exchange));
}

}  // namespace

void start_connection(std::shared_ptr<ServerCore> core, tcp::socket socket) {
  std::make_shared<Connection>(std::move(core), std::move(socket))->start();
}

}  // namespace regard::serve

#endif
