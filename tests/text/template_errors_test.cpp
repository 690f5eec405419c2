// Each error of the template language: its complete message, with the line in the template. Values at the
// boundary of an error are those of jinja2.
#include <gtest/gtest.h>

#include "regard/error.h"
#include "support/throws.h"
#include "text/jinja/render.h"

namespace regard::text {
namespace {

std::string render(const std::string& source) {
  return jinja::render(source, "t.jinja", {{"messages", jinja::List{jinja::Value("m")}}});
}

struct Mistake {
  std::string source;
  int line;
  std::string message;  // after "chat template: "
};

void check_mistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& one : mistakes) {
    SCOPED_TRACE(one.source);
    testing::expect_error_text(ErrorKind::bad_file,
                               "t.jinja:" + std::to_string(one.line) + ": chat template: " + one.message,
                               [&] { ADD_FAILURE() << "gave " << render(one.source); });
  }
}

TEST(TemplateErrors, MethodsOfStringsAndLists) {
  check_mistakes({
      {"{{ 'a'.replace() }}", 1, "wrong argument of replace() (expected a string, found no argument)"},
      {"{{ 'a'.replace('a', 1) }}", 1, "wrong argument of replace() (expected a string, found a number)"},
      {"{{ 'a b'.split(none, 0) }}", 1,
       "split() at white space cannot have a limit (expected no maxsplit, or a separator, found maxsplit 0)"},
      {"{{ 'a b'.split('') }}", 1, "the separator of split() is empty (expected at least 1 character)"},
      {"{{ 'a'.replace('', 'b') }}", 1,
       "the text to replace in replace() is empty (expected at least 1 character)"},
      {"{{ 'a'.startswith() }}", 1,
       "startswith() or endswith() has no argument (expected a string or a list)"},
      {"{{ 'a'.join() }}", 1, "join() has no argument (expected a list)"},
      {"{{ 'a'.upper(1) }}", 1, "too many arguments of upper() (expected at most 0, found 1 argument)"},
      {"{{ 'a'.strip('a', x='b') }}", 1,
       "too many arguments of strip() (expected at most 1, found 2 arguments)"},
      {"{{ 'a'.nomethod() }}", 1,
       "unsupported method (found \"nomethod\" of a string). Choose a built-in template (--chat-template)"},
      {"{{ 'abc'.find() }}", 1, "wrong argument of find() (expected a string, found no argument)"},
      {"{{ {}.get() }}", 1, "wrong argument of get() (expected a string, found no argument)"},
      {"{{ {'a': 1}.pop() }}", 1,
       "the value is not callable (expected a macro or a function, found \"pop\")"},
      {"{{ [1].append(2) }}", 1,
       "unsupported method (found \"append\" of a list). Choose a built-in template (--chat-template)"},
      {"{{ [1].index(2) }}", 1, "index() did not find the value in the list"},
  });
}

TEST(TemplateErrors, SubscriptsAndOperators) {
  check_mistakes({
      {"{{ nothing[0] }}", 1,
       "subscript of an undefined value (expected a mapping, a list or a string, found \"nothing\", which is "
       "not defined)"},
      {"{{ 1[0:1] }}", 1, "the value cannot be sliced (expected a string or a list, found a number)"},
      {"{{ [1][::0] }}", 1, "the step of a slice is 0 (expected a step other than 0)"},
      {"{{ 1 + 'a' }}", 1,
       "unsupported operand types (expected two numbers; for +, also two strings or two lists, found a "
       "number + a string)"},
      {"{{ 1 // 0 }}", 1, "division by zero"},
      {"{{ range() }}", 1,
       "wrong number of arguments of range() (expected 1 to 3 numbers, found 0 arguments)"},
      {"{{ range(1, 2, 3, 4) }}", 1,
       "wrong number of arguments of range() (expected 1 to 3 numbers, found 4 arguments)"},
      {"{{ range(1, 2, 0) }}", 1, "the step of range() is 0 (expected a step other than 0)"},
      {"{{ range('a') }}", 1, "invalid value: expected an integer (found a string)"},
      {"{{ (-999999999999999999 * 9 - 223372036854775817) // -1 }}", 1,
       "the result exceeds the range of 64-bit integers (expected -2^63 to 2^63 - 1)"},
      {"{{ (-999999999999999999 * 9 - 223372036854775817) | abs }}", 1,
       "the result exceeds the range of 64-bit integers (expected -2^63 to 2^63 - 1)"},
  });
}

TEST(TemplateErrors, Filters) {
  check_mistakes({
      {"{{ [] | dictsort }}", 1, "wrong operand of the filter dictsort (expected a mapping, found a list)"},
      {"{{ {} | dictsort(by='k') }}", 1,
       "wrong argument of the filter dictsort (expected key or value, found by=k)"},
      {"{{ '1' | int(0, 2) }}", 1, "unsupported base of the filter int (expected 10, found 2)"},
      {"{{ 1.5 | round(1, 'up') }}", 1,
       "unsupported rounding method (expected common, ceil or floor, found up)"},
      {"{{ 9007199254740994.0 | int }}", 1,
       "a number is too large for an integer (expected at most 2^53 in magnitude, found "
       "9007199254740994.000000)"},
      {"{{ 3 | length }}", 1,
       "wrong operand of the filter length (expected a string, a list or a mapping, found a number)"},
      {"{{ none | length }}", 1,
       "wrong operand of the filter length (expected a string, a list or a mapping, found none)"},
      {"{{ range | length }}", 1,
       "wrong operand of the filter length (expected a string, a list or a mapping, found a function)"},
      {"{{ namespace() | length }}", 1,
       "wrong operand of the filter length (expected a string, a list or a mapping, found a namespace)"},
      {"{{ [1] | tojson(true) }}", 1,
       "unsupported argument of tojson (expected indent or no argument, found ensure_ascii)"},
      {"{{ [1] | tojson(false, none, [',', ':']) }}", 1,
       "unsupported argument of tojson (expected indent or no argument, found separators)"},
      {"{{ [1] | tojson(sort_keys=true) }}", 1,
       "unsupported argument of tojson (expected indent or no argument, found sort_keys)"},
      {"{{ [range] | tojson }}", 1, "invalid value: it cannot be written as JSON (found a function)"},
      {"{{ 1 | nofilter }}", 1,
       "unsupported filter (found \"nofilter\"). Choose a built-in template (--chat-template)"},
      {"{{ 1 | items }}", 1,
       "unsupported method (found \"items\" of a number). Choose a built-in template (--chat-template)"},
      {"{{ ['a'] | sum }}", 1, "invalid value: expected a number (found a string)"},
      {"{{ [3, 'a'] | sort }}", 1, "invalid value: it cannot be ordered (found a number)"},
  });
}

TEST(TemplateErrors, Tests) {
  check_mistakes({
      {"{{ 1 is notest }}", 1,
       "unsupported test (found \"notest\"). Choose a built-in template (--chat-template)"},
      {"{{ 1 is eq }}", 1, "the test has no argument (expected 1 argument)"},
      {"{{ 1 is divisibleby(0) }}", 1, "division by zero"},
      {"{{ 1.5 is odd }}", 1, "invalid value: expected an integer (found a number)"},
  });
}

TEST(TemplateErrors, ValuesOfWrongTypes) {
  check_mistakes({
      {"{{ range }}", 1, "invalid value: it cannot be printed (found a function)"},
      {"{{ namespace() }}", 1, "invalid value: it cannot be printed (found a namespace)"},
      {"{{ 1 < 'a' }}", 1, "invalid value: it cannot be ordered (found a string)"},
      {"{{ 'a' < 1 }}", 1, "invalid value: it cannot be ordered (found a number)"},
      {"{{ [1] < [2] }}", 1, "invalid value: it cannot be ordered (found a list)"},
      {"{{ 1 in 'a' }}", 1, "invalid value: only a string can be searched in a string (found a number)"},
      {"{{ 'a' in true }}", 1, "invalid value: it is not iterable (found a boolean)"},
      {"{{ [namespace()] }}", 1, "invalid value: namespace inside another value (found a namespace)"},
      {"{{ {1: 2} }}", 1, "a key of a mapping is not a string (expected a string, found a number)"},
      {"{{ 5() }}", 1, "the value is not callable (expected a macro or a function, found a number)"},
      {"{{ nothing() }}", 1, "the value is not callable (expected a macro or a function, found \"nothing\")"},
      {"{{ dict(1) }}", 1,
       "wrong argument of dict() or namespace() (expected named arguments, and before them at most one "
       "mapping, found a number)"},
      {"{{ dict({}, {}) }}", 1,
       "wrong argument of dict() or namespace() (expected named arguments, and before them at most one "
       "mapping, found a mapping)"},
  });
}

TEST(TemplateErrors, StatementsAndMacros) {
  check_mistakes({
      {"{% set a, b = [1, 2, 3] %}", 1,
       "wrong number of values to unpack (expected 2 values, found 3 values)"},
      {"{% for a, b in [[1]] %}{% endfor %}", 1,
       "wrong number of values to unpack (expected 2 values, found 1 value)"},
      {"{% set messages.x = 1 %}", 1,
       "the attribute cannot be set (expected an attribute of a namespace, and a value that is not a "
       "namespace, found an attribute of a list)"},
      {"{% set n = namespace() %}{% set n.n = n %}", 1,
       "the attribute cannot be set (expected an attribute of a namespace, and a value that is not a "
       "namespace, found an attribute of a namespace)"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", 1,
       "the macro \"m\" is called with too many arguments (expected at most 1 argument, found 2 arguments)"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", 1,
       "wrong argument of the macro \"m\" (expected a name of the macro's arguments that has no value yet, "
       "found a)"},
      {"{% macro m(a, b) %}{% endmacro %}{{ m(1, b=2) }}{{ m(1, c=2) }}", 1,
       "wrong argument of the macro \"m\" (expected a name of the macro's arguments that has no value yet, "
       "found c)"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1,
       "macro calls are nested too deeply (expected at most 32 nested calls)"},
  });
}

TEST(TemplateErrors, Syntax) {
  check_mistakes({
      {"{% macro m(a=1, b) %}{% endmacro %}", 1,
       "macro argument without a default after one with a default (found \"b\")"},
      {"{% raw", 1, "unterminated tag"},
      {"{% raw %}\n\n{% end %}", 1, "unterminated raw block"},
      {"\n{{ '\\x4' }}", 2, "incomplete escape"},
      {"{{ '\\u12g4' }}", 1, "incomplete escape"},
      {"{{ 1234567890123456789 }}", 1, "number too large"},
      {"{{ 'open", 1, "unterminated string"},
      {"{{ 1", 1, "unterminated tag"},
      {"{{ 1 $ 2 }}", 1, "unexpected character in a tag: $"},
      {"{{ 1 2 }}", 1, "unexpected text in a tag (found \"2\")"},
      {"{% if 1 2 %}{% endif %}", 1, "unexpected text in a tag (found \"2\")"},
      {"{% else %}", 1, "end of a block that was not opened (found \"else\")"},
      {"{% if 1 %}\n", 1,
       "unterminated block (expected elif or else or endif, found the end of the template)"},
      {"{% for x in [] %}", 1, "unterminated block (expected else or endfor, found the end of the template)"},
      {"{% if 1 %}{% for x in [] %}{% endif %}", 1, "end of a block that was not opened (found \"endif\")"},
      {"{% for x on [] %}", 1, "expected the word \"in\" (found \"on\")"},
      {"{% for x in [] recursive %}{% endfor %}", 1,
       "recursive loops are not supported (found \"recursive\")"},
      {"{% set x | upper %}a{% endset %}", 1, "filters of a block set are not supported (found \"|\")"},
      {"{% 5 %}", 1, "expected a name (found \"5\")"},
      {"{% include 'x' %}", 1,
       "unsupported block (expected if, for, set, macro, break, continue, raw, generation, found "
       "\"include\"). Choose a built-in template (--chat-template)"},
      {"{{ [1 2] }}", 1, "expected \",\" (found \"2\")"},
      {"{{ {'a' 1} }}", 1, "expected \":\" (found \"1\")"},
      {"{{ [1][] }}", 1, "empty index (found \"[]\")"},
      {"{{ [1][::1:] }}", 1, "expected \"]\" (found \":\")"},
      {"{{ [1][:::] }}", 1, "expected \"]\" (found \":\")"},
      {"{{ f(*a) }}", 1, "spread arguments are not supported (found \"*\")"},
      {"{{ 2 ** 3 }}", 1, "** is not supported (found \"**\")"},
      {"{{ }}", 1, "expected a value (found \"the end of the tag\")"},
      {"{{ 1 | }}", 1, "expected a name"},
  });
}

std::string times(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(TemplateErrors, Limits) {
  const std::string ones = times(300, " ~ 1");
  const auto nested = [&](int calls) {
    return "{% macro m(n) %}{% if n %}{{ m(n - 1)" + ones + " }}{% endif %}{% endmacro %}{{ m(" +
           std::to_string(calls) + ") }}";
  };
  const auto sum = [](int operators) { return "{{ 1" + times(operators, " + 1") + " }}"; };
  const auto call = [](int arguments) { return "{{ range(" + times(arguments, "1,") + ") }}"; };
  const auto negated = [](int count) { return "{{ " + times(count, "not ") + "1 }}"; };
  const auto long_text = [](int parts) {
    return "{% set s = 'aaaaaaaa' %}" + times(17, "{% set s = s ~ s %}") + "{% for i in range(" +
           std::to_string(parts) + ") %}{{ s }}{% endfor %}";
  };
  check_mistakes(
      {{nested(4), 1, "an expression is nested too deeply (expected at most 1000 levels)"},
       {"\n" + sum(501), 2, "expression too long"},
       {"\n" + call(65), 2, "too many arguments of a call"},
       {call(64), 1, "wrong number of arguments of range() (expected 1 to 3 numbers, found 64 arguments)"},
       {"\n" + negated(97), 2, "nested too deeply"},
       {long_text(65), 1, "the output is too long (expected at most 67108864 bytes)"}});
  EXPECT_EQ(render(nested(3)).size(), 900u);
  EXPECT_EQ(render(sum(500)), "501");
  EXPECT_EQ(render(negated(96)), "True");
  EXPECT_EQ(render(long_text(64)).size(), 67108864u);
}

TEST(TemplateErrors, ARefusedConversationIsTheUsersInput) {
  for (const auto& [source, message] :
       {std::pair("\n{{ raise_exception('no') }}", "no"),
        {"\n{{ raise_exception() }}", "raise_exception() without a reason"}}) {
    try {
      ADD_FAILURE() << render(source);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
      EXPECT_EQ(error.what(),
                std::string("t.jinja:2: the chat template rejects the conversation: ") + message);
    }
  }
}

TEST(TemplateErrors, ValuesAtTheirBoundaries) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{{ 'a b'.split(maxsplit=-1) }}", "['a', 'b']"},
      {"{{ 'aXbXc'.rsplit('X') }}{{ 'aXbXc'.rsplit('X', 1) }}{{ 'Xa'.rsplit('X') }}{{ 'aXX'.rsplit('XX') }}",
       "['a', 'b', 'c']['aXb', 'c']['', 'a']['a', '']"},
      {"{{ 'abc'.find('', 3) }} {{ 'abc'.find('', 4) }} {{ 'abc'.count('', 4) }} {{ 'abc'.startswith('', 4) "
       "}}",
       "3 -1 0 False"},
      {"{{ 'abcabc'.find('c', -2) }} {{ 'abcabc'.rfind('b', 0, -1) }} {{ 'abc'.find('a', -9) }} {{ "
       "'abc'.rfind('x', 1) }}",
       "5 4 0 -1"},
      {"{{ 'aXbXc'.count('X') }} {{ 'aaaa'.count('aa') }} {{ '12'.isdigit() }} {{ '1a'.isdigit() }} {{ "
       "''.isdigit() }}",
       "2 2 True False False"},
      {"{{ '\\x00a\\x00'.strip('\\x00') }} {{ '\\x00\\x00'.lstrip('\\x00') | length }}", "a 0"},
      {"{{ '\\101\\7' | length }}{{ '\\101\\x42' }} {{ '\\1012' }}", "2AB A2"},
      {"{{ [1, 2] is eq [1, 2] }} {{ 'b' is gt 'a' }} {{ 1 is le 1 }} {{ 2 is le 1 }} {{ 1 is gt 1 }} {{ 1 "
       "is ge 1 }}",
       "True True True False False True"},
      {"{{ (-999999999999999999 * 9 - 223372036854775817) % -1 }} {{ 7 // -1 }} {{ -7 % 3 }} {{ -7 // 2 }} "
       "{{ 7 % -3 }}",
       "0 -7 2 -4 -2"},
      {"{{ (-999999999999999999 * 9 - 223372036854775816) | abs }} {{ 123456789012345678 }}",
       "9223372036854775807 123456789012345678"},
      {"{{ 9007199254740992.0 | int }} {{ -9007199254740992.0 | int }} {{ '1' | int(base=10) }} {{ '1_0' | "
       "int }}",
       "9007199254740992 -9007199254740992 1 10"},
      {"{{ range(0) }} {{ range(3) }} {{ range(1, 8, 3) }} {{ range(1, 7, 3) }} {{ range(3, 0, -1) }} {{ "
       "range(0, -5, -2) }}",
       "[] [0, 1, 2] [1, 4, 7] [1, 4] [3, 2, 1] [0, -2, -4]"},
      {"{{ [1, 2, 3, 4][1:-1] }} {{ [1, 2, 3][::-1] }} {{ [1, 2, 3][-9:2] }} {{ 'abc'[5:0:-2] }} {{ "
       "'abc'[:9] }} {{ [1, 2][2] is defined }} {{ [1, 2][-2] }}",
       "[2, 3] [3, 2, 1] [1, 2] c abc False 1"},
      {"{{ {'a': 1}[1] is defined }} {{ [1]['a'] is defined }} {{ 'ab'['a'] is defined }} {{ [1, 2][::] }}",
       "False False False [1, 2]"},
      {"{{ {'k': none}.get('k', 1) }} {{ {}.get('k', 1) }} {{ {}.get('k') }} {{ nothing | items }} {{ "
       "nothing | length }}",
       "None 1 None [] 0"},
      {"{{ [1.5, true, none, 'é\"', {}] | tojson }} {{ {'a': [1, {}]} | tojson(indent=2) }}",
       "[1.5, true, null, \"é\\\"\", {}] {\n  \"a\": [\n    1,\n    {}\n  ]\n}"},
      {"{% macro m(a, b=a ~ '!', c='z') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=2) }} {{ "
       "m() }}",
       "11!z 11!2 !z"},
      {"{% set a, b = [1, 2] %}{{ a + b }} {% for x in [] %}{% else %}none{% endfor %} {% for k, v in {'a': "
       "1}.items() %}{{ k }}{{ v }}{% endfor %}",
       "3 none a1"},
      {"{{ [1, 2, 3] | sum(start=1) }} {{ [1.5, 1] | sum }} {{ [] | sum }} {{ 'a\\n\\nb' | indent(1, true, "
       "true) }}",
       "7 2.5 0  a\n \n b"},
      {"{% raw -%}  {{ x }} {% endraw +%}", "{{ x }} "},
      {"{% raw %}{{ x }}{% endraw %}", "{{ x }}"},
  };
  for (const auto& [source, expected] : cases) EXPECT_EQ(render(source), expected) << source;
}

}  // namespace
}  // namespace regard::text
