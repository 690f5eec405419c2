// Fields and errors of a sentencepiece file, a Protocol Buffers message that is written byte by byte here.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "regard/error.h"
#include "support/throws.h"
#include "text/protobuf.h"
#include "text/sentencepiece.h"

namespace regard::text {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

std::string message(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string real(int field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes = varint(static_cast<std::uint64_t>(field) << 3 | 5);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i));
  return bytes;
}

std::string piece(const std::string& text, float score, int type) {
  return message(1, message(1, text) + real(2, score) + number(3, static_cast<std::uint64_t>(type)));
}

TEST(SentencePieceFile, HasTheseFields) {
  const std::string trainer =
      number(3, 2) + number(4, 8000) + number(24, 1) + number(35, 1) + message(44, "<u>");
  const std::string normalizer =
      message(1, "nfkc") + message(2, "map") + number(3, 0) + number(4, 0) + number(5, 0);
  const std::string eight =
      varint(9 << 3 | 1) + std::string(8, 'x');  // a field of 8 bytes, which is not used
  const SentencePieceFile file =
      parse_sentencepiece(piece("<unk>", 0, 2) + eight + piece("a", -1.5F, 1) + message(1, message(1, "b")) +
                              message(2, trainer) + message(3, normalizer),
                          "t.model");
  ASSERT_EQ(file.pieces.size(), 3u);
  EXPECT_EQ(file.pieces[0].type, PieceType::unknown);
  EXPECT_EQ(file.pieces[1].piece, "a");
  EXPECT_EQ(file.pieces[1].score, -1.5F);
  EXPECT_EQ(file.pieces[1].type, PieceType::normal);
  EXPECT_EQ(file.pieces[2].piece, "b");
  EXPECT_EQ(file.pieces[2].score, 0.0F);
  EXPECT_EQ(file.pieces[2].type, PieceType::normal);
  EXPECT_EQ(file.charsmap, "map");
  EXPECT_EQ(static_cast<int>(file.options.kind), 2);
  EXPECT_EQ(file.options.unknown_surface, "<u>");
  EXPECT_TRUE(file.options.whitespace_as_suffix);
  EXPECT_TRUE(file.options.byte_fallback);
  EXPECT_FALSE(file.options.dummy_prefix);
  EXPECT_FALSE(file.options.remove_extra_whitespace);
  EXPECT_FALSE(file.options.escape_whitespace);
  const SentencePieceOptions defaults = parse_sentencepiece(piece("<unk>", 0, 2), "t.model").options;
  EXPECT_EQ(static_cast<int>(defaults.kind), 1);
  EXPECT_EQ(defaults.unknown_surface, " \u2047 ");
  EXPECT_FALSE(defaults.whitespace_as_suffix);
  EXPECT_FALSE(defaults.byte_fallback);
  EXPECT_TRUE(defaults.dummy_prefix);
  EXPECT_TRUE(defaults.remove_extra_whitespace);
  EXPECT_TRUE(defaults.escape_whitespace);
}

template <class Read>
void expect_refused(const Read& read, const std::string& expected) {
  testing::expect_error_text(ErrorKind::bad_file, "t.model" + expected, read);
}

TEST(SentencePieceFile, ErrorsNameTheByte) {
  const std::string message_expected = " (expected sentencepiece's model, a Protocol Buffers message)";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\x0A", " (byte 1): the file is truncated within a number" + message_expected},
      {"\x08\xFF", " (byte 2): the file is truncated within a number" + message_expected},
      {"\x0D"
       "abc",
       " (byte 1): the file is truncated within a number" + message_expected},
      {"\x09"
       "abcdefg",
       " (byte 1): the file is truncated within a number" + message_expected},
      {"\x0A\x02"
       "a",
       " (byte 2): a field extends beyond the end of the file" + message_expected},
      {"\x0B", " (byte 1): unknown wire type" + message_expected},
      {"\x02", " (byte 1): invalid field number" + message_expected},
      {varint(std::uint64_t{0x20000000} << 3), " (byte 5): invalid field number" + message_expected},
      {"\x08" + std::string(10, '\x80') + "\x01", " (byte 11): a number is too long" + message_expected},
      // inside of a piece at byte 2, and of the normalizer's settings at byte 14
      {"\x0A\x01\x0B", " (byte 3): unknown wire type" + message_expected},
      {piece("a", 0, 1) + message(3, "\x12\x02x"),
       " (byte 16): a field extends beyond the end of the file" + message_expected},
      {message(2, "\x18"), " (byte 3): the file is truncated within a number" + message_expected},
      {"", ": not a sentencepiece model: it has no pieces"},
      {piece("a", 0, 0), ": a piece has an unknown type (expected a number from 1 to 6, found 0)"},
      {piece("a", 0, 7), ": a piece has an unknown type (expected a number from 1 to 6, found 7)"},
      {message(2, number(3, 0)),
       ": unknown type of sentencepiece model (expected a number from 1 to 4, found 0)"},
      {message(2, number(3, 5)),
       ": unknown type of sentencepiece model (expected a number from 1 to 4, found 5)"}};
  for (const auto& [bytes, expected] : cases)
    expect_refused([&] { parse_sentencepiece(bytes, "t.model"); }, expected);
  EXPECT_EQ(parse_sentencepiece(piece("a", 0, 6) + varint(std::uint64_t{0x1FFFFFFF} << 3) + "\x01", "t")
                .pieces.size(),
            1u);
}

TEST(SentencePieceModel, RefusesPiecesThatContradictEachOther) {
  const SentencePiece unknown{"<unk>", 0, PieceType::unknown};
  const auto expect = [&](const std::vector<SentencePiece>& pieces, const std::string& expected) {
    expect_refused([&] { SentencePieceModel(pieces, {}, "t.model"); }, expected);
  };
  expect({unknown, {"", 0, PieceType::normal}}, ": a piece is empty (found piece 1 '')");
  expect({unknown, {"a", 0, PieceType::normal}, {"a", 0, PieceType::user_defined}},
         ": duplicate piece (found piece 2 'a')");
  expect({unknown, {"<s>", 0, PieceType::control}, {"<s>", 0, PieceType::control}},
         ": duplicate piece (found piece 2 '<s>')");
  expect({unknown, {"a", 0, PieceType::normal}, {"<u>", 0, PieceType::unknown}},
         ": more than one unknown piece (found piece 2 '<u>')");
  expect({{"a", 0, PieceType::normal}}, ": expected a piece of type UNKNOWN, such as <unk>, found none");
  expect({unknown, {"a", std::numeric_limits<float>::quiet_NaN(), PieceType::normal}},
         ": the score of piece 'a' is not a number (expected a number, found NaN)");
  // a control piece may have the text of a normal piece
  EXPECT_NO_THROW(SentencePieceModel({unknown, {"a", 0, PieceType::normal}, {"a", 0, PieceType::control}}, {},
                                     "t.model"));
}

// Unused pieces are in the vocabulary, but no text is segmented into them.
TEST(SentencePieceModel, ReservedPiecesAreNotInTexts) {
  const SentencePieceModel model({{"<unk>", 0, PieceType::unknown},
                                  {"<s>", 0, PieceType::control},
                                  {"a", -1, PieceType::normal},
                                  {"b", -1, PieceType::unused},
                                  {"<0x63>", 0, PieceType::byte},
                                  {"\u2581"
                                   "d",
                                   -1, PieceType::user_defined}},
                                 {}, "t.model");
  const auto ids = [&](std::string_view text) {
    std::vector<Token> tokens;
    model.tokenize(text, tokens);
    std::vector<std::int32_t> all;
    for (const Token& token : tokens) all.push_back(token.id);
    return all;
  };
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(ids("aba"), (Ids{2, 0, 2}));
  EXPECT_EQ(ids("a\u2581"
                "d<s>"),
            (Ids{2, 5, 0}));
  EXPECT_EQ(model.decode(Ids{1, 5, 2, 0, 4, 5, 3, 99, -1}), "da \u2047 c db");
  EXPECT_EQ(model.id_of("<s>"), 1);
  EXPECT_EQ(model.id_of("b"), 3);
  EXPECT_EQ(model.id_of("x"), std::nullopt);
  EXPECT_EQ(model.token_of(5),
            "\u2581"
            "d");
  EXPECT_EQ(model.token_of(6), std::nullopt);
  EXPECT_EQ(model.token_of(-1), std::nullopt);
}

}  // namespace
}  // namespace regard::text
