#include <algorithm>
#include <initializer_list>

#include "regard/error.h"
#include "text/jinja/expression_parser.h"

namespace regard::text::jinja {
namespace {

class Parser : private ExpressionParser {
 public:
  Parser(std::vector<Token> tokens, std::string name)
      : ExpressionParser(std::move(tokens), std::move(name)) {}

  Body run() {
    Body body = parse_body({});
    if (now().kind != TokenKind::end) fail("chat template: end of a block that was not opened", now().text);
    return body;
  }

 private:
  // Parse up to a block whose name is one of `ends`. The opening of that block is consumed, but not its name.
  Body parse_body(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    Body body;
    while (now().kind != TokenKind::end) {
      if (now().kind == TokenKind::block) {
        const std::string& word = ahead(1).text;
        if (std::find(ends.begin(), ends.end(), word) != ends.end()) {
          take();
          return body;
        }
        if (word.starts_with("end") || word == "else" || word == "elif") {
          take();
          fail("chat template: end of a block that was not opened", word);
        }
      }
      body.push_back(parse_statement());
    }
    if (ends.size() > 0) fail_unterminated(ends);
    return body;
  }

  [[noreturn]] void fail_unterminated(std::initializer_list<std::string_view> ends) const {
    std::string expected;
    for (const std::string_view end : ends) expected += (expected.empty() ? "" : " or ") + std::string(end);
    throw Error(ErrorKind::bad_file, "chat template: unterminated block", {name_, now().line, -1})
        .found("the end of the template")
        .expected(expected);
  }

  // Parse the end of an opening tag, the body of the block and its closing tag, which has the name `end`.
  Body parse_block(const char* end) {
    end_block();
    Body body = parse_body({end});
    need_word(end);
    end_block();
    return body;
  }

  std::unique_ptr<Statement> make_statement(Statement::Kind kind) const {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind, statement->line = now().line;
    return statement;
  }

  std::unique_ptr<Statement> parse_statement() {
    auto statement = make_statement(Statement::Kind::text);
    if (now().kind == TokenKind::text) {
      statement->text = take().text;
      return statement;
    }
    if (now().kind == TokenKind::output) {
      take();
      statement->kind = Statement::Kind::output;
      statement->value = parse_list_or_one();
      if (now().kind != TokenKind::output_end) fail("chat template: unexpected text in a tag", now().text);
      take();
      return statement;
    }
    take();  // consume the opening of the block
    const std::string word = need_name();
    if (word == "if") return parse_if();
    if (word == "for") return parse_for();
    if (word == "set") return parse_set();
    if (word == "macro") return parse_macro();
    if (word == "generation") return parse_group();
    if (word == "break" || word == "continue") {
      statement->kind = word == "break" ? Statement::Kind::leave : Statement::Kind::skip;
      end_block();
      return statement;
    }
    throw Error(ErrorKind::bad_file, "chat template: unsupported block")
        .at({name_, now().line, -1})
        .found("\"" + word + "\"")
        .expected("if, for, set, macro, break, continue, raw, generation")
        .remedy("Choose a built-in template (--chat-template)");
  }

  std::unique_ptr<Statement> parse_if() {
    const Level level(*this);
    auto statement = make_statement(Statement::Kind::condition);
    statement->value = parse_expression();
    end_block();
    statement->body = parse_body({"elif", "else", "endif"});
    const std::string word = need_name();
    if (word == "elif") {
      statement->otherwise.push_back(parse_if());
      return statement;
    }
    if (word == "else")
      statement->otherwise = parse_block("endif");
    else
      end_block();
    return statement;
  }

  std::unique_ptr<Statement> parse_for() {
    auto statement = make_statement(Statement::Kind::loop);
    statement->names = parse_names();
    need_word("in");
    // Do not parse a conditional expression here. A following "if" is the condition of the loop.
    statement->value = parse_or();
    if (accept_word("if")) statement->condition = parse_expression();
    if (is_word("recursive")) fail("chat template: recursive loops are not supported", "recursive");
    end_block();
    statement->body = parse_body({"else", "endfor"});
    if (need_name() == "else")
      statement->otherwise = parse_block("endfor");
    else
      end_block();
    return statement;
  }

  std::vector<std::string> parse_names() {
    const bool brackets = accept_sign("(");
    std::vector<std::string> names{need_name()};
    while (accept_sign(",")) names.push_back(need_name());
    if (brackets) need_sign(")");
    return names;
  }

  std::unique_ptr<Statement> parse_set() {
    auto statement = make_statement(Statement::Kind::assign);
    statement->names = parse_names();
    if (accept_sign(".")) {
      statement->text = statement->names[0];
      statement->names = {need_name()};
    }
    if (accept_sign("=")) {
      statement->value = parse_list_or_one();
      end_block();
      return statement;
    }
    if (is_sign("|")) fail("chat template: filters of a block set are not supported", "|");
    statement->kind = Statement::Kind::assign_body;
    statement->body = parse_block("endset");
    return statement;
  }

  std::unique_ptr<Statement> parse_macro() {
    auto statement = make_statement(Statement::Kind::macro);
    statement->text = need_name();
    need_sign("(");
    while (!accept_sign(")")) {
      if (!statement->names.empty()) need_sign(",");
      statement->names.push_back(need_name());
      if (accept_sign("="))
        statement->defaults.push_back(parse_expression());
      else if (!statement->defaults.empty())
        fail("chat template: macro argument without a default after one with a default",
             statement->names.back());
    }
    statement->body = parse_block("endmacro");
    return statement;
  }

  std::unique_ptr<Statement> parse_group() {
    auto statement = make_statement(Statement::Kind::group);
    statement->body = parse_block("endgeneration");
    return statement;
  }
};

}  // namespace

Body parse(std::string_view source, const std::string& name) {
  return Parser(tokenize(source, name), name).run();
}

}  // namespace regard::text::jinja
