// Limits and error messages of /attend, /generate, /study and of interventions.
#include <fcntl.h>
#include <unistd.h>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& limited_server() {
  static TestServer only(serve_options(), {"gpt", "translator", "embed"});
  return only;
}

// Return the message of an error with status 400, or the status.
std::string error_of(const std::string& path, const Json& body) {
  const Reply reply = limited_server().post(path, body);
  if (reply.status != 400) return std::to_string(reply.status);
  EXPECT_EQ(reply.json()["kind"], "usage") << reply.body;
  return reply.json()["error"];
}

Json reply_to(const std::string& path, const Json& body) {
  const Reply reply = limited_server().post(path, body);
  EXPECT_EQ(reply.status, 200) << body << reply.body;
  return reply.json();
}

TEST(Limits, AttendNeedsAModelThatCan) {
  const auto error = [](const char* model, Json more) {
    more["model"] = model;
    if (!more.contains("text")) more["text"] = "the dog";
    return error_of("/attend", more);
  };
  EXPECT_EQ(error("embed", {{"written", {1}}}), "\"written\" needs a model with a decoder");
  EXPECT_EQ(error("gpt", {{"target", "a"}}), "\"target\" needs an encoder-decoder model");
  EXPECT_EQ(error("embed", {{"generate", 1}}), "\"generate\" needs a model with a decoder");
  EXPECT_EQ(error("embed", {{"free", true}}), "\"free\" needs a model with a decoder");
  EXPECT_EQ(error("gpt", {{"free", true}}),
            "\"free\" needs \"generate\" above 0, the maximum number of tokens to generate");
  const std::int64_t size = Tokenizer(TestServer::folder("gpt")).vocabulary_size();
  EXPECT_EQ(error("gpt", {{"written", {0, size}}}),
            fmt::format("expected token ids of the model, found {}", size));
  EXPECT_EQ(error("gpt", {{"written", {0, size - 1}}}), "200");
  for (const char* member : {"text", "pair"})
    EXPECT_EQ(error("embed", {{member, repeated("dog ", 1100)}}).substr(0, 24), "expected at most 1024 to");
  EXPECT_EQ(error("translator", {{"target", std::string(1025, 'a')}}),
            "expected at most 1024 tokens, found 1026")
      << "with the end token";
}

TEST(Limits, AttendSelectsAndAddsParts) {
  const auto attended = [](Json more) {
    more["text"] = "the dog";
    if (!more.contains("model")) more["model"] = "translator";
    return reply_to("/attend", more);
  };
  const auto kinds = [](const Json& capture) {
    std::map<std::string, int> counts;
    for (const Json& head : capture["attention"])
      ++counts[fmt::format("{}.{}.{}", head["kind"].get<std::string>(), head["layer"].get<int>(),
                           head["head"].get<int>())];
    return counts;
  };
  const Json whole = attended({{"target", "a fox"}});
  EXPECT_EQ(
      Json::parse(
          load(TestServer::folder("translator")).attend("the dog", {.target = "a fox"}).json())["tokens"],
      whole["tokens"]);
  EXPECT_EQ(kinds(attended({{"target", "a"}, {"layers", {1}}, {"heads", {0}}, {"kind", "cross"}})),
            (std::map<std::string, int>{{"cross.1.0", 1}}));
  EXPECT_FALSE(whole.contains("average")) << "only on request";
  const auto has = [](const Json& capture, const char* member) {
    return capture.dump().find(std::string("\"") + member + "\":") != std::string::npos;
  };
  const Json plain = attended({{"model", "gpt"}});
  EXPECT_FALSE(has(plain, "q") || has(plain, "w_q"));
  EXPECT_NE(attended({{"model", "gpt"}, {"values", true}}).dump().size(), plain.dump().size());
  EXPECT_NE(attended({{"model", "gpt"}, {"parameters", true}}).dump().size(), plain.dump().size());
  EXPECT_NE(attended({{"model", "gpt"}, {"average", true}}).dump().size(), plain.dump().size());
  // Without "generate", a decoder generates nothing, and an encoder-decoder generates its whole output.
  EXPECT_EQ(plain["tokens"]["target"]["ids"].size(), 7u);
  EXPECT_EQ(attended({{"model", "gpt"}, {"generate", 3}})["tokens"]["target"]["ids"].size(), 10u);
  // The length of the output of an encoder-decoder is limited as in the library.
  const Json expected = Json::parse(load(TestServer::folder("translator")).attend("the dog").json());
  EXPECT_EQ(attended(Json::object())["translation"], expected["translation"]);
  EXPECT_EQ(attended({{"ablate", "cross.0.0"}, {"free", true}})["translation_generated"],
            attended({{"ablate", "cross.0.0"}})["translation"]);
}

TEST(Limits, GenerateHasAllMembers) {
  const Model gpt = load(TestServer::folder("gpt"));
  const std::string text = gpt.write("the quick", {.beam = 1, .max_new = 5}).at(0).text;
  const Json reply =
      reply_to("/generate",
               {{"model", "gpt"}, {"inputs", {"the quick", "", "the quick"}}, {"beam", 1}, {"max_new", 5}});
  EXPECT_EQ(reply["model"], "gpt");
  EXPECT_EQ(reply["continuation"], true);
  ASSERT_EQ(reply["results"].size(), 3u);
  EXPECT_EQ(reply["results"][0].size(), 1u);
  EXPECT_EQ(reply["results"][0][0]["text"], text);
  EXPECT_EQ(reply["results"][1], Json::array()) << "an input without tokens";
  EXPECT_EQ(reply["results"][2], reply["results"][0]);
  EXPECT_EQ(reply_to("/generate", {{"model", "translator"}, {"inputs", "a"}})["continuation"], false);
  const Json sampled = reply_to(
      "/generate",
      {{"model", "gpt"}, {"inputs", "the"}, {"sample", true}, {"n_best", 3}, {"max_new", 5}, {"seed", 4}});
  const auto draws = gpt.write("the", {.max_new = 5, .sample = true, .seed = 4, .n_best = 3});
  ASSERT_EQ(sampled["results"][0].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sampled["results"][0][i]["text"], draws[i].text);
  const std::vector<Message> conversation{{"user", "fox"}};
  EXPECT_EQ(reply_to("/generate", {{"model", "gpt"},
                                   {"messages", {{{"role", "user"}, {"content", "fox"}}}},
                                   {"beam", 1},
                                   {"max_new", 5}})["results"][0][0]["text"],
            gpt.chat(conversation, {.beam = 1, .max_new = 5}, {}, "chatml").at(0).text);
  EXPECT_EQ(error_of("/generate", {{"model", "gpt"}}), "expected \"inputs\" or \"messages\", found neither");
  EXPECT_EQ(error_of("/generate", {{"model", "translator"}, {"inputs", "a"}, {"to", "xx"}}),
            "unknown target language \"xx\"");
  EXPECT_EQ(error_of("/generate", {{"model", "gpt"}, {"inputs", "a"}, {"max_new", 2049}}),
            "expected at most 2048 new tokens (the server's --max-tokens), found 2049");
  EXPECT_EQ(error_of("/generate", {{"model", "gpt"}, {"inputs", "a"}, {"max_new", 200}}), "200");
}

TEST(Limits, StudyNamesMissingMembers) {
  const auto error = [](const char* view, Json more) {
    more["model"] = "gpt", more["view"] = view;
    return error_of("/study", more);
  };
  EXPECT_EQ(error("heads", Json::object()), "the view heads needs \"text\"");
  EXPECT_EQ(error("probe", Json::object()), "the view probe needs \"data\"");
  EXPECT_EQ(error("alignment", {{"data", "a\tb\n"}}), "the view alignment needs \"alignments\"");
  EXPECT_EQ(error("patch", {{"text", "a"}}), "the view patch needs \"other\"");
  EXPECT_EQ(error("path", {{"text", "a"}}), "the view path needs \"other\"");
  EXPECT_EQ(error("flip", {{"text", "a"}}), "the view flip needs \"instead\"");
  EXPECT_EQ(error("flow", {{"text", std::string(65, 'a')}}), "expected at most 64 tokens, found 65");
  EXPECT_EQ(error("flow", {{"text", std::string(64, 'a')}}), "200");
  EXPECT_EQ(error("patch", {{"text", "a"}, {"other", std::string(257, 'a')}}),
            "expected at most 256 tokens, found 257");
  const std::string line(512, 'a');
  EXPECT_EQ(error("heads", {{"data", line + "a\n"}}), "expected at most 512 tokens in a line, found 513");
  EXPECT_EQ(error("heads", {{"data", repeated(line + "\n", 128) + "a"}}),
            "expected at most 65536 tokens, found 65537");
  EXPECT_EQ(error("heads", {{"data", repeated("a\n", 4097)}}), "expected at most 4096 lines, found 4097");
  EXPECT_EQ(error("heads", {{"data", "a\n"}, {"target", "a"}}),
            "\"target\" cannot be combined with \"data\"");
  EXPECT_EQ(error("induction", {{"length", 4}, {"sequences", 1}}), "200") << "it needs no text";
}

TEST(Limits, InterventionsAreBounded) {
  const auto error = [](const std::string& text, const std::string& first = "zero decoder.0.0") {
    const Json body{{"model", "gpt"}, {"prompt", "a"}, {"max_tokens", 1}, {"interventions", {first, text}}};
    const Json reply = limited_server().post("/v1/completions", body).json();
    if (!reply.contains("error")) return std::string("200");
    EXPECT_EQ(reply["error"]["param"], "interventions[1]") << reply;
    return reply["error"]["message"].get<std::string>();
  };
  const auto places = [](int count) {
    std::string text = "zero decoder.0.residual[0";
    for (int i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_EQ(error(places(1023)), "200");
  EXPECT_EQ(error(places(1024)), "expected at most 1024 places in all");
  const auto ids = [](int count) {
    std::string text = "patch decoder.0.residual ids=0";
    for (int i = 1; i < count; ++i) text += ",0";
    return text;
  };
  EXPECT_EQ(error(ids(1025)), "expected at most 1024 ids, found 1025");
  for (const auto& [text, key] : {std::pair{"mean decoder.0.0 texts=x", "texts"},
                                  {"add decoder.0.residual vector=x#a", "vector"},
                                  {"replace decoder.0.0 pattern=x#a", "pattern"},
                                  {"patch decoder.0.residual file=x", "file"}})
    EXPECT_EQ(error(text), fmt::format("an intervention of a request cannot name a file ({}=); give the "
                                       "other input with text= or ids=",
                                       key));
}

// The path of one in-memory file is the beginning of the path of the other, such as /proc/self/fd/12 and
// /proc/self/fd/123. The message must name the right member.
TEST(Limits, StudyNamesTheRightContent) {
  TestServer server(serve_options(), {"translator"});
  RawClient client(server.port());
  client.send(request_text("GET", "/health"));
  EXPECT_EQ(client.read().status, 200);
  std::vector<int> used;
  const auto is_ours = [&](int number) { return std::find(used.begin(), used.end(), number) != used.end(); };
  while (used.empty() || used.back() < 2100) {
    const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (number < 0) break;
    used.push_back(number);
  }
  int shorter = 0;
  for (int number = 10; number < 200 && shorter == 0; ++number)
    if (is_ours(number) && is_ours(10 * number + 3)) shorter = number;
  if (shorter > 0) {
    for (const int number : {shorter, 10 * shorter + 3}) ::close(number), std::erase(used, number);
    const Json body{{"model", "translator"},
                    {"view", "alignment"},
                    {"data", "a dog\tthe dog\nthe river\ta dog\n"},
                    {"alignments", "0-0\n0-99\n"}};
    client.send(request_text("POST", "/study", body.dump()));
    const Reply reply = client.read();
    EXPECT_EQ(reply.status, 400);
    EXPECT_TRUE(reply.json()["error"].get<std::string>().starts_with("alignments:2")) << reply.body;
  }
  for (const int number : used) ::close(number);
  EXPECT_GT(shorter, 0) << "no two of these descriptors";
}

}  // namespace
}  // namespace regard::testing
