// The work that is counted for each operation of a chat template. Its limit bounds memory and time of
// untrusted templates.
#include <gtest/gtest.h>

#include "support/throws.h"
#include "text/jinja/render.h"

namespace regard::text {
namespace {

bool renders(const std::string& source, const jinja::Dict& variables, std::size_t work) {
  try {
    jinja::render(source, "t.jinja", variables, work);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Return the smallest limit under which the template renders. With `guess`, a right guess saves the search.
std::size_t work_of(const std::string& source, std::size_t guess) {
  jinja::List texts;
  for (int i = 0; i < 1000; ++i) texts.emplace_back("b\n");
  jinja::Dict members;
  for (int i = 0; i < 100; ++i) members.emplace_back("key" + std::to_string(i), jinja::Value("c"));
  const jinja::Dict variables{{"t", jinja::Value(std::string(9000, 'a') + "\n")},
                              {"l", jinja::Value(texts)},
                              {"d", jinja::Value(members)}};
  if (renders(source, variables, guess) && !renders(source, variables, guess - 1)) return guess;
  std::size_t low = 0, high = jinja::kRenderWork;
  EXPECT_TRUE(renders(source, variables, high)) << source;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (renders(source, variables, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

TEST(TemplateWork, OfEachOperation) {
  // Work of each template in addition to the work of the template "{{ 1 }}".
  const std::vector<std::pair<std::string, std::size_t>> expected{
      {"{{ t }}", 24},
      {"{{ t.upper() }}", 45221},
      {"{{ t.split('b') }}", 63889},
      {"{{ t.replace('a', 'bc') }}", 81890},
      {"{{ t.count('a') }}", 45567},
      {"{{ t.find('b') }}", 45567},
      {"{{ t.strip('abc') }}", 99423},
      {"{{ t.strip() }}", 81224},
      {"{{ t.splitlines() }}", 54412},
      {"{{ t[5] }}", 36285},
      {"{{ t[2:9000] }}", 45346},
      {"{{ t ~ t }}", 36308},
      {"{{ t + t }}", 36308},
      {"{{ t * 9 }}", 162298},
      {"{{ 'b' in t }}", 9563},
      {"{{ t == t }}", 9225},
      {"{{ t < t }}", 9225},
      {"{{ t | list }}", 2466458},
      {"{{ t | indent(40) }}", 18361},
      {"{{ t | tojson }}", 18269},
      {"{{ [t] }}", 9281},
      {"{{ l }}", 50072},
      {"{{ l + l }}", 292272},
      {"{{ l == l }}", 50224},
      {"{{ l | join(', ') }}", 56408},
      {"{{ l | tojson(indent=9) }}", 75330},
      {"{{ l.count('x') }}", 51281},
      {"{{ 'x' in l }}", 98281},
      {"{{ l | map('upper') | list }}", 510493},
      {"{% for i in l %}{{ i }}{% endfor %}", 1160024},
      {"{% for i in range(1000) %}{% endfor %}", 1112200},
      {"{% for i in range(1000, 0, -2) %}{% endfor %}", 556392},
      {"{{ d }}", 5462},
      {"{{ d.key50 }}", 1021},
      {"{{ d.items() }}", 47664},
      {"{{ d | tojson }}", 7044},
      {"{{ dict(a=1, b=2) }}", 602},
      {"{% set n = namespace(a=1) %}{% for i in l %}{% set n.a = i %}{% endfor %}", 1296576},
  };
  const std::size_t least = work_of("{{ 1 }}", 1);
  for (const auto& [source, work] : expected)
    EXPECT_EQ(work_of(source, least + work) - least, work) << source;
}

}  // namespace
}  // namespace regard::text
