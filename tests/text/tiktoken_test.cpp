// A .tiktoken file: tokens and offsets, special tokens, the tokenizer.json that it is saved as, and errors.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "regard/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "text/base64.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

using Ids = std::vector<std::int32_t>;

std::string rank_line(const std::string& bytes, int rank) {
  return encode_base64(bytes) + " " + std::to_string(rank) + "\n";
}

// Return the ranks of all bytes, except the byte `left_out`.
std::string byte_ranks(int left_out = -1) {
  std::string lines;
  for (int byte = 0; byte < 256; ++byte)
    if (byte != left_out) lines += rank_line(std::string(1, static_cast<char>(byte)), byte);
  return lines;
}

// "abc" can be merged from "ab" and "c", and from "a" and "bc". An empty line is skipped, and the last line
// has no line end.
std::string small_ranks() {
  std::string lines = byte_ranks() + rank_line("ab", 256) + "\n" + rank_line("bc", 257) +
                      rank_line("abc", 258) + rank_line(" a", 259);
  lines.pop_back();
  return lines;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> places(const std::vector<Offsets>& offsets) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (const Offsets& one : offsets) all.emplace_back(one.begin, one.end);
  return all;
}

class Tiktoken : public ::testing::Test {
 protected:
  std::shared_ptr<const Tokenizer> load(const std::string& lines, const char* name = "gpt2.tiktoken") {
    write_file_atomically(home_.path() / name, lines);
    return Tokenizer::load(home_.path() / name);
  }
  void expect_error(const std::string& lines, const std::string& message,
                    const char* name = "gpt2.tiktoken") {
    testing::expect_error_text(ErrorKind::bad_file, (home_.path() / name).string() + message,
                               [&] { load(lines, name); });
  }
  testing::TemporaryFolder home_;
};

TEST_F(Tiktoken, TokensAndOffsets) {
  const auto tokenizer = load(small_ranks());
  const Encoding encoding = tokenizer->encode("xabc abcb ac é<|endoftext|>");
  const Ids ids{'x', 258, ' ', 258, 'b', 259, 'c', ' ', 0xC3, 0xA9, 50256};
  EXPECT_EQ(encoding.ids, ids);
  EXPECT_EQ(tokenizer->encode_ids("xabc abcb ac é<|endoftext|>"), ids);
  EXPECT_EQ(encoding.tokens, (std::vector<std::string>{"x", "abc", "Ġ", "abc", "b", "Ġa", "c", "Ġ", "Ã", "©",
                                                       "<|endoftext|>"}));
  using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(places(encoding.byte_offsets), (Places{{0, 1},
                                                   {1, 4},
                                                   {4, 5},
                                                   {5, 8},
                                                   {8, 9},
                                                   {9, 11},
                                                   {11, 12},
                                                   {12, 13},
                                                   {13, 15},
                                                   {13, 15},
                                                   {15, 28}}));
  EXPECT_EQ(places(encoding.offsets), (Places{{0, 1},
                                              {1, 4},
                                              {4, 5},
                                              {5, 8},
                                              {8, 9},
                                              {9, 11},
                                              {11, 12},
                                              {12, 13},
                                              {13, 14},
                                              {13, 14},
                                              {14, 27}}));
  EXPECT_EQ(tokenizer->decode(ids, false), "xabc abcb ac é<|endoftext|>");
  EXPECT_EQ(tokenizer->decode(ids, true), "xabc abcb ac é");
  EXPECT_EQ(tokenizer->vocabulary_size(), 50257);
  EXPECT_EQ(tokenizer->token_count(), 261);
  EXPECT_EQ(tokenizer->id_of("Ġa"), 259);
  EXPECT_EQ(tokenizer->id_of("aa"), std::nullopt);
  EXPECT_EQ(tokenizer->token_of(259), "Ġa");
  EXPECT_EQ(tokenizer->token_of(260), "");
  EXPECT_EQ(tokenizer->model_type(), std::string("BPE"));
}

TEST_F(Tiktoken, SavedAsTokenizerJson) {
  const auto tokenizer = load(small_ranks());
  const Json json = tokenizer->to_json(), &model = json.at("model");
  EXPECT_EQ(model.at("merges"),
            Json::parse(R"([["a", "b"], ["b", "c"], ["a", "bc"], ["ab", "c"], ["Ġ", "a"]])"));
  EXPECT_EQ(model.at("vocab").size(), 260u);
  EXPECT_EQ(model.at("vocab").at("abc"), 258);
  EXPECT_EQ(model.at("ignore_merges"), true);
  const auto again = Tokenizer::from_json(json, "again");
  EXPECT_EQ(again->to_json(), json);
  for (const char* text : {"xabc abcb é", "abc", "aabcc", "\n\tab  bc", "<|endoftext|>a"}) {
    const Encoding one = tokenizer->encode(text), other = again->encode(text);
    EXPECT_EQ(one.ids, other.ids) << text;
    EXPECT_EQ(places(one.byte_offsets), places(other.byte_offsets)) << text;
    EXPECT_EQ(tokenizer->encode_ids(text), one.ids) << text;
    EXPECT_EQ(again->encode_ids(text), one.ids) << text;
  }
}

TEST_F(Tiktoken, SpecialTokensAreThoseOfTheEncoding) {
  const auto specials = [&](const char* name) {
    std::vector<std::pair<std::string, int>> all;
    const Json json = load(small_ranks(), name)->to_json();
    for (const Json& token : json.at("added_tokens")) all.emplace_back(token.at("content"), token.at("id"));
    return all;
  };
  using Specials = std::vector<std::pair<std::string, int>>;
  for (const char* name : {"gpt2.tiktoken", "r50k_base.tiktoken", "p50k_base.tiktoken"})
    EXPECT_EQ(specials(name), (Specials{{"<|endoftext|>", 50256}})) << name;
  EXPECT_EQ(specials("cl100k_base.tiktoken"), (Specials{{"<|endoftext|>", 100257},
                                                        {"<|fim_prefix|>", 100258},
                                                        {"<|fim_middle|>", 100259},
                                                        {"<|fim_suffix|>", 100260},
                                                        {"<|endofprompt|>", 100276}}));
  EXPECT_EQ(specials("o200k_base.tiktoken"),
            (Specials{{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}));
}

TEST_F(Tiktoken, Errors) {
  expect_error(byte_ranks('A'), ": the byte 0x41 has no token (expected a token for each of the 256 bytes)");
  expect_error(byte_ranks(255), ": the byte 0xFF has no token (expected a token for each of the 256 bytes)");
  const std::string wrong = ":257: expected a base64 token and its rank (found ";
  expect_error(byte_ranks() + "YWI=\n", wrong + "YWI=)");
  expect_error(byte_ranks() + "YWI= -1\n", wrong + "YWI= -1)");
  expect_error(byte_ranks() + "YWI= 67108865\n", wrong + "YWI= 67108865)");
  expect_error(byte_ranks() + "YW!= 256\n", wrong + "YW!= 256)");
  expect_error(byte_ranks() + " 256\n", wrong + " 256)");
  expect_error(small_ranks(),
               ": unknown tiktoken encoding: the split pattern is chosen by the file name (expected gpt2, "
               "r50k_base, p50k_base, cl100k_base or o200k_base, found mine). Rename the file after its "
               "encoding, or use a tokenizer.json",
               "mine.tiktoken");
}

// The vectors of RFC 4648.
TEST(Base64, EncodesAndDecodes) {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xFB\xFF\xBF", "+/+/"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(decode_base64(encode_base64(all)), all);
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zm9v=", "Z===", "====", "Zg==Zg==", "Zm9*", "Zm 9", "Zm-_"})
    EXPECT_EQ(decode_base64(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace regard::text
