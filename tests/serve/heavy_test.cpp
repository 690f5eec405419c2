// Requests that take long or much memory: they do not delay other requests, and are cancelled when their
// clients disconnect.
#include <atomic>
#include <memory>
#include <thread>

#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/test_server.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

TEST(HeavyRequests, KeepNoOtherRequestWaiting) {
  serve::ServeOptions options = serve_options();
  options.in_progress = 4, options.queue = 64;
  TestServer server(options, {"gpt"});
  const Json study{{"model", "gpt"},
                   {"view", "patch"},
                   {"text", repeated("the dog ", 25)},
                   {"other", repeated("the fox ", 25)},
                   {"answer", "d"}};
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/study", study.dump()));
  }
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 16; }));
  for (int i = 0; i < 4; ++i) {
    const Reply reply = server.post("/v1/completions", {{"prompt", "the"}, {"max_tokens", 2}});
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  // The short requests were answered while at least half of the long ones were still running.
  EXPECT_GE(server.service().metrics().in_progress, 8);
  const Reply first = clients[0]->read();
  EXPECT_EQ(first.status, 200) << first.body;
  for (auto& client : clients) client->reset();
  EXPECT_TRUE(becomes([&] { return server.service().metrics().in_progress == 0; }));
}

TEST(HeavyRequests, ForTooManyExactWeightsAreRefused) {
  const TemporaryFolder folder;
  write_text_model(folder / "long", "gpt", 2048);
  serve::ServeOptions options = serve_options();
  options.folders.push_back({"long", folder / "long"});
  TestServer server(options, {"gpt"});
  const Json written(std::vector<Json>(350, 5));
  Json request{{"model", "long"}, {"text", repeated("the dog ", 50)}, {"written", written}, {"full", true}};
  const Reply reply = server.post("/attend", request);
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("at most 4194304 attention weights"), std::string::npos) << reply.body;
  request["layers"] = {0}, request["heads"] = {0};
  EXPECT_EQ(server.post("/attend", request).status, 200);
}

TEST(HeavyRequests, OfOneClientAreBounded) {
  serve::ServeOptions options = serve_options();
  options.in_progress = 4, options.queue = 4;
  TestServer server(options, {"gpt"});
  const Json study{{"model", "gpt"},
                   {"view", "patch"},
                   {"text", repeated("the dog ", 25)},
                   {"other", repeated("the fox ", 25)},
                   {"answer", "d"}};
  std::vector<std::unique_ptr<RawClient>> clients;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {  // one request runs; those that wait fill at most half of the queue
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/study", study.dump()));
  }
  for (auto& client : clients) {
    const Reply reply = client->read();
    refused += reply.status == 429 ? 1 : 0;
    if (reply.status == 429) {
      EXPECT_EQ(reply.json()["kind"], "resource_exhausted");
    } else {
      EXPECT_EQ(reply.status, 200) << reply.body;
    }
  }
  EXPECT_GE(refused, 1);
  EXPECT_LT(refused, 12);
}

TEST(NewTokens, AreBoundedOnEveryRoute) {
  serve::ServeOptions options = serve_options();
  options.most_new_tokens = 7;
  TestServer server(options, {"gpt", "translator"});
  const Json requests[] = {{{"model", "gpt"}, {"inputs", "the"}},
                           {{"model", "gpt"}, {"inputs", "the"}, {"max_new", 0}},
                           {{"model", "gpt"}, {"inputs", "the"}, {"sample", true}},
                           {{"model", "translator"}, {"inputs", repeated("the quick brown fox ", 4)}}};
  std::uint64_t before = 0;
  for (const Json& request : requests) {
    const Reply reply = server.post("/generate", request);
    ASSERT_EQ(reply.status, 200) << reply.body;
    const std::uint64_t after = server.counted("regard_completion_tokens_total{model=\"gpt\"}") +
                                server.counted("regard_completion_tokens_total{model=\"translator\"}");
    EXPECT_LE(after - before, 7u) << request;
    before = after;
  }
  const Json long_text{{"q", repeated("the quick brown fox ", 4)}, {"source", "en"}, {"target", "hi"}};
  ASSERT_EQ(server.post("/translate", long_text).status, 200);
  EXPECT_LE(server.counted("regard_completion_tokens_total{model=\"translator\"}"), 14u);
  const Reply attended = server.post("/attend", {{"model", "gpt"}, {"text", "the"}, {"generate", 100}});
  ASSERT_EQ(attended.status, 200) << attended.body;
  EXPECT_EQ(server.post("/generate", {{"model", "gpt"}, {"inputs", "the"}, {"max_new", 8}}).status, 400);
}

TEST(Errors, HaveAKind) {
  TestServer server(serve_options(), {"gpt", "nli"});
  const auto kind = [&](const std::string& path, const Json& body) {
    const Json reply = server.post(path, body).json();
    return reply.value("kind", "none");
  };
  EXPECT_EQ(kind("/generate", {{"model", "gpt"}, {"inputs", "the"}, {"beam", 2}, {"sample", true}}), "usage");
  EXPECT_EQ(kind("/generate", {{"model", "gpt"}, {"inputs", repeated("the ", 400)}}), "invalid_input");
  EXPECT_EQ(kind("/generate", {{"model", "gpt"}, {"inputs", "the"}, {"beam", 64}}), "resource_exhausted");
  EXPECT_EQ(kind("/generate", {{"model", "none"}, {"inputs", "the"}}), "usage");
  EXPECT_EQ(kind("/classify", {{"model", "nli"}, {"inputs", {"the"}}, {"scores", "all"}}), "usage");
  EXPECT_EQ(kind("/classify", {{"model", "nli"}, {"inputs", {std::string((1 << 20) + 1, 'a')}}}),
            "invalid_input");
}

TEST(Sentences, OfOneTextDoNotFillTheQueue) {
  TestServer server(serve_options(), {"translator"});
  RawClient client(server.port());
  const Json request{{"q", repeated("A dog. ", 20000)}, {"source", "en"}, {"target", "hi"}};
  client.send(request_text("POST", "/translate", request.dump()));
  const auto queued = [&] { return server.counted("regard_queue_length{model=\"translator\"}"); };
  ASSERT_TRUE(becomes([&] { return queued() > 0; }));
  std::uint64_t longest = 0;
  for (int i = 0; i < 20; ++i) longest = std::max(longest, queued());
  EXPECT_LE(longest, 64u);
  client.reset();
  EXPECT_TRUE(becomes([&] { return queued() == 0 && server.service().metrics().in_progress == 0; }));
}

TEST(Pipelining, DoesNotHideThatTheClientIsGone) {
  TestServer server(serve_options(), {"gpt"});
  const Json many{{"model", "gpt"}, {"prompt", std::vector<std::string>(200, "the")}, {"max_tokens", 200}};
  {
    RawClient client(server.port());
    client.send(request_text("POST", "/v1/completions", many.dump()) + "GET /health HTTP/1.1\r\n");
    ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress > 0; }));
    client.send("more");
  }
  EXPECT_TRUE(becomes([&] { return server.service().metrics().in_progress == 0; }));
  EXPECT_LT(server.counted("regard_completion_tokens_total{model=\"gpt\"}"), 20000u);
}

TEST(Responses, AreBoundedInMemory) {
  TestServer server(serve_options(), {"gpt"});
  const Reply tokens = server.post("/tokenize", {{"model", "gpt"}, {"inputs", std::string(140000, 'a')}});
  EXPECT_EQ(tokens.status, 400) << tokens.body.substr(0, 200);
}

TEST(Responses, WithManyScoresAreRefused) {
  serve::ServeOptions options = serve_options();
  options.sessions.cache_tokens = 1 << 20;
  TestServer server(options, {"gpt"});
  const Json many{
      {"prompt", std::vector<std::string>(256, "the")}, {"max_tokens", 200}, {"n", 16}, {"logprobs", 20}};
  const Reply reply = server.post("/v1/completions", many);
  EXPECT_EQ(reply.status, 400) << reply.body.substr(0, 200);
  EXPECT_EQ(reply.json()["error"]["param"], "logprobs");
}

// A client that does not read its response keeps its place among the requests in progress, so that the memory
// of unread responses is bounded.
TEST(Responses, ThatAreNotReadKeepTheirPlace) {
  serve::ServeOptions options = serve_options();
  options.in_progress = 2, options.queue = 1;
  TestServer server(options, {"embed"});
  const Json large{{"inputs", std::vector<std::string>(1500, repeated("the dog ", 10))}};
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {  // two unread responses, and a request that waits
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/embed_all", large.dump()));
  }
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 3; }));
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 1; }, 120));
  EXPECT_EQ(server.post("/embed", {{"inputs", "the"}}).status, 429);
  EXPECT_EQ(server.get("/health").status, 200);
  const Reply first = clients[0]->read();
  EXPECT_EQ(first.status, 200);
  EXPECT_GT(first.body.size(), std::size_t{8} << 20) << "more than the system's buffers";
  EXPECT_EQ(clients[1]->read().status, 200);
  EXPECT_EQ(clients[2]->read().status, 200);
  EXPECT_EQ(server.post("/embed", {{"inputs", "the"}}).status, 200);
}

TEST(Bodies, ThatAreLargeAreBoundedTogether) {
  serve::ServeOptions options = serve_options();
  options.http.large_bodies = std::size_t{40} << 20;
  TestServer server(options, {"translator"});
  const std::string head =
      "POST /translate_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
      "Content-Length: 20000000\r\n\r\n";
  {
    RawClient first(server.port()), second(server.port());
    ASSERT_TRUE(first.send(head));
    ASSERT_TRUE(second.send(head));
    const auto third = [&] {
      RawClient client(server.port());
      client.send(head);
      return client.read(1).status;
    };
    EXPECT_TRUE(becomes([&] { return third() == 429; }));
  }
  const std::string form =
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nA dog.\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nhi\r\n--x--\r\n";
  EXPECT_TRUE(becomes([&] {
    return server
               .post_form("/translate_file", form + std::string(19 << 20, ' '),
                          "multipart/form-data; boundary=x")
               .status == 200;
  })) << "the memory is free again";
}

TEST(Sentences, OfOneRequestAreBounded) {
  TestServer server(serve_options(), {"translator"});
  const std::string form =
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n" +
      repeated("A\n", 600000) +
      "\r\n--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nhi\r\n--x--\r\n";
  const Reply reply = server.post_form("/translate_file", form, "multipart/form-data; boundary=x");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("sentences"), std::string::npos) << reply.body.substr(0, 200);
}

TEST(Service, StopsWhileItStreams) {
  for (int round = 0; round < 8; ++round) {
    auto server = std::make_unique<TestServer>(serve_options(), std::vector<std::string>{"gpt"});
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      auto client = std::make_shared<RawClient>(server->port());  // must connect before the server stops
      clients.emplace_back([client, i] {
        const Json request{{"model", "gpt"}, {"prompt", "the"}, {"max_tokens", 200}, {"stream", i % 2 == 0}};
        if (client->send(request_text("POST", "/v1/completions", request.dump()))) client->read(10);
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * round));
    server.reset();
    for (std::thread& client : clients) client.join();
  }
  SUCCEED() << "no crash, and nothing to report for the sanitizers";
}

}  // namespace
}  // namespace regard::testing
