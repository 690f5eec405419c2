// One client with many requests does not keep another one waiting.
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "serve/handler_threads.h"
#include "serve/share.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TEST(Share, GivesOneClientItsLimitAndKeepsPlacesFree) {
  for (const std::int64_t each : {1, 2, 3, 8, 64, 4096}) {
    serve::Share share(each);
    std::int64_t taken = 0;
    for (; share.allows("a") && share.has_free(); ++taken) share.take("a");
    EXPECT_EQ(taken, each) << "alone it has all of them";
    std::int64_t clients = 1;
    for (; share.has_free(); ++clients) {
      const std::string name = "b" + std::to_string(clients);
      ASSERT_TRUE(share.allows(name)) << "the first request of a client needs only a free place";
      share.take(name);
    }
    EXPECT_GE(clients, 2);
    share.give_back("a", taken);
    EXPECT_EQ(share.taken_by("a"), 0);
  }
  serve::Share two(64);
  std::int64_t of_a = 0, of_b = 0;
  for (bool any = true; any;) {
    any = false;
    if (two.allows("a") && two.has_free()) two.take("a"), ++of_a, any = true;
    if (two.allows("b") && two.has_free()) two.take("b"), ++of_b, any = true;
  }
  EXPECT_LE(std::abs(of_a - of_b), 1);
  EXPECT_GE(two.all() - two.taken(), 8) << "a third client finds places free";
}

TEST(HandlerThreads, LeaveThreadsForOtherClients) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> of_a{0}, of_b{0};
  {
    serve::HandlerThreads threads({.threads = 10, .each = 8, .queue = 20, .queue_of_each = 15});
    for (int i = 0; i < 23; ++i) ASSERT_TRUE(threads.submit("a", [&] { ++of_a, gone.wait(); }));
    EXPECT_FALSE(threads.submit("a", [] {})) << "its part of the queue is full";
    EXPECT_TRUE(becomes([&] { return of_a == 8; }));
    EXPECT_EQ(threads.waiting(), 15u);
    ASSERT_TRUE(threads.submit("b", [&] { ++of_b; }));
    EXPECT_TRUE(becomes([&] { return of_b == 1; }));
    EXPECT_EQ(of_a, 8);
    go.set_value();
    EXPECT_TRUE(becomes([&] { return of_a == 23; }));
  }
}

constexpr char kKeyA[] = "aaaaaaaaaaaaaaaaaaaaaaaa", kKeyB[] = "bbbbbbbbbbbbbbbbbbbbbbbb";

Reply post_as(TestServer& server, const char* key, const std::string& path, const Json& body) {
  RawClient client(server.port());
  client.send(request_text("POST", path, body.dump(), "application/json",
                           std::string("Authorization: Bearer ") + key + "\r\n"));
  return client.read();
}

Json long_generations() {
  return {
      {"model", "gpt"}, {"inputs", std::vector<std::string>(256, "the")}, {"min_new", 200}, {"max_new", 200}};
}

// Sends `count` requests of client A, each on its own connection.
class Burst {
 public:
  Burst(TestServer& server, int count, const Json& body) {
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<RawClient>(server.port()));
      clients_.back()->send(request_text("POST", "/generate", body.dump(), "application/json",
                                         std::string("Authorization: Bearer ") + kKeyA + "\r\n"));
    }
  }
  void leave() {
    for (auto& client : clients_) client->reset();
  }

 private:
  std::vector<std::unique_ptr<RawClient>> clients_;
};

serve::ServeOptions options_with_keys(const TemporaryFolder& folder) {
  serve::ServeOptions options = serve_options();
  options.api_keys = write_file(folder.path(), "keys", std::string(kKeyA) + "\n" + kKeyB + "\n");
  return options;
}

TEST(Fairness, ManyGenerationsOfOneClientDoNotFillTheHandlers) {
  const TemporaryFolder folder;
  serve::ServeOptions options = options_with_keys(folder);
  options.in_progress = 4, options.queue = 64, options.sessions.rows = 4;
  TestServer server(options, {"gpt", "embed"});
  Burst burst(server, 16, long_generations());
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 16; }));
  const Json requests[] = {{{"model", "gpt"}, {"prompt", "a"}, {"max_tokens", 2}},
                           {{"model", "embed"}, {"input", "the dog"}}};
  for (const Json& request : requests) {
    const std::string path = request.contains("input") ? "/v1/embeddings" : "/v1/completions";
    const Reply reply = post_as(server, kKeyB, path, request);
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  // The client may receive the response shortly before the server stops counting the request as in progress.
  const auto& in_progress = server.service().metrics().in_progress;
  EXPECT_TRUE(becomes([&] { return in_progress <= 16; }));
  EXPECT_EQ(in_progress, 16) << "no request of A had to end first";
  burst.leave();
  EXPECT_TRUE(becomes([&] { return server.service().metrics().in_progress == 0; }));
}

// The key/value cache has room for only a few of A's 1280 generations. B's generation must not wait until all
// of A's have ended.
TEST(Fairness, OneClientDoesNotFillTheQueueForTheCache) {
  const TemporaryFolder folder;
  serve::ServeOptions options = options_with_keys(folder);
  options.sessions.rows = 2048, options.sessions.sessions = 4096, options.sessions.cache_tokens = 1024;
  TestServer server(options, {"gpt"});
  Burst burst(server, 5, long_generations());
  const auto& metrics = server.service().metrics();
  ASSERT_TRUE(becomes([&] { return metrics.in_progress == 5; }));
  const Json short_one{{"prompt", "a"}, {"max_tokens", 2}};
  EXPECT_EQ(post_as(server, kKeyB, "/v1/completions", short_one).status, 200);
  EXPECT_GE(metrics.in_progress, 3) << "most of A's generations had to end first";
  burst.leave();
  EXPECT_TRUE(becomes([&] { return metrics.in_progress == 0; }));
}

TEST(Tasks, LongTextsEndWhenTheClientIsGone) {
  TestServer server(serve_options(), {"qa"});
  const Json request{{"question", "Who?"}, {"context", repeated("Maria came from Lisbon. ", 12000)}};
  const auto begin = std::chrono::steady_clock::now();
  const Reply reply = server.post("/answer", request);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto whole = std::chrono::steady_clock::now() - begin;
  RawClient client(server.port());
  const auto again = std::chrono::steady_clock::now();
  client.send(request_text("POST", "/answer", request.dump()));
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 1; }));
  client.reset();
  EXPECT_TRUE(becomes([&] { return server.service().metrics().in_progress == 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - again, whole * 3 / 4);
}

TEST(Tasks, WhatWouldTakeTooMuchMemoryIs400) {
  TestServer server(serve_options(), {"qa", "fill"});
  // The long question leaves space for few tokens of the text in each window, so there are many windows.
  const Json asked{{"question", repeated("who ", 8)},
                   {"context", repeated("Maria came from Lisbon. ", 20000)}};
  const Reply answer = server.post("/answer", asked);
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("expected windows of at most"), std::string::npos) << answer.body;
  // Forty masks with a hundred sequences each are within the limit.
  const Json filled{{"text", repeated("<mask>", 40)}, {"top_k", 100}, {"model", "fill"}};
  EXPECT_EQ(server.post("/fill", filled).status, 200);
}

}  // namespace
}  // namespace regard::testing
