// A tokenizer.json is read by a fast reader (simdjson), or by the general reader, which builds a tree of
// values and gives the error messages. Their results must never differ.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "support/shared_data.h"
#include "text/tokenizer.h"
#include "text/tokenizer_files.h"

namespace regard::text {
namespace {

template <class Read>
std::string outcome(const Read& read) {
  try {
    return read()->to_json().dump();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string by_text(const std::string& text) {
  return outcome([&] { return Tokenizer::from_text(text, "test"); });
}

std::string by_tree(const std::string& text) {
  return outcome([&] { return Tokenizer::from_json(parse_json(text, "test"), "test"); });
}

bool is_quick(std::string text) {
  const std::string before = text;
  const bool quick = read_tokenizer_json_quickly(text, "test").has_value();
  EXPECT_EQ(text, before);
  return quick;
}

TEST(QuickTokenizerJson, EveryGoldenIsTheSameBothWays) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::golden(""))) {
    if (entry.path().filename() != "tokenizer.json") continue;
    ++files;
    const std::string text = read_file(entry.path());
    EXPECT_EQ(is_quick(text), has_quick_tokenizer_json()) << entry.path();
    EXPECT_EQ(by_text(text), by_tree(text)) << entry.path();
  }
  EXPECT_GE(files, 30);
}

std::string word_level(const std::string& entries, const std::string& more = "") {
  return R"({"model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0)" + entries + "}" + more +
         "}}";
}

std::string unigram(const std::string& entries) {
  return R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["u", -1])" + entries + "]}}";
}

std::string bpe(const std::string& merges) {
  return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": )" + merges + "}}";
}

TEST(QuickTokenizerJson, IsTakenWhereNothingIsUnusual) {
  for (const std::string& text :
       {word_level(""), word_level(R"(, "\u00e9\n": 1, "\ud83d\ude00": 2)"), word_level(R"(, "\u0000": 1)"),
        word_level(", \"\x7F\": 1"), word_level(R"(, "a": 1, "b": 1, "c": 9)"), word_level(R"(, "a": -0)"),
        unigram(R"(, ["a", -1.5e3], ["a", 1e-320], ["b", 18446744073709551615], ["c", -0.0], ["d", -0])"),
        unigram(R"(, ["a", 0.1000000000000000055511151231257827021181583404541015625])"),
        unigram(R"(, ["a", 9007199254740993.0], ["b", 2.2250738585072011e-308], ["c", 1e-400])"),
        bpe(R"(["a b"])"), bpe(R"([["a", "b"]])"), bpe("[]"), word_level("") + " \n\t\r"}) {
    EXPECT_EQ(is_quick(text), has_quick_tokenizer_json()) << text;
    EXPECT_EQ(by_text(text), by_tree(text)) << text;
  }
}

// The fast reader leaves unusual files to the general reader, so results and error messages are the same.
TEST(QuickTokenizerJson, LeavesTheUnusualToTheTree) {
  const auto deep = [](int levels) {
    return R"({"x": )" + std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']') + ", " + word_level("").substr(1);
  };
  std::string many = R"({"x": {)";
  for (int i = 0; i < 1000; ++i) many += (i > 0 ? ", \"" : "\"") + std::to_string(i) + "\": 0";
  many += "}, " + word_level("").substr(1);
  const std::vector<std::string> texts = {
      "", " ", "null", "[]", "{}", "{", R"({"model")", R"({"model": )", R"({"model": 3})",
      "\xEF\xBB\xBF" + word_level(""), word_level("") + "x", word_level("") + word_level(""),
      word_level("") + std::string(1, '\0'), word_level(", \"a" + std::string(1, '\0') + "\": 1"),
      std::string(1, '\0'), word_level(", \"\x01\": 1"), word_level(", \"\n\": 1"),
      // Duplicate keys, also with different escapes.
      word_level(R"(, "a": 1, "a": 2)"), word_level(R"(, "a": 1, "\u0061": 1)"), word_level(R"(, "u": 0)"),
      word_level("", R"(, "type": "WordLevel")"), word_level("", R"(, "vocab": {})"),
      R"({"x": 1, "x": 1, )" + word_level("").substr(1), R"({"model": {}, )" + word_level("").substr(1),
      R"({"x": {"y": [{"z": 1, "z": 2}]}, )" + word_level("").substr(1),
      // Unpaired surrogates, or in the wrong order; invalid escapes.
      word_level(R"(, "\ud800": 1)"), word_level(R"(, "\udc00": 1)"), word_level(R"(, "\ud800\ud800": 1)"),
      word_level(R"(, "\ud800x": 1)"), word_level(R"(, "\ud800\u0041": 1)"),
      word_level(R"(, "\udc00\ud800": 1)"), word_level(R"(, "\ud800\)"), word_level(R"(, "\u12": 1)"),
      word_level(R"(, "\u12G4": 1)"), word_level(R"(, "\x41": 1)"), word_level(R"(, "\)"),
      // Not UTF-8: truncated, overlong, surrogates, beyond the last code point.
      word_level(", \"\xC3\": 1"), word_level(", \"\x80\": 1"), word_level(", \"\xC0\xAF\": 1"),
      word_level(", \"\xED\xA0\x80\": 1"), word_level(", \"\xF4\x90\x80\x80\": 1"),
      word_level(", \"\xFF\": 1"), word_level("") + "\xC3",
      // Ids that are not whole numbers in range.
      word_level(R"(, "a": 1.0)"), word_level(R"(, "a": 1e0)"), word_level(R"(, "a": -1)"),
      word_level(R"(, "a": 67108865)"), word_level(R"(, "a": 9223372036854775808)"),
      word_level(R"(, "a": 18446744073709551616)"), word_level(R"(, "a": 01)"), word_level(R"(, "a": +1)"),
      word_level(R"(, "a": .5)"), word_level(R"(, "a": 1.)"), word_level(R"(, "a": 1e)"),
      word_level(R"(, "a": -)"), word_level(R"(, "a": "1")"), word_level(R"(, "a": null)"),
      word_level(R"(, "a": NaN)"), word_level(R"(, "a": tru)"), word_level(R"(, "a": [])"),
      unigram(R"(, ["a", 1e400])"), unigram(R"(, ["a", 123456789012345678901234567890])"),
      unigram(R"(, ["a", -9223372036854775809])"),
      // Lists of an unexpected form.
      unigram(R"(, ["a"])"), unigram(R"(, ["a", 1, 2])"), unigram(R"(, ["a", "1"])"), unigram(R"(, [1, 1])"),
      unigram(R"(, {"a": 1})"), unigram(R"(, "a")"), unigram(","), bpe("{}"), bpe("null"), bpe("3"),
      bpe(R"(["a c"])"), bpe(R"(["ab"])"), bpe(R"(["a  b"])"), bpe(R"([["a"]])"), bpe(R"([["a", "b", "c"]])"),
      bpe(R"([["a", 1]])"), bpe(R"([{"a": "b"}])"), bpe(R"(["b a"])"),
      R"({"model": {"type": "BPE", "vocab": {"a": 0}}})", R"({"model": {"type": "BPE", "merges": []}})",
      R"({"model": {"type": "Unigram", "vocab": {"a": 0}}})",
      R"({"model": {"type": "WordLevel", "vocab": []}})", R"({"model": {"type": "WordLevel"}})",
      R"({"model": {"type": "Unigram", "unk_id": 5, "vocab": []}})", R"({"model": {"type": "Telepathy"}})",
      R"({"model": {"type": 3}})", R"({"model": {"type": null}})", R"({"model": {"type": "SentencePiece"}})",
      R"({"model": {"type": "Marian", "vocab": {}}})",
      R"({"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}})",
      R"({"normalizer": {"type": "Telepathy"}, )" + word_level("").substr(1), deep(60), deep(70), deep(127),
      deep(128), deep(2000), many};
  for (const std::string& text : texts) EXPECT_EQ(by_text(text), by_tree(text)) << text.substr(0, 200);
}

}  // namespace
}  // namespace regard::text
