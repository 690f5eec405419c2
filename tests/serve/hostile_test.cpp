// Malicious requests: each gets an error or no response, and the server continues.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>

#include "support/namespaces.h"
#include "support/resident.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& hostile_server() {
  static TestServer only(serve_options(), {"gpt", "translator", "embed"});
  return only;
}

void expect_quiet(TestServer& of) {
  for (int i = 0; i < 500 && (of.service().metrics().in_progress > 0 || of.service().connections() > 0); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(of.service().metrics().in_progress, 0);
  EXPECT_EQ(of.service().connections(), 0u);
  EXPECT_EQ(of.get("/health").status, 200);
}

// Removing the null members from the object one by one would take minutes.
TEST(Hostile, ManyNullMembersTakeLinearTime) {
  serve::ServeOptions options = serve_options();
  options.body_bytes = std::size_t{8} << 20;
  TestServer large(options, {"gpt"});
  std::string body = R"({"model":"gpt","prompt":"the","max_tokens":1)";
  for (int i = 0; i < 300000; ++i) body += ",\"n" + std::to_string(i) + "\":null";
  EXPECT_EQ(large.post_form("/v1/completions", body + "}", "application/json").status, 200);
}

TEST(Hostile, CountsWithoutAnEndAreRefused) {
  const Json request{{"model", "gpt"}, {"prompt", "the"}, {"max_tokens", 4}};
  const std::pair<const char*, Json> members[] = {
      {"n", 1000000000},       {"n", 1e300},           {"n", -1},          {"n", 0},
      {"n", "many"},           {"best_of", 100000},    {"max_tokens", -5}, {"max_tokens", 1e18},
      {"logprobs", 1000000},   {"temperature", 1e308}, {"top_p", -1},      {"seed", -1},
      {"presence_penalty", 99}};
  for (const auto& [name, value] : members) {
    Json with = request;
    with[name] = value;
    EXPECT_EQ(hostile_server().post("/v1/completions", with).status, 400) << name << " " << value;
  }
  Json stops = request;
  for (int i = 0; i < 10000; ++i) stops["stop"].push_back("a");
  EXPECT_EQ(hostile_server().post("/v1/completions", stops).status, 400);
  Json biases = request;
  for (int i = 0; i < 5000; ++i) biases["logit_bias"][std::to_string(i)] = 1;
  EXPECT_EQ(hostile_server().post("/v1/completions", biases).status, 400);
  // JSON numbers beyond the range of all number types are rejected.
  for (const char* number : {"1e999", "-1e999", "99999999999999999999999999"}) {
    RawClient client(hostile_server().port());
    client.send(request_text("POST", "/v1/completions",
                             std::string(R"({"model":"gpt","prompt":"a","max_tokens":)") + number + "}"));
    EXPECT_EQ(client.read().status, 400) << number;
  }
  EXPECT_EQ(
      hostile_server()
          .post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "hi"}, {"alternatives", 100000}})
          .status,
      400);
}

TEST(Hostile, TextThatIsNotUtf8IsRefused) {
  for (const std::string& bad : {std::string("\xff"), std::string("\xc0\x80"), std::string("\xed\xa0\x80"),
                                 std::string("a\xe2\x82")}) {
    RawClient client(hostile_server().port());
    client.send(request_text("POST", "/v1/completions", R"({"model":"gpt","prompt":")" + bad + "\"}"));
    EXPECT_EQ(client.read().status, 400);
    EXPECT_EQ(hostile_server().post_form("/translate", "q=" + bad + "&source=en&target=hi").status, 400);
    EXPECT_EQ(hostile_server().post_form("/translate", "q=%ff&source=en&target=hi").status, 400);
    RawClient path(hostile_server().port());
    path.send("GET /v1/models/" + bad + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const int status = path.read().status;
    EXPECT_TRUE(status == 400 || status == 404) << status;
  }
  EXPECT_EQ(hostile_server().get("/v1/models/%ff%fe").status, 404);
  // One half of a surrogate pair is not valid.
  RawClient client(hostile_server().port());
  client.send(request_text("POST", "/v1/completions", R"({"model":"gpt","prompt":"\ud800"})"));
  EXPECT_EQ(client.read().status, 400);
}

TEST(Hostile, OddFramesAreRefused) {
  const std::string head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n";
  const std::string chunked = head + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string bad[] = {
      chunked + "5;" + std::string(100000, 'x') + "\r\nhello\r\n0\r\n\r\n",
      chunked + "ffffffffffffffffff\r\n",
      chunked + "-1\r\n\r\n",
      chunked + "0x5\r\nhello\r\n0\r\n\r\n",
      head + "Content-Length: 99999999999999999999\r\n\r\n",
      head + "Content-Length: 0x10\r\n\r\n",
      head + "Content-Length: +5\r\n\r\nhello",
      head + std::string("X-Nul: a\0b\r\n\r\n", 14),
      head + "X-Fold: a\r\n b\r\nContent-Length : 0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
      "POST http://evil/v1/completions HTTP/1.1\r\nHost: evil\r\nContent-Length: 0\r\n\r\n",
      "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"};
  for (const std::string& text : bad) {
    RawClient client(hostile_server().port());
    client.send(text);
    const int status = client.read(5).status;
    EXPECT_TRUE(status == 0 || (status >= 400 && status < 500)) << status << ": " << text.substr(0, 120);
  }
  // A body in chunks of one byte is accepted.
  std::string body = R"({"model":"gpt","prompt":"the","max_tokens":2})", chunks = chunked;
  for (const char byte : body) chunks += std::string("1\r\n") + byte + "\r\n";
  RawClient client(hostile_server().port());
  client.send(chunks + "0\r\n\r\n");
  EXPECT_EQ(client.read().status, 200);
}

// Return a connected socket, or −1 if the system refuses it.
int quick_socket(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(port), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return made;
  ::close(made);
  return -1;
}

// Run in a child process: open connections, begin a request on every second one, report their number, and
// keep them until `hold` is closed. Use only functions that are allowed after fork() in a process with
// threads.
[[noreturn]] void connecting_process(std::uint16_t port, std::int32_t wanted, int report, int hold) {
  static int sockets[10000];
  constexpr char kBegun[] = "POST /v1/completions HTTP/1.1\r\nHost: loc";
  std::int32_t open = 0;
  while (open < wanted && (sockets[open] = quick_socket(port)) >= 0) ++open;
  for (std::int32_t i = 0; i < open; i += 2) ::send(sockets[i], kBegun, sizeof kBegun - 1, MSG_NOSIGNAL);
  if (::write(report, &open, sizeof open) != sizeof open) ::_exit(1);
  char byte = 0;
  while (::read(hold, &byte, 1) > 0) {
  }
  ::_exit(0);
}

TEST(Hostile, TenThousandOpenConnections) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 11000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto wanted = static_cast<std::int32_t>(std::min<rlim_t>(10000, limit.rlim_cur - 500));
  {
    serve::ServeOptions options = serve_options();
    options.http.connections = 20000, options.http.header = std::chrono::seconds(120);
    TestServer many(options, {"gpt"});
    const double memory = resident_mib();
    int report[2], hold[2];
    ASSERT_EQ(::pipe(report), 0);
    ASSERT_EQ(::pipe(hold), 0);
    const pid_t client = ::fork();
    if (client == 0) {
      ::close(hold[1]);
      connecting_process(many.port(), wanted, report[1], hold[0]);
    }
    ASSERT_GT(client, 0);
    std::int32_t open = 0;
    EXPECT_EQ(::read(report[0], &open, sizeof open), static_cast<ssize_t>(sizeof open));
    EXPECT_EQ(open, wanted);
    for (int i = 0; i < 500 && many.service().connections() < static_cast<std::size_t>(open); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(many.service().connections(), static_cast<std::size_t>(open));
    const Reply reply = many.post("/v1/completions", {{"prompt", "the"}, {"max_tokens", 3}});
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::printf("%d connections, %.1f KiB each\n", open,
                (resident_mib() - memory) * 1024.0 / std::max(1, open));
    for (const int one : {report[0], report[1], hold[0], hold[1]}) ::close(one);
    ::waitpid(client, nullptr, 0);
    expect_quiet(many);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// Run in a child process: send a request and read slowly until killed. Use only functions that are allowed
// after fork() in a process with threads.
[[noreturn]] void client_process(std::uint16_t port, const char* request, std::size_t size) {
  const int made = quick_socket(port);
  if (made < 0) ::_exit(1);
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t count = ::send(made, request + sent, size - sent, MSG_NOSIGNAL);
    if (count <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(count);
  }
  char buffer[64];
  while (::read(made, buffer, sizeof buffer) > 0) {
  }
  ::_exit(0);
}

// REGARD_SOAK_SECONDS sets the duration of this test; the soak test runs it for longer.
TEST(Hostile, KilledClientsLoseNoSlot) {
  const char* seconds = std::getenv("REGARD_SOAK_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 2);
  serve::ServeOptions options = serve_options();
  options.in_progress = 8, options.queue = 8;
  TestServer of(options, {"gpt", "translator"});
  const std::string requests[] = {
      request_text("POST", "/v1/completions",
                   R"({"model":"gpt","prompt":"the","max_tokens":200,"stream":true,"n":2,"temperature":1})"),
      request_text("POST", "/v1/completions", R"({"model":"gpt","prompt":"the","max_tokens":200})"),
      request_text("POST", "/translate", R"({"q":"the dog","source":"en","target":"hi"})"),
      request_text("POST", "/attend",
                   R"({"model":"gpt","text":"the","interventions":["zero decoder.0.0"],"generate":50})")};
  std::mt19937 random(7);
  int killed = 0;
  while (std::chrono::steady_clock::now() < end) {
    std::vector<pid_t> clients;
    for (int i = 0; i < 12; ++i) {
      const std::string& request = requests[random() % std::size(requests)];
      // Some clients are killed before they have sent the whole request.
      const std::size_t size = random() % 4 == 0 ? random() % request.size() : request.size();
      const pid_t client = ::fork();
      if (client == 0) client_process(of.port(), request.data(), size);
      ASSERT_GT(client, 0);
      clients.push_back(client);
    }
    for (const pid_t client : clients) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
      ::kill(client, SIGKILL);
      ::waitpid(client, nullptr, 0);
      ++killed;
    }
  }
  expect_quiet(of);
  // Every row is free again: a request that needs all rows succeeds.
  const Reply reply =
      of.post("/v1/completions",
              {{"model", "gpt"}, {"prompt", "the"}, {"max_tokens", 3}, {"n", 16}, {"temperature", 1}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["choices"].size(), 16u);
  std::printf("killed %d clients\n", killed);
}

}  // namespace
}  // namespace regard::testing
