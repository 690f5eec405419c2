// OpenAI's speech routes give the transcripts of the library.
#include "base/file.h"
#include "regard/transcribe.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& speech_server() {
  static TestServer only(serve_options(), {"whisper", "gpt"});
  return only;
}

std::string sound_file(const std::string& name) {
  return TestServer::folder("whisper") + "/" + name;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Reply post_sound(const std::string& path, const std::string& sound, const Fields& fields,
                 TestServer& server = speech_server()) {
  std::string body;
  for (const auto& [name, value] : fields)
    body += "--edge\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  body += "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n" + sound +
          "\r\n--edge--\r\n";
  return server.post_form(path, body, "multipart/form-data; boundary=edge");
}

TEST(Speech, TranscriptsAreTheLibrarys) {
  const std::string sound = read_file(sound_file("long.wav"));
  const Model model = load(TestServer::folder("whisper"));
  const Transcript expected = Transcriber(model, {.language = "en"}).transcribe(sound_file("long.wav"));
  ASSERT_FALSE(expected.segments.empty());
  std::string joined;
  std::uint64_t tokens = 0;
  for (const TranscriptSegment& one : expected.segments) {
    joined += (joined.empty() ? "" : " ") + one.text;
    tokens += one.tokens.size();
  }
  const std::string metric = "regard_completion_tokens_total{model=\"whisper\"}";
  const std::uint64_t before = speech_server().counted(metric);
  Reply reply = post_sound("/v1/audio/transcriptions", sound, {{"language", "en"}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["text"], joined);
  EXPECT_EQ(speech_server().counted(metric) - before, tokens);
  for (const char* name : {"text", "srt", "vtt"}) {
    reply = post_sound("/v1/audio/transcriptions", sound,
                       {{"language", "en"}, {"response_format", name}, {"model", "whisper"}});
    EXPECT_EQ(reply.body, format(expected, name));
    EXPECT_EQ(reply.fields["content-type"], "text/plain; charset=utf-8");
  }
  reply = post_sound(
      "/v1/audio/transcriptions", sound,
      {{"language", "en"}, {"response_format", "verbose_json"}, {"timestamp_granularities[]", "segment"}});
  const Json json = reply.json();
  EXPECT_EQ(json["language"], "english");
  ASSERT_EQ(json["segments"].size(), expected.segments.size());
  EXPECT_EQ(json["segments"][0]["tokens"], Json(expected.segments[0].tokens));
  // The route for translations gives the translation of the library, here at temperature 0.5.
  const Transcript translated =
      Transcriber(model, {.translate = true, .temperatures = {0.5}}).transcribe(sound_file("short.wav"));
  reply = post_sound("/v1/audio/translations", read_file(sound_file("short.wav")),
                     {{"temperature", "0.5"}, {"response_format", "text"}});
  EXPECT_EQ(reply.body, format(translated, "text"));
}

TEST(Speech, TheLanguageIsIgnoredByACtcModel) {
  const Model model = load(TestServer::folder("ctc"));
  const Transcript expected = Transcriber(model, {}).transcribe(sound_file("short.wav"));
  TestServer server(serve_options(), {"ctc"});
  const Reply reply = post_sound("/v1/audio/transcriptions", read_file(sound_file("short.wav")),
                                 {{"language", "en"}, {"response_format", "text"}}, server);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, format(expected, "text"));
  EXPECT_THROW(Transcriber(model, {.language = "en"}), Error);
}

TEST(Speech, AttentionOverASoundIsACapture) {
  const std::string sound = read_file(sound_file("short.wav"));
  const char* const path = "/attend/sound";
  Reply reply = post_sound(path, sound, {{"request", R"({"kind": "cross", "generate": 5})"}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json before = reply.json();
  EXPECT_EQ(before["text"], "a.wav");
  EXPECT_NEAR(before["sound"]["time_step"].get<double>(), 0.02, 1e-6);
  for (const Json& head : before["attention"]) EXPECT_EQ(head["kind"], "cross");
  // With an ablated head, the response contains the pass over the given tokens, and the text that the model
  // generates without given tokens.
  Json request{{"written", before["tokens"]["written"]["ids"]}, {"ablate", "cross.0.1"}, {"free", true}};
  request["generate"] = 5, request["model"] = "whisper";
  reply = post_sound(path, sound, {{"request", request.dump()}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["tokens"]["written"]["ids"], before["tokens"]["written"]["ids"]);
  request.erase("written");
  const Json after = post_sound(path, sound, {{"request", request.dump()}}).json();
  EXPECT_EQ(reply.json()["translation_generated"], after["translation"]);
  for (const char* wrong :
       {"{", "[]", R"({"text": "a"})", R"({"interventions": ["zero encoder.9"]})", R"({"model": "gpt"})",
        R"({"ablate": "cross.9.9"})", R"({"written": [415]})", R"({"language": "xx"})"})
    EXPECT_EQ(post_sound(path, sound, {{"request", wrong}}).status, 400) << wrong;
  Json ids = Json::array();
  for (int i = 0; i < 1000; ++i) ids.push_back(4);
  EXPECT_EQ(post_sound(path, sound, {{"request", Json{{"written", ids}}.dump()}}).status, 400);
  for (const std::string& bad : {std::string(), std::string("no sound"), sound.substr(0, 60)}) {
    reply = post_sound(path, bad, {});
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.body.find("/proc"), std::string::npos) << reply.body;
  }
}

// If this fails, an intervention is ignored, or a request without one has other bits.
TEST(Speech, InterventionsChangeTheTranscript) {
  const std::string sound = read_file(sound_file("short.wav"));
  for (const char* path : {"/v1/audio/transcriptions", "/v1/audio/translations"}) {
    const auto text_with = [&](const std::vector<std::string>& interventions) {
      Fields fields{{"response_format", "verbose_json"}};
      for (const std::string& one : interventions) fields.emplace_back("interventions", one);
      const Reply reply = post_sound(path, sound, fields);
      EXPECT_EQ(reply.status, 200) << reply.body;
      return reply.json()["segments"];
    };
    const Json whole = text_with({});
    EXPECT_EQ(text_with({"zero encoder.0 positions=9000", "zero cross.0.0 positions=9000"}), whole) << path;
    EXPECT_NE(text_with({"zero encoder.0"}), whole) << path;
    EXPECT_NE(text_with({"zero cross.0.0", "zero cross.0.1", R"({"do": "zero", "at": "decoder.1"})"}), whole);
    EXPECT_EQ(text_with({}), whole) << path;
  }
  const Model model = load(TestServer::folder("whisper"));
  const Transcript expected =
      Transcriber(model, {.interventions = {"zero encoder.0"}}).transcribe(sound_file("short.wav"));
  EXPECT_EQ(post_sound("/v1/audio/transcriptions", sound,
                       {{"interventions", "zero encoder.0"}, {"response_format", "srt"}})
                .body,
            format(expected, "srt"));
  EXPECT_NE(format(expected, "srt"), format(Transcriber(model).transcribe(sound_file("short.wav")), "srt"));
  const Json seen = post_sound("/attend/sound", sound,
                               {{"request", R"({"interventions": ["uniform cross.0.1"], "generate": 3})"}})
                        .json();
  EXPECT_EQ(seen["interventions"][0]["detail"], "uniform cross.0.1");
  for (const char* wrong : {"zero encoder.9", "nothing", "mean encoder.0 texts=/etc/passwd"})
    EXPECT_EQ(post_sound("/v1/audio/transcriptions", sound, {{"interventions", wrong}}).status, 400) << wrong;
}

TEST(Speech, WrongRequestsAre400) {
  const std::string sound = read_file(sound_file("short.wav"));
  const char* const path = "/v1/audio/transcriptions";
  EXPECT_EQ(post_sound(path, sound, {{"language", "xx"}}).status, 400);
  EXPECT_EQ(post_sound(path, sound, {{"response_format", "pdf"}}).status, 400);
  EXPECT_EQ(post_sound(path, sound, {{"temperature", "7"}}).status, 400);
  EXPECT_EQ(post_sound(path, sound, {{"stream", "true"}}).status, 400);
  EXPECT_EQ(post_sound(path, sound, {{"timestamp_granularities[]", "word"}}).status, 400);
  EXPECT_EQ(post_sound(path, sound, {{"model", "gpt"}}).status, 400);
  for (const std::string& bad : {std::string(), std::string("no sound"), sound.substr(0, 60)}) {
    const Reply reply = post_sound(path, bad, {});
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.body.find("/proc"), std::string::npos) << reply.body;
  }
  // A model with sound input rejects the routes for text.
  EXPECT_EQ(speech_server().post("/attend", {{"model", "whisper"}, {"text", "a"}}).status, 400);
  EXPECT_EQ(speech_server().post("/v1/completions", {{"model", "whisper"}, {"prompt", "a"}}).status, 400);
  EXPECT_EQ(speech_server().post("/tokenize", {{"model", "whisper"}, {"inputs", "a"}}).status, 400);
  EXPECT_EQ(speech_server().get("/v1/models/whisper").status, 200);
}

}  // namespace
}  // namespace regard::testing
