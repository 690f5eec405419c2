#include "base/utf8.h"

#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::utf8 {
namespace {

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_bad_byte("नमस्ते 😀"), std::nullopt);
  EXPECT_EQ(first_bad_byte("ab\xC3"), 2u);
  EXPECT_EQ(first_bad_byte("\xC0\x80"), 0u);          // overlong
  EXPECT_EQ(first_bad_byte("a\xED\xA0\x80"), 1u);     // surrogate
  EXPECT_EQ(first_bad_byte("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(first_bad_byte("\xE0\x80\x80"), 0u);      // overlong
  EXPECT_EQ(first_bad_byte("\x80"), 0u);
  EXPECT_TRUE(valid("\xF4\x8F\xBF\xBF"));
  EXPECT_TRUE(valid("\xEF\xBF\xBF"));
}

TEST(Utf8, EveryCodePointGoesThereAndBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append(text, c);
    const Decoded decoded = decode(text, 0);
    ASSERT_TRUE(decoded.valid && decoded.value == c && decoded.size == static_cast<int>(text.size()));
  }
}

// The Unicode standard's table of maximal ill-formed parts (3.9, U+FFFD substitution).
TEST(Utf8, ReplacesMaximalIllFormedParts) {
  EXPECT_EQ(code_points("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            U"a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(count("a\xF1\x80\x80z"), 3u);
  EXPECT_EQ(encode(U"नमस्ते"), "नमस्ते");
}

TEST(Utf8, Nfc) {
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u0915\u093C"), "\u0915\u093C");  // U+0958 is excluded from composition
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");
  EXPECT_EQ(nfc(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_THROW(nfc("\xFF"), Error);
}

TEST(Utf8, LowerCase) {
  EXPECT_EQ(lower(U"ÀÉ SS ß Я"), U"àé ss ß я");
  EXPECT_EQ(lower(U"ΟΔΟΣ ΣΑΣ Σ"), U"οδος σας σ");
  EXPECT_EQ(lower(U"ΑΣΑ ΑΣ.Α ΑΣ."), U"ασα ασ.α ας.") << "the period is case-ignorable";
  EXPECT_EQ(lower(U"İ"), U"i\u0307");
}

TEST(Utf8, GraphemesKeepConjunctsAndEmojiWhole) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(graphemes("नमस्ते"), (Pieces{"न", "म", "स्ते"}));
  EXPECT_EQ(graphemes("क्षत्रिय"), (Pieces{"क्ष", "त्रि", "य"}));
  EXPECT_EQ(graphemes("e\u0301a"), (Pieces{"e\u0301", "a"}));
  EXPECT_EQ(graphemes("👩‍👩‍👧🇮🇳🇩🇪"), (Pieces{"👩‍👩‍👧", "🇮🇳", "🇩🇪"}));
  EXPECT_EQ(graphemes("\r\nx"), (Pieces{"\r\n", "x"}));
  EXPECT_EQ(graphemes("हिन्दी में"), (Pieces{"हि", "न्दी", " ", "में"}));
  EXPECT_EQ(graphemes(""), Pieces{});
}

TEST(Utf8, WidthInTerminalCells) {
  EXPECT_EQ(width("abc"), 3);
  EXPECT_EQ(width("日本語"), 6);
  EXPECT_EQ(width("e\u0301"), 1);
  EXPECT_EQ(width("한"), 2);
  EXPECT_EQ(width("👩‍👩‍👧"), 2);
  EXPECT_EQ(width("🇮🇳"), 2);
  EXPECT_EQ(width("👍🏽"), 2);
  EXPECT_EQ(width("❤\uFE0F"), 2);
  EXPECT_EQ(width("में"), 1);   // म with two marks above it, which take no cell
  EXPECT_EQ(width("क्ष"), 2);  // two consonants; the virama takes no cell
  EXPECT_EQ(width("की"), 2);  // a spacing vowel sign has its own cell
}

}  // namespace
}  // namespace regard::utf8
