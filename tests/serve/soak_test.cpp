// Many clients stream, cancel, read slowly and send bad requests; each complete response must equal the
// response to the same request alone, and no request or memory may remain in use. With REGARD_SOAK_SECONDS
// the server is a separate process, whose memory is compared with its memory after one minute.
#include <atomic>
#include <cstdlib>
#include <random>

#include "support/namespaces.h"
#include "support/resident.h"
#include "support/served_program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kClients = 64, kRequests = 40;

struct Case {
  std::string path;
  Json body;
  Json alone;  // the response without other requests
};

// Return the fields that must not depend on other requests.
Json answer_of(const std::string& path, const Json& reply) {
  if (path.starts_with("/v1/completions")) return {reply["choices"], reply["usage"]};
  if (path.starts_with("/v1/embeddings")) return reply["data"];
  return reply;
}

Reply ask(std::uint16_t port, const std::string& text) {
  RawClient client(port);
  client.send(text);
  return client.read();
}

std::vector<Case> soak_cases(std::uint16_t port) {
  const char* const texts[] = {"the quick brown fox", "a dog", "lazy", "the quick brown dog jumps"};
  std::vector<Case> cases;
  for (int i = 0; i < kRequests; ++i) {
    const std::string text = texts[i % 4];
    switch (i % 5) {
      case 0:
        cases.push_back({"/v1/embeddings", {{"model", "embed"}, {"input", {text, texts[(i + 1) % 4]}}}, {}});
        break;
      case 1:
        cases.push_back({"/translate", {{"q", text}, {"source", "en"}, {"target", "hi"}}, {}});
        break;
      case 2:
        cases.push_back({"/predict", {{"model", "nli"}, {"inputs", text}}, {}});
        break;
      default:
        cases.push_back(
            {"/v1/completions",
             {{"model", "gpt"}, {"prompt", text}, {"max_tokens", 4 + i}, {"seed", i}, {"n", 1 + i % 3}},
             {}});
    }
    const Reply reply = ask(port, request_text("POST", cases.back().path, cases.back().body.dump()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    cases.back().alone = answer_of(cases.back().path, reply.json());
  }
  return cases;
}

struct Tally {
  std::atomic<long> answered{0}, different{0}, failed{0}, refused{0}, cancelled{0}, bad{0};
};

// Join the streamed pieces of each result, and compare them with the texts of the complete response.
bool stream_matches(const Reply& reply, const Json& alone) {
  std::map<std::size_t, std::string> texts;
  const std::vector<std::string> events = reply.events();
  if (events.empty() || events.back() != "[DONE]") return false;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Json event = Json::parse(events[i]);
    for (const Json& choice : event["choices"])
      texts[choice["index"].get<std::size_t>()] += choice["text"].get<std::string>();
  }
  for (std::size_t i = 0; i < alone[0].size(); ++i)
    if (texts[i] != alone[0][i]["text"]) return false;
  return true;
}

void send_bad_request(std::uint16_t port, std::mt19937& random, Tally& tally) {
  const std::string bad[] = {
      "GARBAGE\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      request_text("POST", "/v1/completions", "{\"prompt\":1"),
      request_text("POST", "/translate", "{\"q\":[],\"n\":-1}")};
  RawClient client(port);
  client.send(bad[random() % std::size(bad)]);
  const int status = client.read().status;
  if (status >= 500 || status == 200) ++tally.failed;
  ++tally.bad;
}

void one_request(std::uint16_t port, const Case& one, std::mt19937& random, Tally& tally) {
  const auto way = random() % 8;
  if (way == 0) return send_bad_request(port, random, tally);
  Json body = one.body;
  const bool streams = one.path == "/v1/completions" && way < 5;
  if (streams) body["stream"] = true;
  RawClient client(port);
  client.send(request_text("POST", one.path, body.dump()));
  if (way == 1 || way == 5) {  // disconnect before the response is complete
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    client.reset();
    ++tally.cancelled;
    return;
  }
  if (way == 2) {  // read slowly
    client.read_until("HTTP/1.1");
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
  }
  const Reply reply = client.read(60);
  if (reply.status == 429) {
    ++tally.refused;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return;
  }
  if (reply.status != 200) {
    ++tally.failed;
    ADD_FAILURE() << one.path << ": status " << reply.status << " " << reply.body;
    return;
  }
  const bool same =
      streams ? stream_matches(reply, one.alone) : answer_of(one.path, reply.json()) == one.alone;
  if (!same) ++tally.different;
  ++tally.answered;
}

// The server of the test: in this process, or the program in a separate process.
class SoakServer {
 public:
  explicit SoakServer(bool program) {
    constexpr int kInProgress = 40, kQueue = 4;
    serve::ServeOptions options = serve_options();
    options.in_progress = kInProgress, options.queue = kQueue;
    const std::vector<std::string> names = {"gpt", "translator", "embed", "nli"};
    if (!program) {
      here_ = std::make_unique<TestServer>(options, names);
      return;
    }
    std::vector<std::string> arguments{"--languages", "translator=en:hi", "-t", "2"};
    for (const std::string& name : names)
      arguments.insert(arguments.end(), {"--name", name + "=" + TestServer::folder(name)});
    arguments.insert(arguments.end(), {"--max-concurrent", std::to_string(kInProgress), "--queue",
                                       std::to_string(kQueue), "--cache-tokens", "8192"});
    program_ = std::make_unique<ServedProgram>(arguments);
  }
  std::uint16_t port() const { return program_ ? program_->port() : here_->port(); }
  double resident() const { return program_ ? program_->resident_mib() : resident_mib(); }
  int stop() { return program_ ? program_->stop() : here_->service().stop() ? 0 : 1; }

 private:
  std::unique_ptr<TestServer> here_;
  std::unique_ptr<ServedProgram> program_;
};

// Wait until no request is in progress and no sequence is decoded. Returns the last metrics.
std::string metrics_at_rest(std::uint16_t port) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text = ask(port, request_text("GET", "/metrics")).body;
    if (text.find("regard_sequences_running{model=\"gpt\"} 0\n") != text.npos &&
        text.find("regard_requests_in_progress 1\n") != text.npos)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return text;
}

// Request /health until `end`, and return the longest response time in seconds.
double watch_health(std::uint16_t port, Clock::time_point end) {
  double slowest = 0.0;
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    EXPECT_EQ(ask(port, request_text("GET", "/health")).status, 200);
    slowest = std::max(slowest, std::chrono::duration<double>(Clock::now() - begin).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return slowest;
}

TEST(ServeSoak, MixedClientsGetTheAnswersOfTheRequestAlone) {
  const char* seconds = std::getenv("REGARD_SOAK_SECONDS");
  const auto length = std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 3);
  SoakServer server(seconds != nullptr);
  const std::uint16_t port = server.port();
  const std::vector<Case> cases = soak_cases(port);
  Tally tally;
  const auto begin = Clock::now(), end = begin + length;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      while (Clock::now() < end) one_request(port, cases[random() % cases.size()], random, tally);
    });
  const auto first = std::min<Clock::duration>(std::chrono::minutes(1), length / 4);
  double slowest = watch_health(port, begin + first);
  const double early = server.resident();
  slowest = std::max(slowest, watch_health(port, end));
  const double late = server.resident();
  for (std::thread& client : clients) client.join();
  std::printf(
      "%d clients, %lld s: answered %ld, different %ld, failed %ld, cancelled %ld, refused %ld, bad %ld; "
      "slowest "
      "/health %.1f ms; memory %.1f MiB after %lld s, %.1f at the end: %.3f\n",
      kClients, static_cast<long long>(length.count()), tally.answered.load(), tally.different.load(),
      tally.failed.load(), tally.cancelled.load(), tally.refused.load(), tally.bad.load(), slowest * 1e3,
      early, static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(first).count()), late,
      late / early);
  EXPECT_GT(tally.answered, 20);
  EXPECT_GT(tally.cancelled, 0);
  EXPECT_EQ(tally.different, 0);
  EXPECT_EQ(tally.failed, 0);
  if (length >= std::chrono::minutes(10)) {
    EXPECT_LE(late / early, 1.05);
  }
  const std::string text = metrics_at_rest(port);
  EXPECT_NE(text.find("regard_sequences_running{model=\"gpt\"} 0\n"), std::string::npos) << "a slot is lost";
  EXPECT_NE(text.find("regard_requests_in_progress 1\n"), std::string::npos) << "a handler is lost";
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace regard::testing
