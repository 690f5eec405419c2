// Parses the expressions inside a template's tags; parser.cpp parses the blocks around them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace regard::text::jinja {

class ExpressionParser {
 protected:
  using Node = std::unique_ptr<Expression>;
  using Kind = Expression::Kind;
  static constexpr int kDeepest = 100;           // nesting limit of expressions and blocks
  static constexpr int kLongest = 500;           // maximum number of operators in a sequence
  static constexpr std::size_t kArguments = 64;  // maximum number of arguments of a call

  ExpressionParser(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}

  // Counts the parser's nesting depth.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
      if (++parser.depth_ > kDeepest) parser.fail("chat template: nested too deeply", "");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  // Counts operators in a sequence. Each operator adds one level to the tree.
  class Chain {
   public:
    explicit Chain(const ExpressionParser& parser) : parser_(parser) {}
    void grow() {
      if (++length_ > kLongest) parser_.fail("chat template: expression too long", "");
    }

   private:
    const ExpressionParser& parser_;
    int length_ = 0;
  };

  [[noreturn]] void fail(const std::string& message, const std::string& found) const;
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(std::size_t by) const { return tokens_[std::min(at_ + by, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_sign(std::string_view text) const { return now().kind == TokenKind::sign && now().text == text; }
  bool is_word(std::string_view text) const { return now().kind == TokenKind::name && now().text == text; }
  bool accept_sign(std::string_view text) { return is_sign(text) && (take(), true); }
  bool accept_word(std::string_view text) { return is_word(text) && (take(), true); }
  void need_sign(std::string_view text);
  void need_word(std::string_view text);
  std::string need_name();
  void end_block();
  Node make(Kind kind, std::string text = "") const;
  Node make(Kind kind, Node first, std::string text = "") const;
  Node literal(Value value) const;

  Node parse_list_or_one();
  bool ends_list() const;
  Node parse_expression();
  // Parse operands that are joined by `operators`, from left to right.
  template <class Operand>
  Node parse_chain(std::initializer_list<std::string_view> operators, Operand&& operand);
  Node parse_or();

  std::vector<Token> tokens_;
  std::string name_;
  std::size_t at_ = 0;
  int depth_ = 0;

 private:
  Node join(Node left, std::string sign, Node right) const;
  Node parse_and();
  Node parse_not();
  Node parse_comparison();
  Node parse_sum();
  Node parse_joined();
  Node parse_product();
  Node parse_unary(bool filters);
  Node parse_primary();
  Node parse_number();
  Node parse_parts(Node node, std::string_view close);
  Node parse_dict();
  Node parse_postfix(Node node);
  Node parse_subscript(Node whole);
  // If "(" follows, parse a call of `node`, replace `node` with it and return true.
  bool accept_call(Node& node);
  void parse_arguments(Expression& call);
  Node parse_filters(Node node);
  Node parse_test(Node subject);
};

}  // namespace regard::text::jinja
