// Every line of golden files made with Hugging Face's tokenizers: ids, tokens, offsets, type ids, masks,
// overflow and decoded text.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "base/utf8.h"
#include "support/shared_data.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

Json pairs(const std::vector<Offsets>& offsets) {
  Json list = Json::array();
  for (const Offsets& place : offsets) list.push_back({place.begin, place.end});
  return list;
}

template <class T>
bool all_are(const std::vector<T>& list, T value) {
  return std::all_of(list.begin(), list.end(), [value](T entry) { return entry == value; });
}

// Return `encoding` as JSON, with the fields that a golden line has.
Json fields(const Encoding& encoding) {
  Json json{{"ids", encoding.ids},
            {"tokens", encoding.tokens},
            {"offsets", pairs(encoding.offsets)},
            {"type_ids", encoding.type_ids}};
  if (!all_are<std::uint8_t>(encoding.special_mask, 0)) json["special_tokens_mask"] = encoding.special_mask;
  if (!all_are<std::uint8_t>(encoding.attention_mask, 1)) json["attention_mask"] = encoding.attention_mask;
  return json;
}

// Return the fields of a golden line that fields() must give. A field that the line omits must also be
// missing there.
Json expected_fields(const Json& golden) {
  Json json;
  for (const char* key : {"ids", "tokens", "offsets", "type_ids", "special_tokens_mask", "attention_mask"})
    if (golden.contains(key)) json[key] = golden.at(key);
  return json;
}

class TokenizerJson : public ::testing::TestWithParam<std::string> {
 protected:
  std::string folder_ = (testing::golden("tokenizer-json") / GetParam()).string();
  std::shared_ptr<const Tokenizer> tokenizer_ = Tokenizer::load(folder_);

  Encoding encode(const Json& golden, bool add_special) const {
    const auto text = golden.at("text").get<std::string>();
    if (!golden.contains("pair")) return tokenizer_->encode(text, {.add_special = add_special});
    return tokenizer_->encode_pair(text, golden.at("pair").get<std::string>(), {.add_special = add_special});
  }

  void check(const Json& golden) const {
    if (golden.contains("error")) {
      EXPECT_THROW(encode(golden, true), Error);
      return;
    }
    const Encoding encoding = encode(golden, true);
    EXPECT_EQ(fields(encoding), expected_fields(golden));
    Json overflowing = Json::array();
    for (const Encoding& part : encoding.overflowing) overflowing.push_back(part.ids);
    EXPECT_EQ(overflowing, golden.value("overflowing_ids", Json::array()));
    const Json plain = golden.contains("ids_no_special") ? golden.at("ids_no_special") : golden.at("ids");
    EXPECT_EQ(Json(encode(golden, false).ids), plain);
    EXPECT_EQ(tokenizer_->decode(encoding.ids, true), golden.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer_->decode(encoding.ids, false), golden.at("decoded_raw").get<std::string>());
    if (golden.contains("pair") || tokenizer_->truncation() || tokenizer_->padding()) return;
    const auto text = golden.at("text").get<std::string>();
    EXPECT_EQ(tokenizer_->encode_ids(text), encoding.ids);
    check_stream(encoding.ids);
    check_bytes(text, encoding);
  }

  // The joined output of the streaming decoder equals the decoded text.
  void check_stream(const std::vector<std::int32_t>& ids) const {
    StreamDecoder stream(tokenizer_);
    std::string text;
    for (const std::int32_t id : ids) {
      const std::string fresh = stream.push(id);
      EXPECT_TRUE(utf8::valid(fresh));
      text += fresh;
    }
    text += stream.finish();
    EXPECT_EQ(text, tokenizer_->decode(ids, true));
  }

  // Byte offsets and code point offsets denote the same ranges.
  static void check_bytes(const std::string& text, const Encoding& encoding) {
    const auto count = [&](std::uint32_t bytes) {
      return utf8::count(std::string_view(text).substr(0, bytes));
    };
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      EXPECT_EQ(count(encoding.byte_offsets[i].begin), encoding.offsets[i].begin) << encoding.tokens[i];
      EXPECT_EQ(count(encoding.byte_offsets[i].end), encoding.offsets[i].end) << encoding.tokens[i];
    }
  }
};

TEST_P(TokenizerJson, EqualsEveryGolden) {
  std::ifstream lines(folder_ + "/golden.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    SCOPED_TRACE(line.substr(0, 200));
    const Json golden = parse_json(line, folder_);
    ++count;
    if (!golden.contains("batch")) {
      check(golden);
      continue;
    }
    std::vector<std::string> texts;
    std::vector<TextPair> batch;
    for (const Json& text : golden.at("batch")) texts.push_back(text.get<std::string>());
    for (const std::string& text : texts) batch.push_back({text, std::nullopt});
    ThreadPool pool(2);
    const std::vector<Encoding> encodings = tokenizer_->encode_batch(batch, {}, &pool);
    ASSERT_EQ(encodings.size(), golden.at("encodings").size());
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      Json all = fields(encodings[i]);
      all["attention_mask"] = encodings[i].attention_mask;  // golden batches always include it
      EXPECT_EQ(all, expected_fields(golden.at("encodings")[i]));
    }
  }
  EXPECT_EQ(count, 167);
}

TEST_P(TokenizerJson, SavedAndLoadedIsTheSame) {
  const auto again = Tokenizer::from_json(tokenizer_->to_json(), "saved");
  EXPECT_EQ(again->to_json(), tokenizer_->to_json());
  const std::string text = "Hello, wörld! \u0915\u0947\u0915  123\n<s>\u2581 [MASK]";
  EXPECT_EQ(again->encode_ids(text), tokenizer_->encode_ids(text));
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  const Json index = read_json((testing::golden("tokenizer-json") / "index.json").string());
  for (const Json& entry : index.at("tokenizers")) names.push_back(entry.at("name").get<std::string>());
  return names;
}

std::string json_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, TokenizerJson, ::testing::ValuesIn(folders()), json_test_name);

// The ids are those of the Python package tokenizers 0.23.
TEST(AddedTokenIds, AreCorrectedAsInTheReference) {
  const auto token = [](int id, const char* content) {
    return Json{{"id", id}, {"content", content}, {"normalized", false}, {"special", true}};
  };
  const auto ids = [](const Json& added) {
    const Json json{
        {"added_tokens", added},
        {"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"unk_token", "a"}}}};
    return Tokenizer::from_json(json, "t.json")->encode_ids("b<x><y>a", {.add_special = false});
  };
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(ids({token(3, "<x>"), token(4, "<y>")}), (Ids{1, 3, 4, 0}));
  EXPECT_EQ(ids({token(7, "b"), token(3, "<x>"), token(4, "<y>")}), (Ids{1, 3, 4, 0}));
  EXPECT_EQ(ids({token(3, "<x>"), token(3, "<y>")}), (Ids{1, 3, 4, 0}));
  EXPECT_EQ(ids({token(1, "<x>"), token(1, "<y>")}), (Ids{1, 3, 4, 0}));
  EXPECT_EQ(ids({token(3, "<x>"), token(100, "<y>")}), (Ids{1, 3, 100, 0})) << "gaps are kept";
}

}  // namespace
}  // namespace regard::text
