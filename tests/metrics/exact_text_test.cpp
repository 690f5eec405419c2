// Exact matches, and the characters that the tokenizers of TER and BLEU separate.
#include "metrics/exact_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "metrics/metric_text.h"
#include "metrics/ter.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

TEST(ExactText, ComparesWords) {
  EXPECT_TRUE(same_words("", ""));
  EXPECT_TRUE(same_words("", " \t\r\n\f\v"));
  EXPECT_TRUE(same_words("the cat", "  the\t\ncat "));
  EXPECT_TRUE(same_words(" the\fcat", "the\vcat"));
  EXPECT_FALSE(same_words("the cat", "the"));
  EXPECT_FALSE(same_words("the", "the cat"));
  EXPECT_FALSE(same_words("the cat", "thecat"));
  EXPECT_FALSE(same_words("the cat", "the Cat"));
  EXPECT_FALSE(same_words("", "a"));
}

TEST(ExactText, CountsTheTextsThatMatch) {
  const std::vector<std::string> texts{"a b", "c", "", "d"}, references{"a  b", "c", " ", "e"};
  EXPECT_DOUBLE_EQ(exact_match(texts, references), 0.75);
  const std::vector<std::string> fewer{"a", "b", "c"};
  EXPECT_REGARD_ERROR(
      exact_match(texts, fewer), ErrorKind::usage,
      "the numbers of texts and references differ or are zero (expected equal numbers, at least "
      "1, found 4 texts, 3 references)");
  EXPECT_REGARD_ERROR(exact_match({}, {}), ErrorKind::usage, "found 0 texts, 0 references");
}

// One phrase of each line must move to get the reference.
TEST(TerShifts, OneShiftIsOneEdit) {
  for (const auto& [text, reference] : {std::pair{"a c d b e", "a b c d e"},
                                        {"b c d e a", "a b c d e"},
                                        {"e a b c d", "a b c d e"},
                                        {"a b f g c d e", "a b c d e f g"},
                                        {"a d e f b c g h", "a b c d e f g h"},
                                        {"c d e a b x y z", "a b c d e x y z"}}) {
    const std::string references[] = {reference};
    EXPECT_EQ(sentence_ter(text, references).edits, 1) << text;
  }
}

// The numbers of edits are those of sacreBLEU 2.6.0.
TEST(TerShifts, EqualSacreBleu) {
  struct Case {
    std::string text, reference;
    std::int64_t edits;
  };
  const std::vector<Case> cases{
      {"f f c", "c f f", 1},
      {"a e b d", "b c d e b", 3},
      {"a c c", "c b c a d", 4},
      {"c e a a b a a b", "c e a d b a b a", 2},
      {"d e b b a b", "b d b a b e e", 3},
      {"b b c c b", "b c c b b", 1},
      {"e b b c", "d b b c", 1},
      {"d c a c c c b d", "a c c c d c b d", 1},
      {"c b b a c b", "c b b b c a b", 2},
      {"c a c c", "d c c c", 2},
      {"e b b b d a", "b b e b d a b", 2},
      {"c b e a d f c c c", "c b e a d e c c c", 1},
      {"c b f c b e d c", "c b f d c c e b e", 2},
      {"a c c c c c b c c", "c c c b a c c c c", 1},
      {"b b d b a", "d b b b a", 1},
      {"c d f a b e e", "e f e c d b b", 4},
      {"e e c d b f c", "d b e e c f c", 1},
  };
  for (const Case& one : cases) {
    const TerScore score = sentence_ter(one.text, std::span(&one.reference, 1));
    EXPECT_EQ(score.edits, one.edits) << one.text << " | " << one.reference;
  }
}

// The first and last characters of the blocks in sacreBLEU's tokenizer_ter.py, and their neighbours.
TEST(TerWords, AsianCharactersAreWords) {
  const auto words = [](char32_t c, const TerOptions& options) {
    const std::string text = "a" + utf8::encode(std::u32string(1, c)) + "b";
    return sentence_ter(text, std::span(&text, 1), options).reference_length;
  };
  const TerOptions separates{.normalized = true, .asian_support = true};
  for (const char32_t c :
       {0x4E00, 0x9FFF, 0x3400, 0x4DBF, 0x31C0, 0x31EF, 0x2E80, 0x2EFF, 0x3200, 0x33FF, 0xF900,
        0xFAFF, 0xFE30, 0xFE4F, 0x3001, 0x3002, 0x3008, 0x3011, 0x3014, 0x301F, 0xFF61, 0xFF65,
        0x30FB, 0xFF0E, 0xFF0C, 0xFF1F, 0xFF1A, 0xFF1B, 0xFF01, 0xFF02, 0xFF08, 0xFF09})
    EXPECT_EQ(words(c, separates), 3) << std::hex << static_cast<std::uint32_t>(c);
  for (const char32_t c : {0xA000, 0x31BF, 0x31F0, 0x2E7F, 0x2F00, 0xF8FF, 0xFB00, 0xFE2F, 0xFE50, 0x3003,
                           0x3007, 0x3012, 0x3013, 0x3020, 0xFF60, 0xFF66, 0x30FA, 0x30FC, 0xFF0D, 0xFF0F,
                           0xFF0B, 0xFF1E, 0xFF20, 0xFF19, 0xFF1C, 0xFF03, 0xFF07, 0xFF0A})
    EXPECT_EQ(words(c, separates), 1) << std::hex << static_cast<std::uint32_t>(c);
  EXPECT_EQ(words(0x4E00, {.normalized = true}), 1);
  // Without punctuation, the ideographs stay.
  const TerOptions plain{.no_punctuation = true, .asian_support = true};
  for (const char32_t c : {U'。', U',', U'"', U'4'}) {
    const std::string text = utf8::encode(std::u32string{U'a', U' ', c});
    EXPECT_EQ(sentence_ter(text, std::span(&text, 1), plain).reference_length, c == U'4' ? 2 : 1);
  }
}

// The first and last characters of the blocks in sacreBLEU's tokenizer_zh.py, as Python reads them.
TEST(MetricText, ChineseCharactersAreSeparated) {
  const auto separated = [](char32_t c) {
    return tokenize_for_metric(std::u32string{U'a', c, U'b'}, MetricTokenizer::chinese) ==
           std::u32string{U'a', U' ', c, U' ', U'b'};
  };
  for (const char32_t c :
       {0x2001, 0x2A6D, 0x2E80, 0x2EFF, 0x2F00, 0x2FDF, 0x2FF0, 0x2FFF, 0x3000, 0x303F, 0x3100, 0x312F,
        0x31A0, 0x31BF, 0x31C0, 0x31EF, 0x3200, 0x33FF, 0x3400, 0x4DB5, 0x4E00, 0x9FA5, 0x9FBB, 0xF900,
        0xFA2D, 0xFA30, 0xFA6A, 0xFA70, 0xFAD9, 0xFE10, 0xFE1F, 0xFE30, 0xFE4F, 0xFF00, 0xFFEF})
    EXPECT_TRUE(separated(c) || utf8::is_space(c)) << std::hex << static_cast<std::uint32_t>(c);
  for (const char32_t c : {0x1FFF, 0x2A6E, 0x2E7F, 0x2FE0, 0x2FEF, 0x3040, 0x30FF, 0x3130, 0x319F,
                           0x31F0, 0x31FF, 0x4DB6, 0x4DFF, 0x9FBC, 0xF8FF, 0xFA2E, 0xFA2F, 0xFA6B,
                           0xFA6F, 0xFADA, 0xFE0F, 0xFE20, 0xFE2F, 0xFE50, 0xFEFF, 0xFFF0})
    EXPECT_FALSE(separated(c)) << std::hex << static_cast<std::uint32_t>(c);
}

}  // namespace
}  // namespace regard::metrics
