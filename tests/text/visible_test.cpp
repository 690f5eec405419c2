// Printable spellings of tokens: the bytes of a token, marks for spaces and control characters, and rows of
// pieces over their ids.
#include "text/visible.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/namespaces.h"

namespace regard::text {
namespace {

// Return a tokenizer with a special token and four other tokens. `decoder` is JSON.
auto tokenizer_with_decoder(const std::string& decoder) {
  return Tokenizer::from_json(
      Json::parse(R"({"version": "1.0", "added_tokens": [{"id": 0, "content": "<▁>", "single_word": false,
                    "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
                    "decoder": )" +
                  decoder +
                  R"(, "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab":
                    {"<▁>": 0, "[UNK]": 1, "▁the▁": 2, "old": 3, "<0x0A>": 4, "Ġa": 5}}})"),
      "tokenizer.json");
}

constexpr const char* kMetaspace =
    R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true})";

TEST(BytesOfToken, AreThoseThatTheDecoderWrites) {
  const struct {
    const char *decoder, *the, *line_end, *letter;
  } kCases[] = {
      {"null", "▁the▁", "<0x0A>", "Ġa"},
      {kMetaspace, " the ", "<0x0A>", "Ġa"},
      {R"({"type": "Sequence", "decoders": [
           {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]})",
       " the ", "\n", "Ġa"},
      {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})", "▁the▁",
       "<0x0A>", " a"}};
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.decoder);
    const auto tokenizer = tokenizer_with_decoder(one.decoder);
    EXPECT_EQ(bytes_of_token(*tokenizer, 0), "<▁>") << "a special token keeps its spelling";
    EXPECT_EQ(bytes_of_token(*tokenizer, 2), one.the);
    EXPECT_EQ(bytes_of_token(*tokenizer, 3), "old");
    EXPECT_EQ(bytes_of_token(*tokenizer, 4), one.line_end);
    EXPECT_EQ(bytes_of_token(*tokenizer, 5), one.letter);
  }
}

TEST(MakeVisible, MarksWhatATerminalDoesNotShow) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "∅"},
      {" a\n\tb~", "·a↵⇥b~"},
      {"\x1F\x7F", "\\x1F\\x7F"},
      {"\xC2\x80\xC2\x9F\xC2\xA1", "\\x80\\x9F\xC2\xA1"},  // U+0080, U+009F, U+00A1
      {"a\xE0\xA4", "a‹E0A4›"},
      {"\xE0\xA4\xFF\xC3\xA9\xFF", "‹E0A4FF›\xC3\xA9‹FF›"}};
  for (const auto& [bytes, text] : kCases) EXPECT_EQ(make_visible(bytes), text);
}

TEST(PiecesView, AlignsTheIdsAndWrapsAtTheWidth) {
  const auto tokenizer = tokenizer_with_decoder(kMetaspace);
  const std::int32_t ids[] = {2, 3};
  EXPECT_EQ(pieces_view(*tokenizer, ids, 9, false), "·the· old\n2     3\n");
  EXPECT_EQ(pieces_view(*tokenizer, ids, 8, false), "·the·\n2\nold\n3\n");
  EXPECT_EQ(pieces_view(*tokenizer, {}, 8, false), "");
}

TEST(PiecesView, ColoursPiecesAndDimsSpecialTokens) {
  const std::int32_t ids[] = {0, 3};
  EXPECT_EQ(pieces_view(*tokenizer_with_decoder(kMetaspace), ids, 80, true),
            "\x1b[2m<▁>\x1b[0m \x1b[30;48;5;158mold\x1b[0m\n0   3\n");
}

}  // namespace
}  // namespace regard::text
