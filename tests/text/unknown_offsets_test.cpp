// Offsets of the unknown tokens of BPE. With fuse_unk, adjacent unknown characters are one token, as in
// Hugging Face's tokenizers library.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/throws.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

struct Read {
  std::vector<std::int32_t> ids;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places, bytes;
};

Read read(const std::string& text, bool fuse) {
  const Json model{{"type", "BPE"},
                   {"vocab", {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}}},
                   {"unk_token", "<unk>"},
                   {"merges", Json::array({Json::array({"a", "b"})})},
                   {"fuse_unk", fuse}};
  const Encoding found =
      Tokenizer::from_json({{"version", "1.0"}, {"model", model}}, "test")->encode(text, {});
  Read read{.ids = found.ids, .places = {}, .bytes = {}};
  for (const Offsets& one : found.offsets) read.places.emplace_back(one.begin, one.end);
  for (const Offsets& one : found.byte_offsets) read.bytes.emplace_back(one.begin, one.end);
  return read;
}

TEST(UnknownOffsets, AFusedTokenCoversAllItsCharacters) {
  using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  // The unknown characters between "ab" and "a" need 1, 2, 3 and 1 bytes in UTF-8.
  const Read fused = read("ab.é漢.axb..", true);
  EXPECT_EQ(fused.ids, (std::vector<std::int32_t>{3, 0, 1, 0, 2, 0}));
  EXPECT_EQ(fused.places, (Places{{0, 2}, {2, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 11}}));
  EXPECT_EQ(fused.bytes, (Places{{0, 2}, {2, 9}, {9, 10}, {10, 11}, {11, 12}, {12, 14}}));
  const Read single = read("ab.é漢.axb..", false);
  EXPECT_EQ(single.ids, (std::vector<std::int32_t>{3, 0, 0, 0, 0, 1, 0, 2, 0, 0}));
  EXPECT_EQ(single.places,
            (Places{{0, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}, {10, 11}}));
  EXPECT_EQ(
      single.bytes,
      (Places{{0, 2}, {2, 3}, {3, 5}, {5, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}, {12, 13}, {13, 14}}));
}

// As in Hugging Face's library, the file is accepted, and only a text that needs the token is refused.
TEST(UnknownOffsets, ATokenOutsideTheVocabularyIsAnErrorWhenItIsNeeded) {
  const Json model{
      {"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"unk_token", "<unk>"}, {"merges", Json::array()}};
  const auto tokenizer = Tokenizer::from_json({{"version", "1.0"}, {"model", model}}, "test");
  EXPECT_EQ(tokenizer->encode("ab", {}).ids, (std::vector<std::int32_t>{0, 1}));
  EXPECT_REGARD_ERROR(tokenizer->encode("abc", {}), ErrorKind::bad_file,
                      "the tokenizer's unknown token is not in its vocabulary (found <unk>)");
}

}  // namespace
}  // namespace regard::text
