// Split a template into tokens. White space is handled as by Jinja with trim_blocks and lstrip_blocks, the
// settings of transformers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regard::text::jinja {

enum class TokenKind { text, output, output_end, block, block_end, name, integer, real, string, sign, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::int64_t line = 1;
};

// The last token has the kind `end`. Throws bad_file with the line for an unterminated tag or an unknown
// character.
std::vector<Token> tokenize(std::string_view source, const std::string& name);

}  // namespace regard::text::jinja
