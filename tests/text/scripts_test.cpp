// The pre-tokenizer UnicodeScripts compared with Hugging Face's on texts and on every code point
// (tools/unicode_scripts.py --golden).
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "support/shared_data.h"
#include "support/thread_time.h"
#include "text/pieces.h"
#include "text/pre_tokenizers.h"

namespace regard::text {
namespace {

class Scripts : public ::testing::Test {
 protected:
  Json reference_ = read_json((testing::golden("unicode-reference") / "scripts.json").string());
  std::unique_ptr<PreTokenizer> cutter_ =
      read_pre_tokenizer({{"type", "UnicodeScripts"}}, "test", false).pre_tokenizer;
};

TEST_F(Scripts, EqualEveryGolden) {
  for (const Json& golden : reference_.at("texts")) {
    const auto text = golden.at("text").get<std::string>();
    Pieces pieces(text, true);
    cutter_->apply(pieces);
    Json found = Json::array();
    for (const Piece& piece : pieces.list()) {
      const Offsets span = pieces.span_of(piece.begin, piece.end);
      found.push_back({pieces.text_of(piece),
                       {utf8::count(std::string_view(text).substr(0, span.begin)),
                        utf8::count(std::string_view(text).substr(0, span.end))}});
    }
    EXPECT_EQ(found, golden.at("pieces")) << text;
  }
}

TEST_F(Scripts, OfEveryCodePoint) {
  constexpr char32_t kBlock = 4096;
  const auto digests = reference_.at("blocks").get<std::string>();
  ASSERT_EQ(digests.size(), std::size_t{0x110000 / kBlock * 8});
  for (char32_t first = 0; first < 0x110000; first += kBlock) {
    // As in unicode_test.cpp: no scripts are assigned from U+34000 on, except to the tags of plane 14.
    if (first >= 0x34000 && first != 0xE0000 && first % 0x10000 != 0) continue;
    if (testing::kSlowBuild && (first >= 0x34000 || first / kBlock % 8 != 0)) continue;
    std::string joined;
    for (char32_t c = first; c < first + kBlock; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      if (c != first && c != 0xE000) joined += "\n";
      const std::string letter = utf8::encode(std::u32string(1, c));
      const std::string text = "a" + letter + "b漢" + letter + " " + letter;
      Pieces pieces(text, false);
      cutter_->apply(pieces);
      for (const Piece& piece : pieces.list()) {
        if (&piece != pieces.list().data()) joined += "|";
        joined.append(pieces.text_of(piece));
      }
    }
    EXPECT_EQ(sha256(bytes_of(joined)).substr(0, 8), digests.substr(first / kBlock * 8, 8))
        << "U+" << std::hex << static_cast<std::uint32_t>(first);
  }
}

}  // namespace
}  // namespace regard::text
