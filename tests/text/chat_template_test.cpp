// Chat templates: comparison with transformers (tests/data/chat-templates), malicious templates, and errors
// that give file and line.
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>

#include "base/file.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/thread_time.h"
#include "support/throws.h"
#include "text/jinja/render.h"

namespace regard::text {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return testing::golden("chat-templates");
}

const Json& conversations() {
  static const Json all = read_json((folder() / "conversations.json").string());
  return all;
}

std::string rendered(const ChatTemplate& chat_template, const Json& given) {
  TokenizerConfig config;
  config.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  ChatOptions options;
  for (const auto& [key, value] : given.items()) {
    if (key == "add_generation_prompt")
      options.add_generation_prompt = value.get<bool>();
    else if (key != "messages")
      options.variables[key] = value;
  }
  return render_chat(config, chat_template, given.at("messages"), options);
}

void expect_golden(const ChatTemplate& chat_template, const Json& given, const Json& golden) {
  if (golden.contains("text")) {
    EXPECT_EQ(rendered(chat_template, given), golden.at("text").get<std::string>());
    return;
  }
  try {
    ADD_FAILURE() << "rendered: " << rendered(chat_template, given);
  } catch (const Error& error) {
    // If the template refuses the conversation, the error is invalid_input; if the template cannot be
    // computed, it is bad_file.
    EXPECT_TRUE(error.kind() == ErrorKind::invalid_input || error.kind() == ErrorKind::bad_file)
        << error.what();
    EXPECT_EQ(error.place().file, chat_template.name) << error.what();
    EXPECT_GE(error.place().line, 1) << error.what();
    const std::string reason = golden.value("refused", "");
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(ChatTemplate, RendersAsTransformersDoes) {
  const Json golden = read_json((folder() / "golden.json").string());
  EXPECT_EQ(golden.size(), 12 * conversations().size());
  for (const auto& [key, result] : golden.items()) {
    SCOPED_TRACE(key);
    const std::size_t slash = key.find('/');
    const fs::path file = folder() / "templates" / (key.substr(0, slash) + ".jinja");
    expect_golden({read_file(file), file.string()}, conversations().at(key.substr(slash + 1)), result);
  }
}

// The built-in templates render the same text as the templates in the models' folders.
TEST(ChatTemplate, TheCommonOnesRenderAsTheirModelsTemplates) {
  const Json golden = read_json((folder() / "golden.json").string());
  for (const std::string& name : common_chat_templates())
    for (const char* conversation : {"question", "turns", "system", "answered", "empty"}) {
      SCOPED_TRACE(name + "/" + conversation);
      expect_golden(find_chat_template({}, name), conversations().at(conversation),
                    golden.at(name + "/" + conversation));
    }
}

std::string render(const std::string& source, std::size_t work = jinja::kRenderWork) {
  return jinja::render(source, "t.jinja", {{"messages", jinja::List{jinja::Value("m")}}}, work);
}

TEST(ChatTemplate, MistakesAreNamedWithTheirLine) {
  struct Case {
    std::string source;
    ErrorKind kind;
    std::int64_t line;
    std::string part;
  };
  for (const Case& one : {
           Case{"\n\n{{ a.b }}", ErrorKind::bad_file, 3, "\"a\", which is not defined"},
           Case{"\n{{ a + 1 }}", ErrorKind::bad_file, 2, "unsupported operand types"},
           Case{"{% for x in 3 %}{% endfor %}", ErrorKind::bad_file, 1, "not iterable"},
           Case{"\n{{ f() }}", ErrorKind::bad_file, 2, "not callable"},
           Case{"\n{{ 1 | nofilter }}", ErrorKind::bad_file, 2, "nofilter"},
           Case{"\n{{ 1 is notest }}", ErrorKind::bad_file, 2, "notest"},
           Case{"\n{{ 'a'.nomethod() }}", ErrorKind::bad_file, 2, "nomethod"},
           Case{"{% macro m() %}\n{{ 1 % 0 }}{% endmacro %}\n\n{{ m() }}", ErrorKind::bad_file, 2, "zero"},
           Case{"\n{% include 'x' %}", ErrorKind::bad_file, 2, "include"},
           Case{"\n{% if true %}", ErrorKind::bad_file, 2, "unterminated block"},
           Case{"\n{% endfor %}", ErrorKind::bad_file, 2, "not opened"},
           Case{"\n{{ 'open", ErrorKind::bad_file, 2, "unterminated string"},
           Case{"\n{{ 1 + }}", ErrorKind::bad_file, 2, "expected a value"},
           Case{"\n{{ a ? b }}", ErrorKind::bad_file, 2, "unexpected character"},
           Case{"\n\n{{ 2 ** 3 }}", ErrorKind::bad_file, 3, "** is not supported"},
           Case{"\n{# open", ErrorKind::bad_file, 2, "comment"},
           Case{"{{ '\xFF' }}", ErrorKind::bad_file, -1, "UTF-8"},
       }) {
    try {
      ADD_FAILURE() << one.source << " gave " << render(one.source);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), one.kind) << error.what();
      EXPECT_EQ(error.place().file, "t.jinja") << error.what();
      EXPECT_EQ(error.place().line, one.line) << error.what();
      EXPECT_NE(std::string(error.what()).find(one.part), std::string::npos) << error.what();
    }
  }
}

TEST(ChatTemplate, LargeIntegersKeepTheirSign) {
  const Json given = {{"a", std::numeric_limits<std::int64_t>::max()},
                      {"b", std::numeric_limits<std::uint64_t>::max()}};
  const jinja::Dict variables{{"v", jinja::Value::from_json(given)}};
  EXPECT_EQ(jinja::render("{{ v.a }} {{ v.b }}", "t.jinja", variables),
            "9223372036854775807 1.8446744073709552e+19");
}

// strftime_now() formats the current local time. The options of the request replace variables.
TEST(ChatTemplate, CurrentTimeAndVariables) {
  const Json messages = {{{"role", "user"}, {"content", "a"}}};
  const auto text = [&](const char* source, const ChatOptions& options = {}) {
    TokenizerConfig config;
    config.special_tokens = {{"bos_token", "<s>"}};
    return render_chat(config, {source, "t.jinja"}, messages, options);
  };
  const auto now = [] { return static_cast<long long>(std::time(nullptr)); };
  const long long before = now(), given = std::stoll(text("{{ strftime_now('%s') }}"));
  EXPECT_TRUE(before <= given && given <= now()) << given;
  EXPECT_EQ(text("{{ strftime_now('a%%b') }}"), "a%b");
  for (const auto& [call, found] :
       {std::pair("strftime_now()", "no argument"), {"strftime_now(1)", "a number"}})
    EXPECT_REGARD_ERROR(
        text((std::string("\n{{ ") + call + " }}").c_str()), ErrorKind::bad_file,
        "t.jinja:2: chat template: wrong argument of strftime_now() (expected a format string, "
        "found " +
            std::string(found) + ")");
  const char* all =
      "{{ bos_token }} {{ tools }} {{ documents }} {{ add_generation_prompt }} {{ x is defined }}";
  EXPECT_EQ(text(all), "<s> None None True False");
  ChatOptions options;
  options.add_generation_prompt = false;
  options.variables = {{"bos_token", "<b>"}, {"tools", {1, 2}}, {"x", nullptr}};
  EXPECT_EQ(text(all, options), "<b> [1, 2] None False True");
}

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

void expect_refused_at_once(const std::string& source, std::size_t work) {
  SCOPED_TRACE(source.substr(0, 120));
  const double begin = testing::thread_seconds();
  try {
    ADD_FAILURE() << "rendered " << render(source, work).size() << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    EXPECT_EQ(error.place().file, "t.jinja") << error.what();
  }
  EXPECT_LT(testing::thread_seconds() - begin, testing::kSlowBuild ? 30 : 5);
}

// A malicious template cannot exhaust memory, time or the stack.
TEST(ChatTemplate, HarmIsRefusedAtOnce) {
  const std::string loop = "{% for i in range(1000) %}", end = "{% endfor %}";
  const std::string open = "{% set s = 'aaaaaaaa' %}";
  const std::vector<std::string> harmful{
      "{% for i in range(999999999999999999) %}x" + end,
      "{{ range(-999999999999999999, 999999999999999999, 7) }}",
      "{{ 'a' * 999999999999999999 }}",
      open + times(60, "{% set s = s ~ s %}"),
      times(4, loop) + "x" + times(4, end),
      "{% for i in range(1000000000000) %}x" + end,
      open + times(60, "{% set s = s + s %}"),
      open + times(60, "{% set s = s.replace('a', s) %}"),
      open + times(60, "{% set s = [s, s] | join(s) %}"),
      "{% set l = [1] %}" + times(60, "{% set l = l + l %}"),
      "{% set l = [1] %}" + times(60, "{% set l = [l, l] %}") + "{{ l }}",
      "{% set l = [1] %}" + times(60, "{% set l = [l, l] %}") + "{{ l == l }}",
      "{% set l = [1] %}" + times(60, "{% set l = {'a': l, 'b': l} %}") + "{{ l | tojson }}",
      "{% set l = [1] %}" + times(100, "{% set l = [l] %}"),
      "{% set n = namespace(l=[]) %}{% for i in range(100000) %}{% set n.l = [n.l] %}" + end,
      "{% set n = namespace() %}{% set n.n = n %}{{ n.n }}",
      "{% set n = namespace() %}{% set n.n = [n] %}{{ n.n }}",
      "{% set n = namespace() %}{% set m = namespace(n=n) %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}" + times(400, "1 + ") + "{{ " + times(400, "1 + ") + "m() }}{% endmacro %}{{ m() }}",
      "{{ " + times(5000, "(") + "1" + times(5000, ")") + " }}",
      "{{ " + times(5000, "-") + "1 }}",
      "{{ " + times(5000, "not ") + "1 }}",
      "{{ " + times(5000, "[") + times(5000, "]") + " }}",
      "{{ 1" + times(5000, " + 1") + " }}",
      "{{ 1" + times(5000, " | abs") + " }}",
      "{{ a" + times(5000, ".a") + " }}",
      times(5000, "{% if 1 %}") + times(5000, "{% endif %}"),
      "{% if 1 %}" + times(5000, "{% elif 1 %}") + "{% endif %}",
      "{{ 'a' | map(" + times(5000, "'map',") + "'upper') | list }}",
      "{{ 'a' | indent('" + times(1000, "x") + "') }}" + loop + loop + "{{ ('a\n' * 1000) | indent(256) }}" +
          end + end,
      "{{ (('a' * 1000000) ~ 'b').count(('a' * 500000) ~ 'b') }}",
      "{{ ('a' * 10000000).split('a') | length }}" + loop + "{{ ('a' * 10000000).split('a') | length }}" +
          end,
      loop + loop + loop + "{% set l = range(1000) %}" + end + end + end,
      "{{ (-999999999999999999 * 9 - 223372036854775817) | abs }}",
      "{{ 999999999999999999 * 999999999999999999 }}",
      "{{ 9223372036854775807 }}",
      "{{ '1e300' | int }}",
      times(1U << 20, "x") + "x",
  };
  for (std::size_t i = 0; i < harmful.size(); ++i)
    expect_refused_at_once(harmful[i],
                           i < 4 && !testing::kSlowBuild ? jinja::kRenderWork : jinja::kRenderWork / 32);
}

TEST(ChatTemplate, ALongConversationIsNoHarm) {
  const ChatTemplate chatml = find_chat_template({}, "chatml");
  Json messages = Json::array();
  for (int i = 0; i < 3000; ++i)
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(1000, 'a')}});
  EXPECT_GT(rendered(chatml, {{"messages", messages}}).size(), 3'000'000U);
  // Like some published templates, this one collects its text in a namespace.
  const std::string gathering =
      "{% set n = namespace(t='') %}{% for m in messages %}{% set n.t = n.t ~ m.content[:100] %}{% endfor "
      "%}{{ n.t }}";
  EXPECT_EQ(rendered({gathering, "t"}, {{"messages", messages}}).size(), 300'000U);
}

TEST(ChatTemplate, FoundByNameOrInTheFolder) {
  const testing::TemporaryFolder home;
  const Json named = {{{"name", "default"}, {"template", "D"}},
                      {{"name", "rag"}, {"template", "\n{{ a.b }}"}}};
  write_file_atomically(home.path() / "tokenizer_config.json", Json{{"chat_template", named}}.dump());
  const TokenizerConfig config = read_tokenizer_config(home.path());
  EXPECT_EQ(find_chat_template(config, "").text, "D");
  EXPECT_EQ(find_chat_template(config, "").name, (home.path() / "tokenizer_config.json").string());
  const Json messages = {{{"role", "user"}, {"content", "a"}}};
  EXPECT_REGARD_ERROR(render_chat(config, find_chat_template(config, "rag"), messages), ErrorKind::bad_file,
                      "tokenizer_config.json:2: ");
  EXPECT_REGARD_ERROR(find_chat_template(config, "chatm"), ErrorKind::usage, "rag, chatml");
  EXPECT_REGARD_ERROR(find_chat_template({}, ""), ErrorKind::usage, "--chat-template");
  for (const char* wrong : {"[]", "{}", "[1]", R"([{"content": "a"}])", R"([{"role": 7}])"})
    EXPECT_REGARD_ERROR(render_chat(config, {"D", "t"}, Json::parse(wrong)), ErrorKind::invalid_input,
                        "not a conversation");
}

}  // namespace
}  // namespace regard::text
