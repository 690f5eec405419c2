// Pre-tokenizers, added tokens and decoders with each of their options: the pieces of a text.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "support/throws.h"
#include "text/decoders.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

using Texts = std::vector<std::string>;

// Return a tokenizer in which each piece is an unknown word.
std::shared_ptr<const Tokenizer> tokenizer_with(Json parts) {
  parts["model"] = {{"type", "WordLevel"}, {"vocab", {{"?", 0}}}, {"unk_token", "?"}};
  return Tokenizer::from_json(parts, "t.json");
}

// Return the parts of the text that the tokens represent, and check both kinds of offsets.
Texts pieces_of(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding encoding = tokenizer.encode(text);
  Texts pieces;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const Offsets bytes = encoding.byte_offsets[i], letters = encoding.offsets[i];
    pieces.push_back(text.substr(bytes.begin, bytes.end - bytes.begin));
    EXPECT_EQ(letters.end - letters.begin, utf8::count(pieces.back())) << text << ", token " << i;
    EXPECT_EQ(letters.begin, utf8::count(text.substr(0, bytes.begin))) << text << ", token " << i;
  }
  EXPECT_EQ(tokenizer.encode_ids(text), encoding.ids) << text;
  return pieces;
}

Texts split(const std::string& pre_tokenizer, const std::string& text) {
  return pieces_of(*tokenizer_with({{"pre_tokenizer", Json::parse(pre_tokenizer)}}), text);
}

TEST(PreTokenizers, FixedLength) {
  const auto by = [](int length, const std::string& text) {
    return split(R"({"type": "FixedLength", "length": )" + std::to_string(length) + "}", text);
  };
  EXPECT_EQ(by(1, "aé日"), (Texts{"a", "é", "日"}));
  EXPECT_EQ(by(2, "aé日 c"), (Texts{"aé", "日 ", "c"}));
  EXPECT_EQ(by(2, "aé日c"), (Texts{"aé", "日c"}));
  EXPECT_EQ(by(4, "aé日c"), (Texts{"aé日c"}));
  EXPECT_EQ(by(1073741824, "aé日c"), (Texts{"aé日c"}));
  EXPECT_EQ(by(2, ""), Texts{});
}

// Expected pieces as in the documentation of Hugging Face's SplitDelimiterBehavior.
TEST(PreTokenizers, EachBehaviourOfSplit) {
  const auto by = [](const std::string& behavior, const std::string& invert = "false") {
    return split(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                     R"(", "invert": )" + invert + "}",
                 "the-final--count-down-");
  };
  const Texts isolated{"the", "-", "final", "-", "-", "count", "-", "down", "-"};
  for (const char* name : {"Removed", "removed"})
    EXPECT_EQ(by(name), (Texts{"the", "final", "count", "down"})) << name;
  for (const char* name : {"Isolated", "isolated"}) EXPECT_EQ(by(name), isolated) << name;
  for (const char* name : {"MergedWithPrevious", "merged_with_previous"})
    EXPECT_EQ(by(name), (Texts{"the-", "final-", "-", "count-", "down-"})) << name;
  for (const char* name : {"MergedWithNext", "merged_with_next"})
    EXPECT_EQ(by(name), (Texts{"the", "-final", "-", "-count", "-down", "-"})) << name;
  for (const char* name : {"Contiguous", "contiguous"})
    EXPECT_EQ(by(name), (Texts{"the", "-", "final", "--", "count", "-", "down", "-"})) << name;
  EXPECT_EQ(by("Removed", "true"), (Texts{"-", "-", "-", "-", "-"}));
  EXPECT_EQ(by("Isolated", "true"), isolated);
}

TEST(PreTokenizers, ClassesOfCharacters) {
  EXPECT_EQ(split(R"({"type": "CharDelimiterSplit", "delimiter": "日"})", "日a日日b"), (Texts{"a", "b"}));
  EXPECT_EQ(split(R"({"type": "Digits"})", "a12b3"), (Texts{"a", "12", "b", "3"}));
  EXPECT_EQ(split(R"({"type": "Digits", "individual_digits": true})", "a12b3"),
            (Texts{"a", "1", "2", "b", "3"}));
  EXPECT_EQ(split(R"({"type": "Punctuation"})", "a,,b"), (Texts{"a", ",", ",", "b"}));
  EXPECT_EQ(split(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a,,b"), (Texts{"a", ",,", "b"}));
  EXPECT_EQ(split(R"({"type": "Whitespace"})", " a_b, c!? \u3000"), (Texts{"a_b", ",", "c", "!?"}));
  EXPECT_EQ(split(R"({"type": "WhitespaceSplit"})", " a_b, c!? \u3000"), (Texts{"a_b,", "c!?"}));
  EXPECT_EQ(split(R"({"type": "BertPreTokenizer"})", " a_b, c"), (Texts{"a", "_", "b", ",", "c"}));
  EXPECT_EQ(split(R"({"type": "UnicodeScripts"})", "abc где"), (Texts{"abc ", "где"}));
  EXPECT_EQ(split(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                                                            {"type": "FixedLength", "length": 2}]})",
                  "abc d"),
            (Texts{"ab", "c", "d"}));
  EXPECT_EQ(split(R"({"type": "Sequence", "pretokenizers": []})", "a b"), (Texts{"a b"}));
}

TEST(PreTokenizers, MetaspaceWithEachPrependScheme) {
  const auto tokens = [](const std::string& options, const std::string& text) {
    const auto tokenizer = Tokenizer::from_json(
        Json::parse(R"({"added_tokens": [{"id": 9, "content": "<x>", "normalized": false, "special": true}],
                        "pre_tokenizer": {"type": "Metaspace", )" +
                    options + R"(},
                        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "_a": 2,
                                  "_b": 3, "_a_b": 4, "a_b": 5, "_": 6}}})"),
        "t.json");
    EXPECT_EQ(tokenizer->encode_ids(text), tokenizer->encode(text).ids) << text;
    return tokenizer->encode(text).ids;
  };
  using Ids = std::vector<std::int32_t>;
  const std::string mark = R"("replacement": "_")";
  EXPECT_EQ(tokens(mark, "a b<x>a"), (Ids{2, 3, 9, 2}));
  EXPECT_EQ(tokens(mark + R"(, "prepend_scheme": "always")", "a b<x>a"), (Ids{2, 3, 9, 2}));
  EXPECT_EQ(tokens(mark + R"(, "prepend_scheme": "first")", "a b<x>a"), (Ids{2, 3, 9, 1}));
  EXPECT_EQ(tokens(mark + R"(, "prepend_scheme": "never")", "a b<x>a"), (Ids{1, 3, 9, 1}));
  EXPECT_EQ(tokens(mark + R"(, "add_prefix_space": false)", "a b<x>a"), (Ids{1, 3, 9, 1}));
  EXPECT_EQ(tokens(mark + R"(, "split": false)", "a b<x>a"), (Ids{4, 9, 2}));
  EXPECT_EQ(tokens(mark + R"(, "split": false, "prepend_scheme": "never")", "a b"), (Ids{5}));
  EXPECT_EQ(tokens(mark, " a"), (Ids{2}));
  EXPECT_EQ(tokens(mark, "  a"), (Ids{6, 2}));
}

TEST(Normalizers, ByteLevelWritesALetterForEachByte) {
  const Json vocabulary{{"Ã", 0}, {"©", 1}, {"Ġ", 2}, {"a", 3}};
  const auto tokenizer =
      Tokenizer::from_json({{"normalizer", {{"type", "ByteLevel"}}},
                            {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}},
                           "t.json");
  const Encoding encoding = tokenizer->encode("é aé");
  EXPECT_EQ(encoding.tokens, (Texts{"Ã", "©", "Ġ", "a", "Ã", "©"}));
  EXPECT_EQ(tokenizer->encode_ids("é aé"), encoding.ids);
  using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  Places letters, bytes;
  for (const Offsets& one : encoding.offsets) letters.emplace_back(one.begin, one.end);
  for (const Offsets& one : encoding.byte_offsets) bytes.emplace_back(one.begin, one.end);
  EXPECT_EQ(letters, (Places{{0, 1}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 4}}));
  EXPECT_EQ(bytes, (Places{{0, 2}, {0, 2}, {2, 3}, {3, 4}, {4, 6}, {4, 6}}));
}

TEST(AddedTokens, TakeTheWhiteSpaceAroundThem) {
  const auto pieces = [](const std::string& options, const std::string& text) {
    return pieces_of(
        *tokenizer_with(Json::parse(R"({"added_tokens": [{"id": 1, "content": "<x>", )" + options + "}]}")),
        text);
  };
  const std::string text = "a \u3000<x>\u00A0 b<x>";
  EXPECT_EQ(pieces(R"("lstrip": false)", text), (Texts{"a \u3000", "<x>", "\u00A0 b", "<x>"}));
  EXPECT_EQ(pieces(R"("lstrip": true)", text), (Texts{"a", " \u3000<x>", "\u00A0 b", "<x>"}));
  EXPECT_EQ(pieces(R"("rstrip": true)", text), (Texts{"a \u3000", "<x>\u00A0 ", "b", "<x>"}));
  EXPECT_EQ(pieces(R"("lstrip": true, "rstrip": true)", "\u3000<x> <x> "), (Texts{"\u3000<x> ", "<x> "}));
  const std::string single = R"("single_word": true)";
  EXPECT_EQ(pieces(single, "<x> a<x> é<x> <x>é -<x>- <x>"),
            (Texts{"<x>", " a<x> é<x> <x>é -", "<x>", "- ", "<x>"}));
}

TEST(AddedTokens, SpecialTokensAreFoundOnRequest) {
  const auto tokenizer =
      tokenizer_with(Json::parse(R"({"added_tokens": [{"id": 1, "content": "<s>", "special": true},
                                       {"id": 2, "content": "<n>", "special": false}]})"));
  EXPECT_EQ(tokenizer->encode_ids("<s><n>"), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(tokenizer->encode_ids("<s><n>", {.match_special = false}), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{1, 2, 0, 77}), "<n> ?");
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{1, 2, 0, 77}, false), "<s> <n> ?");
}

std::string decoded(const std::string& decoder, Texts tokens) {
  read_decoder(Json::parse(decoder), "t.json")->apply(tokens);
  std::string text;
  for (const std::string& token : tokens) text += token + "|";
  return text;
}

TEST(Decoders, EachTypeAndOption) {
  const std::string suffix = R"({"type": "BPEDecoder", "suffix": "@"})";
  EXPECT_EQ(decoded(suffix, {"a@", "b", "c@"}), "a |b|c|");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder"})", {"a</w>", "b</w>"}), "a |b|");
  EXPECT_EQ(decoded(R"({"type": "Strip", "content": "_", "start": 1, "stop": 2})", {"__a___", "a", "_"}),
            "_a_|a||");
  EXPECT_EQ(decoded(R"({"type": "Strip", "start": 0, "stop": 0})", {" a "}), " a |");
  EXPECT_EQ(decoded(R"({"type": "Fuse"})", {"a", "b"}), "ab|");
  EXPECT_EQ(decoded(R"({"type": "Metaspace"})", {"▁a▁", "▁b"}), "a| b|");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "prepend_scheme": "never"})", {"▁a▁", "▁b"}), " a | b|");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "add_prefix_space": false})", {"▁a", "▁b"}), " a| b|");
  EXPECT_EQ(decoded(R"({"type": "WordPiece"})", {"##a", "##b", "c", ".", "do", "n't"}),
            "##a|b| c|.| do|n't|");
  EXPECT_EQ(decoded(R"({"type": "WordPiece", "prefix": "+", "cleanup": false})", {"+a", "+b", "."}),
            "+a|b| .|");
  EXPECT_EQ(decoded(R"({"type": "CTC"})", {"<pad>", "a", "a", "<pad>", "a", "|", "b"}), "a|a| |b|");
  EXPECT_EQ(decoded(R"({"type": "CTC", "pad_token": "_", "cleanup": false})", {"_", "a", "|", "|"}), "a|||");
  EXPECT_EQ(decoded(R"({"type": "CTC", "pad_token": "_", "word_delimiter_token": "/"})", {"a", "_", "/"}),
            "a| |");
  EXPECT_EQ(decoded(R"({"type": "Replace", "pattern": {"Regex": "[ab]"}, "content": "-"})", {"abc", "b"}),
            "--c|-|");
  EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {"<0xE2>", "<0x82>", "<0xac>", "x", "<0xff>", "<0x41>"}),
            "€|x|\uFFFD|\uFFFD|");
  EXPECT_EQ(decoded(R"({"type": "ByteLevel"})", {"Ġa", "Ã", "©", "日", "Ã"}), " aé日\uFFFD|");
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, )" + suffix + "]}", {"a@", "b@"}),
            "ab|");
}

TEST(Decoders, NamesOfBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string upper = "0123456789ABCDEF", lower = "0123456789abcdef";
    const auto name = [&](const std::string& digits) {
      return std::string("<0x") + digits[static_cast<std::size_t>(byte / 16)] +
             digits[static_cast<std::size_t>(byte % 16)] + ">";
    };
    EXPECT_EQ(byte_of_name(name(upper)), byte);
    EXPECT_EQ(byte_of_name(name(lower)), byte);
  }
  for (const char* wrong : {"", "<0x4>", "<0x041>", "<0x41", "0x41>", "<0X41>", "<0x/1>", "<0x:1>", "<0x@1>",
                            "<0xG1>", "<0x`1>", "<0xg1>", "<0x1/>", "<0x41>>"})
    EXPECT_EQ(byte_of_name(wrong), -1) << wrong;
}

// A Unigram tokenizer with an added token, which is a part of every segmentation.
TEST(NBest, WithAnAddedTokenAndItsLimits) {
  const auto tokenizer =
      Tokenizer::from_json(Json::parse(R"({"added_tokens": [{"id": 4, "content": "<x>", "special": true}],
                      "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0], ["a", -1.0],
                                ["b", -1.0], ["ab", -1.5]]}})"),
                           "t.json");
  const auto ways = tokenizer->encode_nbest("ab<x>ab", 3);
  using Ids = std::vector<std::int32_t>;
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[0].ids, (Ids{3, 4, 3}));
  EXPECT_EQ(ways[1].ids, (Ids{3, 4, 1, 2}));
  EXPECT_EQ(ways[2].ids, (Ids{1, 2, 4, 3}));
  EXPECT_DOUBLE_EQ(ways[0].score, -3.0);
  EXPECT_DOUBLE_EQ(ways[1].score, -3.5);
  EXPECT_DOUBLE_EQ(ways[2].score, -3.5);
  EXPECT_EQ(tokenizer->encode_nbest("ab<x>ab", 1024).size(), 4u);
  EXPECT_EQ(tokenizer->encode_nbest("<x>", 1, false).size(), 1u);
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{1025}})
    EXPECT_REGARD_ERROR(tokenizer->encode_nbest("ab", wrong), ErrorKind::usage,
                        "the number of segmentations is out of range (expected 1 to 1024, found " +
                            std::to_string(wrong) + ")");
}

}  // namespace
}  // namespace regard::text
