// Scheduling: bit-identical results under load, limits, clients that disconnect, shutdown and reload.
#include <atomic>

#include "base/file.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

using Clock = std::chrono::steady_clock;

Json completion(const std::string& prompt, int tokens, int seed) {
  Json json{{"model", "gpt"}, {"prompt", prompt}, {"max_tokens", tokens}};
  if (seed == 0)
    json["temperature"] = 0;
  else
    json["seed"] = seed, json["n"] = 1 + seed % 3;
  return json;
}

// Return the fields that must not depend on other requests.
Json essence(const Json& reply) {
  return {reply["choices"], reply["usage"]};
}

// Wait until no request is in progress and no sequence is decoded.
void expect_idle(TestServer& server) {
  const auto idle = [&] {
    const std::string text = server.get("/metrics").body;
    return text.find("regard_requests_in_progress 1\n") != text.npos &&  // the request for the metrics itself
           text.find("regard_sequences_running{model=\"gpt\"} 0\n") != text.npos &&
           text.find("regard_queue_length{model=\"gpt\"} 0\n") != text.npos;
  };
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (!idle() && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(idle()) << server.get("/metrics").body;
}

// A greedy search runs once for several results. The last character of its text may begin a stop string, so
// each stream receives it only at the end.
TEST(Schedule, StreamsOfCopiesHaveTheWholeText) {
  TestServer server(serve_options(), {"gpt"});
  Json request = completion("the quick", 30, 0);
  const std::string all = server.post("/v1/completions", request).json()["choices"][0]["text"];
  request["stop"] = Json::array({all.substr(all.size() - 1) + "z"});
  request["stream"] = true, request["n"] = 3;
  std::vector<std::string> streamed(3);
  const Reply reply = server.post("/v1/completions", request);
  ASSERT_EQ(reply.status, 200) << reply.body;
  for (const std::string& event : reply.events()) {
    if (event == "[DONE]") continue;
    const Json choices = Json::parse(event)["choices"];
    for (const Json& one : choices)
      streamed.at(one["index"].get<std::size_t>()) += one["text"].get<std::string>();
  }
  EXPECT_EQ(streamed, std::vector<std::string>(3, all)) << reply.body;
}

TEST(Schedule, AnswersAreTheBitsOfTheRequestAlone) {
  TestServer server(serve_options(), {"gpt"});
  const char* const prompts[] = {"the quick", "a dog", "lazy fox jumps over", "the quick brown"};
  std::vector<Json> requests, alone;
  for (int i = 0; i < 24; ++i) requests.push_back(completion(prompts[i % 4], 4 + i, i % 5));
  for (const Json& request : requests)
    alone.push_back(essence(server.post("/v1/completions", request).json()));
  std::atomic<int> next{0}, different{0}, failed{0};
  const auto client = [&](int begin) {
    for (int i = 0; i < 24; ++i) {
      const auto which = static_cast<std::size_t>((begin + i) % 24);
      const Reply reply = server.post("/v1/completions", requests[which]);
      if (reply.status != 200)
        ++failed;
      else if (essence(reply.json()) != alone[which])
        ++different;
      ++next;
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(client, 5 * i);
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(next, 8 * 24);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(different, 0);
}

TEST(Schedule, AFullQueueIsRefusedWith429) {
  serve::ServeOptions options = serve_options();
  options.in_progress = 2, options.queue = 1, options.sessions.rows = 2;
  TestServer server(options, {"gpt"});
  Json many{{"model", "gpt"}, {"prompt", std::vector<std::string>(200, "the")}, {"max_tokens", 200}};
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {  // two requests in progress, and one that waits
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/v1/completions", many.dump()));
  }
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (server.service().metrics().in_progress < 3 && Clock::now() < deadline) std::this_thread::yield();
  const Reply reply = server.post("/v1/completions", completion("a", 1, 0));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.fields.at("retry-after"), "1");
  EXPECT_EQ(reply.json()["error"]["code"], "queue_full");
  EXPECT_EQ(server.get("/health").status, 200) << "answered however busy the server is";
  for (auto& client : clients) client->reset();
  expect_idle(server);
}

TEST(Schedule, AClientThatLeavesFreesItsSlot) {
  TestServer server(serve_options(), {"gpt"});
  for (const bool streams : {true, false}) {
    for (int i = 0; i < 8; ++i) {
      RawClient client(server.port());
      Json request = completion("the", 200, i);
      request["stream"] = streams;
      client.send(request_text("POST", "/v1/completions", request.dump()));
      if (streams) {
        EXPECT_TRUE(client.read_until("data: "));
      }
      client.reset();
    }
    expect_idle(server);
  }
  EXPECT_EQ(server.post("/v1/completions", completion("the", 3, 0)).status, 200);
}

// A request that waits for a thread leaves the queue when its client disconnects. Its place is then free,
// although the request in progress continues.
TEST(Schedule, AClientThatLeavesFreesItsPlaceInTheQueue) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.in_progress = 1, options.queue = 2;
  options.access_log = (folder / "log").string();
  TestServer server(options, {"gpt"});
  const auto& in_progress = server.service().metrics().in_progress;
  const Json many{{"prompt", std::vector<std::string>(250, "the")}, {"max_tokens", 200}};
  const Json studied{{"view", "heads"}, {"text", "the"}};
  RawClient first(server.port());
  first.send(request_text("POST", "/v1/completions", many.dump()));
  ASSERT_TRUE(becomes([&] { return in_progress == 1; }));
  {
    RawClient second(server.port()), third(server.port());
    for (RawClient* one : {&second, &third}) one->send(request_text("POST", "/study", studied.dump()));
    ASSERT_TRUE(becomes([&] { return in_progress == 3; }));
    EXPECT_EQ(server.post("/study", studied).status, 429);
  }
  EXPECT_TRUE(becomes([&] { return in_progress == 1; }));
  RawClient last(server.port());
  last.send(request_text("POST", "/study", studied.dump()));
  EXPECT_TRUE(becomes([&] { return in_progress == 2; }));
  first.reset();
  EXPECT_EQ(last.read().status, 200);
  const auto log = [&] { return lines_of(read_file((folder / "log").string())); };
  ASSERT_TRUE(becomes([&] { return log().size() == 5; }));
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& line : log()) {
    const Json json = Json::parse(line);
    found.emplace_back(json.at("status"), json.at("path"));
  }
  EXPECT_EQ(
      found,
      (std::vector<std::pair<int, std::string>>{
          {429, "/study"}, {499, "/study"}, {499, "/study"}, {499, "/v1/completions"}, {200, "/study"}}));
}

TEST(Schedule, ARequestHasADeadline) {
  serve::ServeOptions options = serve_options();
  options.timeout = std::chrono::seconds(0);
  TestServer server(options, {"gpt"});
  // This request takes so long that it cannot end before the scheduler checks its deadline.
  const Json many{{"model", "gpt"}, {"prompt", std::vector<std::string>(200, "the")}, {"max_tokens", 200}};
  const Reply reply = server.post("/v1/completions", many);
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.json()["error"]["code"], "timeout");
  expect_idle(server);
}

TEST(Schedule, NewTokensAreBounded) {
  serve::ServeOptions options = serve_options();
  options.most_new_tokens = 7;
  TestServer server(options, {"gpt"});
  EXPECT_EQ(server.post("/v1/completions", completion("the", 100, 0)).json()["usage"]["completion_tokens"],
            7);
}

TEST(Schedule, DrainsBeforeItStops) {
  TestServer server(serve_options(), {"gpt"});
  RawClient busy(server.port()), idle(server.port());
  idle.send(request_text("GET", "/health"));
  EXPECT_EQ(idle.read().status, 200);
  Json request = completion("the", 150, 0);
  request["stream"] = true;
  busy.send(request_text("POST", "/v1/completions", request.dump()));
  EXPECT_TRUE(busy.read_until("data: "));
  std::thread stopping([&] { EXPECT_TRUE(server.service().stop()); });
  EXPECT_TRUE(idle.closed());
  const Reply reply = busy.read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.events().back(), "[DONE]");
  EXPECT_TRUE(busy.closed());
  stopping.join();
}

TEST(Schedule, CutsWhatTakesTooLongToDrain) {
  serve::ServeOptions options = serve_options();
  options.drain = std::chrono::seconds(0);
  TestServer server(options, {"gpt"});
  RawClient busy(server.port());
  const Json many{{"model", "gpt"}, {"prompt", std::vector<std::string>(200, "the")}, {"max_tokens", 200}};
  busy.send(request_text("POST", "/v1/completions", many.dump()));
  const auto deadline = Clock::now() + std::chrono::seconds(10);
  while (server.service().metrics().in_progress == 0 && Clock::now() < deadline) std::this_thread::yield();
  const auto begin = Clock::now();
  server.service().stop();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(busy.closed());
}

TEST(Schedule, ReloadsWithoutLosingRequests) {
  TestServer server(serve_options(), {"gpt"});
  const Json expected = essence(server.post("/v1/completions", completion("the quick", 20, 0)).json());
  std::atomic<bool> reloaded{false};
  std::string error = "not called";
  server.service().reload([&](const std::string& message) { error = message, reloaded = true; });
  int answered = 0;
  while (!reloaded || answered < 3) {
    const Reply reply = server.post("/v1/completions", completion("the quick", 20, 0));
    ASSERT_EQ(reply.status, 200);
    EXPECT_EQ(essence(reply.json()), expected);
    ++answered;
  }
  EXPECT_EQ(error, "");
}

// reload() blocks while the models are loaded. The program calls it only if loading() is false, because it
// must still react to stop signals.
TEST(Schedule, SaysWhetherTheModelsAreLoading) {
  TestServer server(serve_options(), {"gpt"});
  serve::Service& service = server.service();
  EXPECT_TRUE(becomes([&] { return !service.loading(); }));
  std::atomic<bool> end{false};
  service.reload([&](const std::string&) {
    while (!end) std::this_thread::yield();
  });
  EXPECT_TRUE(service.loading());
  end = true;
  EXPECT_TRUE(becomes([&] { return !service.loading(); }));
}

// Files may be added to the folder of a served model, for example before SIGHUP. The server uses the
// abilities that the model had when it was loaded.
TEST(Schedule, AbilitiesDoNotChangeUntilAReload) {
  const TemporaryFolder folder;
  std::filesystem::copy(TestServer::folder("fill"), folder / "fill");
  serve::ServeOptions options = serve_options();
  options.folders = {{"changing", folder / "fill"}};
  TestServer server(options, {"gpt"});
  write_file(folder / "fill", "modules.json", "[]");
  EXPECT_EQ(server.post("/embed", {{"model", "changing"}, {"inputs", "a"}}).status, 400);
}

TEST(Schedule, IsNotHealthyWhileItLoadsAndReportsABadFolder) {
  serve::ServeOptions options = serve_options();
  options.folders = {{"none", "/no/such/folder"}};
  ThreadPool pool(1);
  serve::Service service(options, pool);
  RawClient client(service.port());
  client.send(request_text("GET", "/health"));
  EXPECT_EQ(client.read().status, 503);
  client.send(request_text("GET", "/v1/models"));
  EXPECT_EQ(client.read().status, 503);
  const auto loading_fails = [&] {
    for (int i = 0; i < 500; ++i) {
      service.check_loading();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  EXPECT_THROW(loading_fails(), Error);
}

TEST(ServeProgram, AnswersUntilASignalAndExitsWith0) {
  const TemporaryFolder folder;
  bool interrupted = false;
  const ProgramResult result =
      run_interrupted({"serve", TestServer::folder("gpt"), "--port", "0", "-t", "1"}, folder.path(),
                      {SIGTERM, std::chrono::milliseconds(4000)}, "", &interrupted);
  EXPECT_TRUE(interrupted);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("ready: gpt on http://127.0.0.1:"), std::string::npos) << result.err;
}

TEST(ServeProgram, RefusesWrongOptions) {
  const TemporaryFolder folder;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "serve");
    return run_program(arguments, folder.path());
  };
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--host", "0.0.0.0"}).exit_code, 2);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--host", "example.org"}).exit_code, 2);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--name", "gpt=" + TestServer::folder("gpt")}).exit_code, 2);
  EXPECT_EQ(run({"nothing", "--port", "0"}).exit_code, 4);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--api-key-file", "none"}).exit_code, 4);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--api-key-file", ""}).exit_code, 2);
  EXPECT_EQ(run({""}).exit_code, 2);
  EXPECT_EQ(run({TestServer::folder("gpt"), "--port", "0", "--chat-template", "chatmI"}).exit_code, 2);
  for (const char* languages : {"gpt=en", "gpt=en:", "gpt=:hi", "gtp=en:hi"})
    EXPECT_EQ(run({TestServer::folder("gpt"), "--languages", languages}).exit_code, 2) << languages;
  for (const char* origin : {"example.org", "https://", "https://example.org/page"})
    EXPECT_EQ(run({TestServer::folder("gpt"), "--cors", origin}).exit_code, 2) << origin;
  for (const char* host : {"example.org:80", "https://example.org", ""})
    EXPECT_EQ(run({TestServer::folder("gpt"), "--allow-host", host}).exit_code, 2) << host;
}

}  // namespace
}  // namespace regard::testing
