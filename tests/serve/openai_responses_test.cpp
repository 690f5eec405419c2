// The complete responses of OpenAI's routes: every member, and the limits of the numbers of new tokens.
#include "nn/cache.h"
#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& openai_server() {
  static TestServer only(serve_options(), {"gpt", "translator"});
  return only;
}

Json completions(const Json& more) {
  Json request{{"model", "gpt"}, {"prompt", "the quick"}, {"temperature", 0}};
  request.update(more);
  return openai_server().post("/v1/completions", request).json();
}

Json chat(const Json& more) {
  Json request{{"model", "gpt"}, {"messages", {{{"role", "user"}, {"content", "fox"}}}}, {"temperature", 0}};
  request.update(more);
  return openai_server().post("/v1/chat/completions", request).json();
}

// Return the JSON objects of a streamed response.
std::vector<Json> streamed(const std::string& path, Json request) {
  request["stream"] = true;
  const Reply reply = openai_server().post(path, request);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.fields.at("x-accel-buffering"), "no");
  std::vector<std::string> events = reply.events();
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::vector<Json> objects;
  for (const std::string& event : events) objects.push_back(Json::parse(event));
  return objects;
}

// Remove the members that differ between two equal requests, after a check of their values.
Json without_id(Json json, const std::string& prefix) {
  const auto id = json["id"].get<std::string>();
  EXPECT_TRUE(id.starts_with(prefix)) << id;
  EXPECT_EQ(id.size(), prefix.size() + 16) << id;
  EXPECT_NE(id.substr(prefix.size(), 8), "00000000");
  EXPECT_NEAR(json["created"].get<double>(), static_cast<double>(std::time(nullptr)), 100.0);
  json.erase("id"), json.erase("created");
  return json;
}

Json bytes(const std::string& text) {
  return Json(std::vector<unsigned char>(text.begin(), text.end()));
}

TEST(OpenAiResponses, ChatHasAllMembers) {
  const std::vector<Message> conversation = {{"user", "fox"}};
  const Model model = load(TestServer::folder("gpt"));
  const Written expected = model.chat(conversation, {.beam = 1, .max_new = 6}, {}, "chatml").at(0);
  const Json asked{{"max_tokens", 6}, {"logprobs", true}, {"top_logprobs", 2}};
  const Json reply = without_id(chat(asked), "chatcmpl-");
  const Json content = reply["choices"][0]["logprobs"]["content"];
  const std::size_t prompt = reply["usage"]["prompt_tokens"];
  EXPECT_EQ(
      reply,
      (Json{{"object", "chat.completion"},
            {"model", "gpt"},
            {"choices",
             {{{"index", 0},
               {"message", {{"role", "assistant"}, {"content", expected.text}, {"refusal", nullptr}}},
               {"logprobs", {{"content", content}, {"refusal", nullptr}}},
               {"finish_reason", "length"}}}},
            {"usage", {{"prompt_tokens", prompt}, {"completion_tokens", 6}, {"total_tokens", prompt + 6}}}}));
  EXPECT_GT(prompt, std::string("fox").size()) << "the template adds tokens";
  ASSERT_EQ(content.size(), 6u);
  std::string text;
  for (std::size_t i = 0; i < 6; ++i) {
    const Json best{{"token", content[i]["token"]},
                    {"logprob", static_cast<float>(expected.log_probabilities[i])},
                    {"bytes", bytes(content[i]["token"])}};
    const Json& top = content[i]["top_logprobs"];
    ASSERT_EQ(top.size(), 2u);
    EXPECT_EQ(top[0], best);
    EXPECT_LE(top[1]["logprob"], top[0]["logprob"]);
    EXPECT_EQ(top[1]["bytes"], bytes(top[1]["token"]));
    Json whole = best;
    whole["top_logprobs"] = top;
    EXPECT_EQ(content[i], whole);
    text += content[i]["token"].get<std::string>();
  }
  ASSERT_EQ(text, expected.text);
  EXPECT_EQ(chat({{"max_tokens", 6}})["choices"][0]["logprobs"], Json());
}

// Two greedy results have the same entries, and so has the stream.
TEST(OpenAiResponses, StreamedChatsHaveAllMembers) {
  const Json several{{"max_tokens", 6}, {"logprobs", true}, {"top_logprobs", 2}, {"n", 2}};
  Json lists[2] = {Json::array(), Json::array()};
  Json request = several;
  request["messages"] = {{{"role", "user"}, {"content", "fox"}}}, request["temperature"] = 0;
  const std::vector<Json> objects = streamed("/v1/chat/completions", request);
  for (const Json& object : objects) {
    ASSERT_EQ(without_id(object, "chatcmpl-")["object"], "chat.completion.chunk");
    EXPECT_EQ(object["id"], objects[0]["id"]);
    EXPECT_FALSE(object.contains("usage"));
    const Json& choice = object["choices"][0];
    if (choice["logprobs"].is_null()) continue;
    EXPECT_EQ(choice["logprobs"]["refusal"], Json());
    EXPECT_EQ(choice["finish_reason"], Json());
    lists[choice["index"].get<std::size_t>()].push_back(choice["logprobs"]["content"][0]);
  }
  const Json choices = chat(several)["choices"];
  ASSERT_EQ(choices.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(choices[i]["index"], i);
    EXPECT_EQ(choices[i]["logprobs"]["content"], lists[i]);
    EXPECT_EQ(lists[i].size(), 6u);
  }
  // The first chunks have the role, and the last ones the reason.
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(objects[i]["choices"][0], (Json{{"index", i},
                                              {"delta", {{"role", "assistant"}, {"content", ""}}},
                                              {"logprobs", nullptr},
                                              {"finish_reason", nullptr}}));
    EXPECT_EQ(
        objects[objects.size() - 2 + i]["choices"][0],
        (Json{{"index", i}, {"delta", Json::object()}, {"logprobs", nullptr}, {"finish_reason", "length"}}));
  }
}

// A bias of 100 makes the end token certain. It is counted, but its text and its score are not shown.
TEST(OpenAiResponses, DoNotShowTheEndToken) {
  const Json end{{"logit_bias", {{"3", 100}}}, {"max_tokens", 5}};
  Json asked = end;
  asked["logprobs"] = true;
  const Json choice = chat(asked)["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["logprobs"]["content"], Json::array());
  asked["messages"] = {{{"role", "user"}, {"content", "the dog"}}};
  asked["stream_options"] = {{"include_usage", true}};
  std::vector<Json> objects = streamed("/v1/chat/completions", asked);
  ASSERT_EQ(objects.size(), 3u) << "the role, the reason, and the usage";
  EXPECT_EQ(objects[1]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(objects[2]["choices"], Json::array());
  EXPECT_EQ(objects[2]["usage"]["completion_tokens"], 1);
  asked = end, asked["logprobs"] = 1;
  const Json text = completions(asked);
  EXPECT_EQ(text["usage"]["completion_tokens"], 1);
  const Json none = Json::array();
  EXPECT_EQ(
      text["choices"][0],
      (Json{{"index", 0},
            {"text", ""},
            {"logprobs",
             {{"tokens", none}, {"token_logprobs", none}, {"top_logprobs", none}, {"text_offset", none}}},
            {"finish_reason", "stop"}}));
  asked["model"] = "gpt", asked["prompt"] = "the";
  objects = streamed("/v1/completions", asked);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["choices"][0]["finish_reason"], "stop");
}

TEST(OpenAiResponses, CompletionsHaveAllMembers) {
  const std::string text =
      load(TestServer::folder("gpt")).write("the quick", {.beam = 1, .max_new = 16}).at(0).text;
  const std::size_t prompt = Tokenizer(TestServer::folder("gpt")).ids("the quick").size();
  const Json usage{{"prompt_tokens", prompt}, {"completion_tokens", 16}, {"total_tokens", prompt + 16}};
  // 16 is the default of "max_tokens".
  EXPECT_EQ(
      without_id(completions(Json::object()), "cmpl-"),
      (Json{{"object", "text_completion"},
            {"model", "gpt"},
            {"choices", {{{"index", 0}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", "length"}}}},
            {"usage", usage}}));
  const auto ids = Tokenizer(TestServer::folder("gpt")).ids("the quick");
  for (const Json& given : {Json("the quick"), Json(ids), Json{ids}}) {
    const Json choice = completions({{"prompt", given}, {"echo", true}})["choices"][0];
    EXPECT_EQ(choice["text"], "the quick" + text) << given;
  }
  const Json request{{"model", "gpt"},   {"prompt", "the quick"},
                     {"temperature", 0}, {"echo", true},
                     {"n", 2},           {"stream_options", {{"include_usage", true}}}};
  const std::vector<Json> objects = streamed("/v1/completions", request);
  std::string texts[2];
  for (std::size_t i = 0; i + 1 < objects.size(); ++i) {
    const Json& choice = objects[i]["choices"][0];
    EXPECT_EQ(without_id(objects[i], "cmpl-"),
              (Json{{"object", "text_completion"}, {"model", "gpt"}, {"choices", Json::array({choice})}}));
    const std::size_t index = choice["index"];
    if (i < 2) {
      EXPECT_EQ(choice["text"], "the quick");
      EXPECT_EQ(index, i);
    }
    texts[index] += choice["text"].get<std::string>();
    const bool last = i + 3 >= objects.size();
    EXPECT_EQ(choice["finish_reason"], last ? Json("length") : Json());
  }
  for (const std::string& one : texts) EXPECT_EQ(one, "the quick" + text);
  EXPECT_EQ(
      without_id(objects.back(), "cmpl-"),
      (Json{{"object", "text_completion"}, {"model", "gpt"}, {"choices", Json::array()}, {"usage", usage}}));
}

TEST(OpenAiResponses, SearchOptionsAreTheLibrarys) {
  const Model gpt = load(TestServer::folder("gpt")), translator = load(TestServer::folder("translator"));
  const auto text_of = [](const Json& more) { return completions(more)["choices"][0]["text"]; };
  const std::string greedy = gpt.write("the quick", {.beam = 1, .max_new = 16}).at(0).text;
  DecodingOptions options{.max_new = 16, .sample = true, .temperature = 0.9, .seed = 9};
  const Json sampled{{"temperature", 0.9}, {"seed", 9}};
  EXPECT_EQ(text_of(sampled), gpt.write("the quick", options).at(0).text);
  Json with = sampled;
  with["top_k"] = 3, options.top_k = 3;
  EXPECT_EQ(text_of(with), gpt.write("the quick", options).at(0).text);
  with = sampled, with["min_p"] = 0.2, options.top_k = 0, options.min_p = 0.2;
  EXPECT_EQ(text_of(with), gpt.write("the quick", options).at(0).text);
  EXPECT_EQ(text_of({{"temperature", 1}, {"top_p", 0}}), greedy);
  options = {.beam = 1, .max_new = 16, .repetition_penalty = 3.0};
  EXPECT_EQ(text_of({{"repetition_penalty", 3.0}}), gpt.write("the quick", options).at(0).text);
  EXPECT_NE(text_of({{"repetition_penalty", 3.0}}), greedy);
  for (const char* penalty : {"presence_penalty", "frequency_penalty"})
    EXPECT_NE(text_of({{penalty, 2.0}}), greedy) << penalty;
  EXPECT_EQ(text_of({{"model", "translator"}, {"prompt", "the dog"}}),
            translator.write("the dog", {.beam = 1}).at(0).text);
  // Empty strings and values that change nothing are accepted.
  EXPECT_EQ(text_of({{"stop", {""}}, {"suffix", ""}, {"response_format", {{"type", "text"}}}}), greedy);
  EXPECT_EQ(text_of({{"n", 2}, {"best_of", 2}}), greedy);
}

TEST(OpenAiResponses, ErrorsHaveAllMembers) {
  const auto error = [](const Json& reply) { return reply.at("error"); };
  const auto expected = [](const char* message, const char* parameter, const char* code) {
    return Json{
        {"message", message}, {"type", "invalid_request_error"}, {"param", parameter}, {"code", code}};
  };
  EXPECT_EQ(error(completions({{"n", 2}, {"best_of", 3}})),
            expected("this server does not support best_of above n", "best_of", "unsupported_parameter"));
  EXPECT_EQ(
      error(completions({{"suffix", "x"}})),
      expected("this server does not support insertion before a suffix", "suffix", "unsupported_parameter"));
  EXPECT_EQ(error(completions({{"echo", true}, {"logprobs", 0}})),
            expected("this server does not support logprobs with echo", "logprobs", "unsupported_parameter"));
  EXPECT_EQ(error(completions({{"prompt", {"a", "b"}}, {"stream", true}})),
            expected("expected one prompt with \"stream\": true, found several", "prompt",
                     "unsupported_parameter"));
  EXPECT_EQ(error(completions({{"prompt", ""}}))["code"], "empty_prompt");
  for (const char* id : {"-1", "x", "100000"})
    EXPECT_EQ(error(completions({{"logit_bias", {{id, 1}}}})),
              expected(("expected a token id of the model, found \"" + std::string(id) + "\"").c_str(),
                       "logit_bias", "invalid_value"));
  EXPECT_EQ(error(chat({{"top_logprobs", 1}})),
            expected("\"top_logprobs\" needs \"logprobs\": true", "top_logprobs", "invalid_value"));
  const Json image{{"role", "user"}, {"content", {{{"type", "image_url"}}}}};
  EXPECT_EQ(
      error(chat({{"messages", {image}}})),
      expected("this server supports only content parts of type text", "messages", "unsupported_parameter"));
  EXPECT_EQ(error(completions({{"interventions", {"zero decoder.0.0", "mean decoder.0.0 texts=a"}}})),
            expected("an intervention of a request cannot name a file (texts=); give the other input with "
                     "text= or ids=",
                     "interventions[1]", "invalid_value"));
}

TEST(OpenAiResponses, NewTokensFitThePositionsAndTheCache) {
  const auto tokens_of = [](const Json& reply) { return reply.at("usage").at("completion_tokens"); };
  const Json never_end{{"logit_bias", {{"3", -100}}}, {"max_tokens", 1000}};
  // The model has 256 positions.
  EXPECT_EQ(tokens_of(completions(never_end)), 256 - 9);
  Json full = never_end;
  full["prompt"] = std::string(255, 'a');
  EXPECT_EQ(tokens_of(completions(full)), 1);
  full["prompt"] = std::string(256, 'a');
  EXPECT_EQ(completions(full)["error"]["message"],
            "the prompt of 256 tokens leaves no room for new tokens; shorten it");
  EXPECT_EQ(completions(full)["error"]["code"], "context_length_exceeded");
  serve::ServeOptions options = serve_options();
  options.sessions.cache_tokens = 8 * kPageTokens;
  TestServer small(options, {"gpt"});
  Json request{{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"logit_bias", {{"3", -100}}}};
  const auto asked = [&] { return small.post("/v1/chat/completions", request).json(); };
  const std::int64_t prompt = asked()["usage"]["prompt_tokens"];
  // Without a maximum, a request uses at most half of the cache.
  EXPECT_EQ(tokens_of(asked()), 3 * kPageTokens - prompt);
  request["max_tokens"] = 1000;
  EXPECT_EQ(tokens_of(asked()), 6 * kPageTokens - prompt);
  request["n"] = 2;
  EXPECT_EQ(tokens_of(asked()), 2 * (2 * kPageTokens - prompt)) << "two samples divide the cache";
  request["temperature"] = 0;
  EXPECT_EQ(tokens_of(asked()), 6 * kPageTokens - prompt) << "greedy search runs once";
}

}  // namespace
}  // namespace regard::testing
