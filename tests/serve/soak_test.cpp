// Clients that stream, cancel, read slowly and send bad requests, all at once. Each complete response must
// equal that of the same request alone. At the end no request or memory remains in use.
#include <atomic>
#include <cstdlib>
#include <random>

#include "support/resident.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kClients = 32, kRequests = 40;

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

std::vector<Case> soak_cases(TestServer& server) {
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
    const Reply reply = server.post(cases.back().path, cases.back().body);
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

void send_bad_request(TestServer& server, std::mt19937& random, Tally& tally) {
  const std::string bad[] = {
      "GARBAGE\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      request_text("POST", "/v1/completions", "{\"prompt\":1"),
      request_text("POST", "/translate", "{\"q\":[],\"n\":-1}")};
  RawClient client(server.port());
  client.send(bad[random() % std::size(bad)]);
  const int status = client.read().status;
  if (status >= 500 || status == 200) ++tally.failed;
  ++tally.bad;
}

void one_request(TestServer& server, const Case& one, std::mt19937& random, Tally& tally) {
  const auto way = random() % 8;
  if (way == 0) return send_bad_request(server, random, tally);
  Json body = one.body;
  const bool streams = one.path == "/v1/completions" && way < 5;
  if (streams) body["stream"] = true;
  RawClient client(server.port());
  client.send(request_text("POST", one.path, body.dump()));
  if (way == 1 || way == 5) {  // disconnect before the response is complete
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    client.reset();
    ++tally.cancelled;
    return;
  }
  if (way == 2) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));  // read slowly
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

TEST(ServeSoak, MixedClientsGetTheAnswersOfTheRequestAlone) {
  const char* seconds = std::getenv("REGARD_SOAK_SECONDS");
  const auto length = std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 3);
  serve::ServeOptions options = serve_options();
  options.in_progress = 24, options.queue = 4;
  TestServer server(options, {"gpt", "translator", "embed", "nli"});
  const std::vector<Case> cases = soak_cases(server);
  Tally tally;
  const auto end = Clock::now() + length;
  double early = 0.0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      while (Clock::now() < end) one_request(server, cases[random() % cases.size()], random, tally);
    });
  std::this_thread::sleep_for(length / 4);
  early = resident_mib();
  double slowest = 0.0;
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    EXPECT_EQ(server.get("/health").status, 200);
    slowest = std::max(slowest, std::chrono::duration<double>(Clock::now() - begin).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const double late = resident_mib();
  for (std::thread& client : clients) client.join();
  std::printf(
      "answered %ld, cancelled %ld, refused %ld, bad %ld; slowest /health %.1f ms; memory %.3f of the first "
      "quarter's\n",
      tally.answered.load(), tally.cancelled.load(), tally.refused.load(), tally.bad.load(), slowest * 1e3,
      late / early);
  EXPECT_GT(tally.answered, 20);
  EXPECT_GT(tally.cancelled, 0);
  EXPECT_EQ(tally.different, 0);
  EXPECT_EQ(tally.failed, 0);
  // Expect that all slots become free.
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text = server.get("/metrics").body;
    if (text.find("regard_sequences_running{model=\"gpt\"} 0\n") != text.npos &&
        text.find("regard_requests_in_progress 1\n") != text.npos)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(text.find("regard_sequences_running{model=\"gpt\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("regard_requests_in_progress 1\n"), std::string::npos);
}

}  // namespace
}  // namespace regard::testing
