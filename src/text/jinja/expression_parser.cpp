#include "text/jinja/expression_parser.h"

#include <charconv>

#include "regard/error.h"

namespace regard::text::jinja {

void ExpressionParser::fail(const std::string& message, const std::string& found) const {
  Error error(ErrorKind::bad_file, message, {name_, now().line, -1});
  if (!found.empty()) error.found("\"" + found + "\"");
  throw error;
}

void ExpressionParser::need_sign(std::string_view text) {
  if (!accept_sign(text)) fail("chat template: expected \"" + std::string(text) + "\"", now().text);
}

void ExpressionParser::need_word(std::string_view text) {
  if (!accept_word(text)) fail("chat template: expected the word \"" + std::string(text) + "\"", now().text);
}

std::string ExpressionParser::need_name() {
  if (now().kind != TokenKind::name) fail("chat template: expected a name", now().text);
  return take().text;
}

void ExpressionParser::end_block() {
  if (now().kind != TokenKind::block_end) fail("chat template: unexpected text in a tag", now().text);
  take();
}

auto ExpressionParser::make(Kind kind, std::string text) const -> Node {
  auto node = std::make_unique<Expression>();
  node->kind = kind, node->line = now().line, node->text = std::move(text);
  return node;
}

auto ExpressionParser::make(Kind kind, Node first, std::string text) const -> Node {
  Node node = make(kind, std::move(text));
  node->parts.push_back(std::move(first));
  return node;
}

auto ExpressionParser::literal(Value value) const -> Node {
  Node node = make(Kind::literal);
  node->value = std::move(value);
  return node;
}

// Return true if a list with a final comma, such as (1,), ends here.
bool ExpressionParser::ends_list() const {
  return now().kind == TokenKind::output_end || now().kind == TokenKind::block_end || is_sign(")");
}

auto ExpressionParser::parse_list_or_one() -> Node {
  Node first = parse_expression();
  if (!is_sign(",")) return first;
  Node list = make(Kind::list, std::move(first));
  while (accept_sign(","))
    if (!ends_list()) list->parts.push_back(parse_expression());
  return list;
}

auto ExpressionParser::parse_expression() -> Node {
  const Level level(*this);
  Node value = parse_or();
  for (Chain chain(*this); accept_word("if"); chain.grow()) {
    Node node = make(Kind::conditional, std::move(value));
    node->parts.push_back(parse_or());
    node->parts.push_back(accept_word("else") ? parse_expression() : nullptr);
    value = std::move(node);
  }
  return value;
}

auto ExpressionParser::join(Node left, std::string sign, Node right) const -> Node {
  Node node = make(Kind::sign, std::move(left), std::move(sign));
  node->parts.push_back(std::move(right));
  return node;
}

template <class Operand>
auto ExpressionParser::parse_chain(std::initializer_list<std::string_view> operators, Operand&& operand)
    -> Node {
  Node left = operand();
  for (Chain chain(*this);; chain.grow()) {
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [this](std::string_view text) { return is_sign(text) || is_word(text); });
    if (found == operators.end()) return left;
    take();
    left = join(std::move(left), std::string(*found), operand());
  }
}

auto ExpressionParser::parse_or() -> Node {
  return parse_chain({"or"}, [this] { return parse_and(); });
}

auto ExpressionParser::parse_and() -> Node {
  return parse_chain({"and"}, [this] { return parse_not(); });
}

auto ExpressionParser::parse_not() -> Node {
  const Level level(*this);
  if (accept_word("not")) return make(Kind::negated, parse_not());
  return parse_comparison();
}

auto ExpressionParser::parse_comparison() -> Node {
  Node node = make(Kind::comparison, parse_sum());
  while (true) {
    std::string sign;
    if (is_word("in") ||
        (now().kind == TokenKind::sign && (now().text == "==" || now().text == "!=" || now().text == "<" ||
                                           now().text == "<=" || now().text == ">" || now().text == ">="))) {
      sign = take().text;
    } else if (is_word("not") && ahead(1).kind == TokenKind::name && ahead(1).text == "in") {
      take(), take();
      sign = "not in";
    } else {
      break;
    }
    node->texts.push_back(std::move(sign));
    node->parts.push_back(parse_sum());
  }
  return node->texts.empty() ? std::move(node->parts[0]) : std::move(node);
}

auto ExpressionParser::parse_sum() -> Node {
  return parse_chain({"+", "-"}, [this] { return parse_joined(); });
}

auto ExpressionParser::parse_joined() -> Node {
  return parse_chain({"~"}, [this] { return parse_product(); });
}

auto ExpressionParser::parse_product() -> Node {
  Node product = parse_chain({"*", "/", "//", "%"}, [this] { return parse_unary(true); });
  if (is_sign("**")) fail("chat template: ** is not supported", "**");
  return product;
}

auto ExpressionParser::parse_unary(bool filters) -> Node {
  const Level level(*this);
  Node node;
  if (accept_sign("-"))
    node = make(Kind::minus, parse_unary(false));
  else if (accept_sign("+"))
    node = parse_unary(false);
  else
    node = parse_primary();
  node = parse_postfix(std::move(node));
  return filters ? parse_filters(std::move(node)) : std::move(node);
}

auto ExpressionParser::parse_primary() -> Node {
  const Token token = now();
  if (token.kind == TokenKind::name) {
    take();
    if (token.text == "true" || token.text == "True") return literal(true);
    if (token.text == "false" || token.text == "False") return literal(false);
    if (token.text == "none" || token.text == "None") return literal(Value::None{});
    return make(Kind::name, token.text);
  }
  if (token.kind == TokenKind::string) {
    std::string text;
    while (now().kind == TokenKind::string) text += take().text;
    return literal(std::move(text));
  }
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) return parse_number();
  if (accept_sign("(")) {
    if (accept_sign(")")) return make(Kind::list);
    Node inner = parse_list_or_one();
    need_sign(")");
    return inner;
  }
  if (accept_sign("[")) return parse_parts(make(Kind::list), "]");
  if (accept_sign("{")) return parse_dict();
  fail("chat template: expected a value", token.text.empty() ? "the end of the tag" : token.text);
}

auto ExpressionParser::parse_number() -> Node {
  const Token token = take();
  const char* const end = token.text.data() + token.text.size();
  if (token.kind == TokenKind::integer) {
    std::int64_t number = 0;
    std::from_chars(token.text.data(), end, number);
    return literal(number);
  }
  double number = 0.0;
  std::from_chars(token.text.data(), end, number);
  return literal(number);
}

auto ExpressionParser::parse_parts(Node node, std::string_view close) -> Node {
  while (!accept_sign(close)) {
    node->parts.push_back(parse_expression());
    if (!is_sign(close)) need_sign(",");
  }
  return node;
}

auto ExpressionParser::parse_dict() -> Node {
  Node node = make(Kind::dict);
  while (!accept_sign("}")) {
    node->parts.push_back(parse_expression());
    need_sign(":");
    node->parts.push_back(parse_expression());
    if (!is_sign("}")) need_sign(",");
  }
  return node;
}

auto ExpressionParser::parse_postfix(Node node) -> Node {
  for (Chain chain(*this);; chain.grow()) {
    if (accept_sign(".")) {
      if (now().kind == TokenKind::integer) {
        Node item = make(Kind::item, std::move(node));
        item->parts.push_back(parse_number());
        node = std::move(item);
      } else {
        std::string name = need_name();
        node = make(Kind::member, std::move(node), std::move(name));
      }
    } else if (accept_sign("[")) {
      node = parse_subscript(std::move(node));
    } else if (!accept_call(node)) {
      return node;
    }
  }
}

auto ExpressionParser::parse_subscript(Node whole) -> Node {
  Node parts[3];
  bool slice = false;
  for (std::size_t count = 0;; ++count) {
    if (!is_sign(":") && !is_sign("]")) parts[count] = parse_expression();
    if (count == 2 || !accept_sign(":")) break;
    slice = true;
  }
  need_sign("]");
  if (!slice && parts[0] == nullptr) fail("chat template: empty index", "[]");
  Node node = make(slice ? Kind::slice : Kind::item, std::move(whole));
  for (std::size_t i = 0; i < (slice ? 3U : 1U); ++i) node->parts.push_back(std::move(parts[i]));
  return node;
}

bool ExpressionParser::accept_call(Node& node) {
  if (!accept_sign("(")) return false;
  node = make(Kind::call, std::move(node));
  parse_arguments(*node);
  return true;
}

void ExpressionParser::parse_arguments(Expression& call) {
  for (bool first = true; !accept_sign(")"); first = false) {
    if (!first) {
      need_sign(",");
      if (accept_sign(")")) return;
    }
    if (is_sign("*") || is_sign("**")) fail("chat template: spread arguments are not supported", "*");
    if (now().kind == TokenKind::name && ahead(1).kind == TokenKind::sign && ahead(1).text == "=") {
      std::string name = take().text;
      take();
      call.named.emplace_back(std::move(name), parse_expression());
    } else {
      call.parts.push_back(parse_expression());
    }
    if (call.parts.size() - 1 + call.named.size() > kArguments)  // parts[0] is not an argument
      fail("chat template: too many arguments of a call", "");
  }
}

auto ExpressionParser::parse_filters(Node node) -> Node {
  for (Chain chain(*this);; chain.grow()) {
    if (accept_sign("|")) {
      std::string name = need_name();
      node = make(Kind::filter, std::move(node), std::move(name));
      if (accept_sign("(")) parse_arguments(*node);
    } else if (accept_word("is")) {
      node = parse_test(std::move(node));
    } else if (!accept_call(node)) {
      return node;
    }
  }
}

auto ExpressionParser::parse_test(Node subject) -> Node {
  const bool negated = accept_word("not");
  std::string name = need_name();
  Node node = make(Kind::test, std::move(subject), std::move(name));
  const TokenKind next = now().kind;
  if (accept_sign("("))
    parse_arguments(*node);
  else if (next == TokenKind::string || next == TokenKind::integer || next == TokenKind::real ||
           is_sign("[") || is_sign("{") ||
           (next == TokenKind::name && !is_word("else") && !is_word("or") && !is_word("and") &&
            !is_word("is") && !is_word("if") && !is_word("in") && !is_word("not")))
    node->parts.push_back(parse_postfix(parse_primary()));
  return negated ? make(Kind::negated, std::move(node)) : std::move(node);
}

}  // namespace regard::text::jinja
