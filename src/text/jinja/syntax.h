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
  // The comments show the use of the members, in the notation of templates.
  enum class Kind {
    literal,      // value
    name,         // text
    list,         // parts
    dict,         // parts are key, value, key, value, …
    member,       // parts[0].text: member of a value
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]; omitted parts are null
    call,         // parts[0](parts[1…], named)
    filter,       // parts[0] | text(parts[1…], named)
    test,         // parts[0] is text(parts[1…])
    negated,      // not parts[0]
    minus,        // -parts[0]
    sign,         // parts[0] text parts[1], where text is an arithmetic operator, ~, and, or
    comparison,   // parts[0] texts[0] parts[1] texts[1] parts[2] …
    conditional,  // parts[0] if parts[1] else parts[2]; parts[2] may be null
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
  // The comments show the use of the members, in the notation of templates.
  enum class Kind {
    text,         // text
    output,       // value
    assign,       // names = value; or text.names[0] = value, for a member of a namespace
    assign_body,  // names[0] = the output of body
    condition,    // if `value` is true: `body`; otherwise: `otherwise`
    // loop over the items of `value` for which `condition` is true: `body`; if there are none: `otherwise`
    loop,
    skip,   // continue
    leave,  // break
    macro,  // text(names…, defaults): body
    group,  // body
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
