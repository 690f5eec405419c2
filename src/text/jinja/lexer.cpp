#include "text/jinja/lexer.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/value.h"

namespace regard::text::jinja {
namespace {

bool is_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_octal(char letter) {
  return letter >= '0' && letter <= '7';
}

// Convert "\r\n" and "\r" to "\n" and remove one line end at the end of the source, as Jinja does.
std::string plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source[i] != '\r')
      text += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n')
      text += '\n';
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string name) : source_(plain_lines(source)), name_(std::move(name)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      take_text(tag);
      if (at_ >= source_.size()) break;
      take_tag();
    }
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::bad_file, message).at({name_, line_, -1});
  }
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void advance(std::size_t to) {
    for (; at_ < to; ++at_) line_ += source_[at_] == '\n' ? 1 : 0;
  }
  bool here(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }

  std::size_t next_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // Append a token for the text before the tag at `tag`, without the white space that the tag strips.
  void take_text(std::size_t tag) {
    std::string text = source_.substr(at_, tag - at_);
    const char mark = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (tag < source_.size()) {
      if (mark == '-')
        text = strip(text, false, true);
      else if (source_[tag + 1] != '{' && mark != '+')
        strip_line_start(text);
    }
    if (!text.empty()) push(TokenKind::text, std::move(text));
    advance(tag);
  }

  // For lstrip_blocks: remove white space between the start of the line and a block.
  void strip_line_start(std::string& text) const {
    const std::size_t line = text.rfind('\n');
    const std::size_t begin = line == text.npos ? 0 : line + 1;
    if (line == text.npos && !at_line_start_) return;
    if (strip(std::string_view(text).substr(begin), true, false).empty()) text.erase(begin);
  }

  void take_tag() {
    const char kind = source_[at_ + 1];
    const std::size_t begin = at_;
    advance(at_ + 2);
    if (at_ < source_.size() && (source_[at_] == '-' || (source_[at_] == '+' && kind != '{')))
      advance(at_ + 1);
    if (kind == '#') {
      const std::size_t end = source_.find("#}", at_);
      if (end == source_.npos) fail("chat template: unterminated comment");
      const char mark = end > at_ ? source_[end - 1] : ' ';
      advance(end + 2);
      finish_tag(mark == '-', mark != '+');
    } else if (kind == '%' && take_raw(begin)) {
      return;
    } else {
      push(kind == '{' ? TokenKind::output : TokenKind::block, "");
      take_expression(kind == '{' ? "}}" : "%}");
      push(kind == '{' ? TokenKind::output_end : TokenKind::block_end, "");
    }
  }

  // Skip white space after a tag: all of it if the tag ends with "-", or one line end if the tag is a block
  // (trim_blocks).
  void finish_tag(bool strips, bool block) {
    std::size_t to = at_;
    if (strips)
      for (int size = 0; to < source_.size() && space_at(to, size);) to += static_cast<std::size_t>(size);
    else if (block && to < source_.size() && source_[to] == '\n')
      ++to;
    advance(to);
    at_line_start_ = to > 0 && source_[to - 1] == '\n';
  }

  // Return true if there is white space at `place`; `size` is its length in bytes.
  bool space_at(std::size_t place, int& size) const {
    const utf8::Decoded symbol = utf8::decode(source_, place);
    size = symbol.size;
    return utf8::is_space(symbol.value);
  }

  // Read {% raw %} … {% endraw %}, whose content is verbatim text. Returns false if the tag is not raw.
  // As in Jinja, the line end after {% raw %} is part of the text.
  bool take_raw(std::size_t begin) {
    const auto word = [&](std::size_t from, std::string_view name, std::size_t& behind, char& mark) {
      std::size_t i = source_.find_first_not_of(" \t\n", from);
      if (i == source_.npos || source_.compare(i, name.size(), name) != 0) return false;
      i = source_.find_first_not_of(" \t\n", i + name.size());
      if (i == source_.npos) return false;
      mark = source_[i];
      i += mark == '-' || (mark == '+' && name == "endraw") ? 1U : 0U;
      behind = i + 2;
      return source_.compare(i, 2, "%}") == 0;
    };
    std::size_t behind = 0;
    char mark = ' ';
    if (!word(at_, "raw", behind, mark)) return false;
    advance(behind);
    finish_tag(mark == '-', false);
    for (std::size_t i = at_; (i = source_.find("{%", i)) != source_.npos; i += 2) {
      const char before = i + 2 < source_.size() ? source_[i + 2] : ' ';
      if (!word(i + (before == '-' || before == '+' ? 3 : 2), "endraw", behind, mark)) continue;
      take_text(i);
      advance(behind);
      finish_tag(mark == '-', mark != '+');
      return true;
    }
    advance(begin);
    fail("chat template: unterminated raw block");
  }

  void take_expression(std::string_view close) {
    std::vector<char> open;
    while (true) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])) != 0)
        advance(at_ + 1);
      if (at_ >= source_.size()) fail("chat template: unterminated tag");
      if (open.empty()) {
        const bool strips = source_[at_] == '-' && source_.compare(at_ + 1, 2, close) == 0;
        const bool keeps = source_[at_] == '+' && source_.compare(at_ + 1, 2, close) == 0;
        if (strips || keeps || here(close)) {
          advance(at_ + (strips || keeps ? 3 : 2));
          finish_tag(strips, close == "%}" && !keeps);
          return;
        }
      }
      take_token(open);
    }
  }

  void take_token(std::vector<char>& open) {
    const char letter = source_[at_];
    if (letter == '"' || letter == '\'') {
      take_string(letter);
    } else if (is_digit(letter)) {
      take_number();
    } else if (is_name(letter)) {
      std::size_t end = at_;
      while (end < source_.size() && is_name(source_[end])) ++end;
      push(TokenKind::name, source_.substr(at_, end - at_));
      advance(end);
    } else {
      take_sign(open);
    }
  }

  void take_number() {
    std::size_t end = at_;
    while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
    bool real = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      real = true;
      for (++end; end < source_.size() && is_digit(source_[end]);) ++end;
    }
    std::size_t power = end + 1;
    if (power < source_.size() && (source_[power] == '+' || source_[power] == '-')) ++power;
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E') && power < source_.size() &&
        is_digit(source_[power])) {
      real = true;
      for (end = power; end < source_.size() && is_digit(source_[end]);) ++end;
    }
    std::string digits;
    for (std::size_t i = at_; i < end; ++i)
      if (source_[i] != '_') digits += source_[i];
    if (digits.size() > 18 && !real) fail("chat template: number too large");
    push(real ? TokenKind::real : TokenKind::integer, std::move(digits));
    advance(end);
  }

  void take_string(char mark) {
    std::string text;
    std::size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != mark; ++i) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        text += source_[i];
        continue;
      }
      i = take_escape(i + 1, text);
    }
    if (i >= source_.size()) fail("chat template: unterminated string");
    push(TokenKind::string, std::move(text));
    advance(i + 1);
  }

  // Append the character that an escape sequence represents, and return the index of the sequence's last
  // character. `i` is the index of the letter after the backslash.
  std::size_t take_escape(std::size_t i, std::string& text) const {
    static constexpr std::string_view kLetters = "ntrabfv\\'\"\n", kMeanings = "\n\t\r\a\b\f\v\\'\"";
    const std::size_t known = kLetters.find(source_[i]);
    if (known < kMeanings.size()) {
      text += kMeanings[known];
    } else if (is_octal(source_[i])) {  // up to three octal digits
      char32_t value = 0;
      std::size_t end = i;
      for (; end < std::min(i + 3, source_.size()) && is_octal(source_[end]); ++end)
        value = value * 8 + static_cast<char32_t>(source_[end] - '0');
      utf8::append(text, value);
      return end - 1;
    } else if (source_[i] == 'x' || source_[i] == 'u' || source_[i] == 'U') {
      const std::size_t count = source_[i] == 'x' ? 2 : source_[i] == 'u' ? 4 : 8;
      char32_t value = 0;
      for (std::size_t digit = 1; digit <= count; ++digit) {
        if (i + digit >= source_.size() || std::isxdigit(static_cast<unsigned char>(source_[i + digit])) == 0)
          fail("chat template: incomplete escape");
        const char hex = source_[i + digit];
        value = value * 16 + static_cast<char32_t>(is_digit(hex) ? hex - '0' : (hex | 32) - 'a' + 10);
      }
      utf8::append(text, value);
      return i + count;
    } else if (source_[i] != '\n') {
      text += '\\';
      text += source_[i];
    }
    return i;
  }

  void take_sign(std::vector<char>& open) {
    for (const std::string_view sign : {"**", "//", "==", "!=", "<=", ">="})
      if (here(sign)) {
        push(TokenKind::sign, std::string(sign));
        advance(at_ + 2);
        return;
      }
    const char letter = source_[at_];
    if (std::string_view("+-*/%~<>=()[]{}|.,:").find(letter) == std::string_view::npos)
      fail("chat template: unexpected character in a tag: " + std::string(1, letter));
    if (letter == '(' || letter == '[' || letter == '{') open.push_back(letter);
    if ((letter == ')' || letter == ']' || letter == '}') && !open.empty()) open.pop_back();
    push(TokenKind::sign, std::string(1, letter));
    advance(at_ + 1);
  }

  std::string source_, name_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool at_line_start_ = true;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& name) {
  return Lexer(source, name).run();
}

}  // namespace regard::text::jinja
