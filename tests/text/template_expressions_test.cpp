// Every operator, filter, test, method and statement of the template language, compared with jinja2 in
// transformers' environment (tests/data/chat-templates/expressions.py).
#include <gtest/gtest.h>

#include <map>

#include "support/shared_data.h"
#include "text/jinja/render.h"

namespace regard::text {
namespace {

// Differences from jinja2: source and result of this renderer ("" for an error).
const std::map<std::string, std::string> kDifferences{
    {"{{ 3 * 'ab' }}", ""},  // only string * count is supported
    {"{{ l * 2 }}", ""},     // lists cannot be repeated
    {"{% for i in 1, 2 %}{{ i }}{% endfor %}", ""},
    {"{{ w.upper() }}", "STRAßE ÜNÏ 漢字 E\u0301"},  // each letter is mapped to one letter
    {"{{ w | upper }}", "STRAßE ÜNÏ 漢字 E\u0301"},
    {"{{ 2.675 | round(2) }}", "2.68"},        // rounded after multiplication by 100
    {"{{ d | tojson(sort_keys=true) }}", ""},  // keys keep their order
    {"{{ w | tojson(true) }}", ""},            // only ensure_ascii=false is supported
    // A tuple is rendered as a list.
    {"{{ 1,2 }}", "[1, 2]"},
    {"{{ d.items() | list }}", "[['b', 1], ['A', [1, 'two', None, 2.5, True]], ['c', {'k': 'v'}]]"},
    {"{{ d | items | list }}", "[['b', 1], ['A', [1, 'two', None, 2.5, True]], ['c', {'k': 'v'}]]"},
    {"{{ d | dictsort }}", "[['A', [1, 'two', None, 2.5, True]], ['b', 1], ['c', {'k': 'v'}]]"},
    {"{{ {'b': 1, 'C': 2, 'a': 3} | dictsort | list }}", "[['a', 3], ['b', 1], ['C', 2]]"}};

TEST(TemplateExpressions, RenderAsJinjaDoes) {
  const Json all = read_json((testing::golden("chat-templates") / "expressions.json").string());
  EXPECT_GT(all.at("cases").size(), 500u);
  for (const Json& one : all.at("cases")) {
    const auto source = one.at("source").get<std::string>();
    jinja::Dict variables;
    for (const auto& [name, value] : all.at("variables").items())
      variables.emplace_back(name, jinja::Value::from_json(value));
    const auto differs = kDifferences.find(source);
    const bool refused = differs != kDifferences.end() ? differs->second.empty() : !one.contains("text");
    try {
      const std::string text = jinja::render(source, "t.jinja", variables, jinja::kRenderWork);
      EXPECT_FALSE(refused) << source << " gave " << text;
      const std::string expected = differs != kDifferences.end() ? differs->second : one.value("text", "");
      EXPECT_EQ(text, refused ? text : expected) << source;
    } catch (const Error& error) {
      EXPECT_TRUE(refused) << source << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace regard::text
