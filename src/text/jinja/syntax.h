// The syntax tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace regard::text::jinja {

struct Expression {
  // Each comment describes the template text that the node represents; the name of a member stands for the
  // member's value.
  enum class Kind {
    literal,      // a constant: value
    name,         // a variable: text
    list,         // a list: [parts[0], parts[1], …]
    dict,         // mapping: {parts[0]: parts[1], parts[2]: parts[3], …}
    member,       // member of a value: parts[0].text
    item,         // item of a value: parts[0][parts[1]]
    slice,        // slice of a value: parts[0][parts[1]:parts[2]:parts[3]]; omitted parts are null
    call,         // call of a function: parts[0](parts[1…], named)
    filter,       // the filter `text`: parts[0] | text(parts[1…], named)
    test,         // a Jinja test, "parts[0] is NAME(parts[1…])"; `text` contains NAME
    negated,      // not parts[0]
    minus,        // -parts[0]
    sign,         // parts[0] and parts[1] with the operator `text`: arithmetic, "~", "and" or "or"
    comparison,   // chain of comparisons: parts[0] texts[0] parts[1] texts[1] parts[2] …
    conditional,  // conditional expression: parts[0] if parts[1] else parts[2]; parts[2] may be null
  };
  Kind kind = Kind::literal;
  std::int64_t line = 1;
  std::string text;
  std::vector<std::string> texts;
  Value value;
  std::vector<std::unique_ptr<Expression>> parts;
  std::vector<std::pair<std::string, std::unique_ptr<Expression>>> named;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  // Each comment describes the template text that the node represents; the name of a member stands for the
  // member's value.
  enum class Kind {
    text,         // text outside of tags: text
    output,       // {{ value }}
    assign,       // assignment: names = value, or text.names[0] = value for a member of a namespace
    assign_body,  // assignment of the output of `body`, to the same targets as for `assign`
    condition,    // if `value` is true, render `body`; otherwise, render `otherwise`
    // Render `body` for each item of `value` for which `condition` is true. If there is no such item, render
    // `otherwise`.
    loop,
    skip,   // {% continue %}
    leave,  // {% break %}
    macro,  // definition of the macro text(names…, defaults) with content `body`
    group,  // {% generation %} with content `body`
  };
  Kind kind = Kind::text;
  std::int64_t line = 1;
  std::string text;
  std::vector<std::string> names;
  std::unique_ptr<Expression> value, condition;
  std::vector<std::unique_ptr<Expression>> defaults;  // default values of a macro's last parameters
  Body body, otherwise;
};

// Throws bad_file with the line for syntax errors and unsupported features.
Body parse(std::string_view source, const std::string& name);

}  // namespace regard::text::jinja
