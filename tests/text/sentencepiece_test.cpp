// Every line of golden files made with sentencepiece: ids, pieces, byte offsets, normalised and decoded text.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "text/normalizers.h"
#include "text/protobuf.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

class SentencePieceGoldens : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder_ = testing::golden("sentencepiece") / GetParam();
  std::shared_ptr<const Tokenizer> tokenizer_ = Tokenizer::load(folder_ / "sp.model");
  std::unique_ptr<Normalizer> normalizer_ =
      read_normalizer(tokenizer_->description().at("normalizer"), "test");

  void check_text(const Json& golden) const {
    const auto text = golden.at("text").get<std::string>();
    const Encoding encoding = tokenizer_->encode(text);
    EXPECT_EQ(Json(encoding.ids), golden.at("ids"));
    EXPECT_EQ(Json(encoding.tokens), golden.at("pieces"));
    Json offsets = Json::array(), surfaces = Json::array();
    for (const Offsets& place : encoding.byte_offsets) {
      offsets.push_back({place.begin, place.end});
      surfaces.push_back(text.substr(place.begin, place.end - place.begin));
    }
    EXPECT_EQ(offsets, golden.at("offsets"));
    EXPECT_EQ(surfaces, golden.at("surfaces"));
    AlignedText normalized(text, {}, 0, false);
    normalizer_->apply(normalized);
    EXPECT_EQ(normalized.text(), golden.at("normalized").get<std::string>());
    EXPECT_EQ(tokenizer_->decode(encoding.ids), golden.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer_->encode_ids(text), encoding.ids);
    if (golden.contains("nbest3")) {
      Json ways = Json::array();
      for (const auto& way : tokenizer_->encode_nbest(text, 3)) ways.push_back(way.ids);
      EXPECT_EQ(ways, golden.at("nbest3"));
    }
    if (golden.contains("ids_reverse")) {
      EXPECT_EQ(Json(std::vector(encoding.ids.rbegin(), encoding.ids.rend())), golden.at("ids_reverse"));
    }
    if (!golden.contains("ids_bos_eos")) return;
    std::vector<std::int32_t> framed{*tokenizer_->id_of("<s>")};
    framed.insert(framed.end(), encoding.ids.begin(), encoding.ids.end());
    framed.push_back(*tokenizer_->id_of("</s>"));
    EXPECT_EQ(Json(framed), golden.at("ids_bos_eos"));
    EXPECT_EQ(tokenizer_->decode(framed), golden.at("decoded").get<std::string>());
  }
};

TEST_P(SentencePieceGoldens, EqualsEveryLine) {
  std::ifstream lines(folder_ / "golden.jsonl");
  int texts = 0, decoded = 0;
  for (std::string line; std::getline(lines, line);) {
    SCOPED_TRACE(line.substr(0, 200));
    const Json golden = parse_json(line, "golden.jsonl");
    if (golden.contains("text")) {
      check_text(golden);
      ++texts;
    } else {
      const auto ids = golden.at("decode_ids").get<std::vector<std::int32_t>>();
      EXPECT_EQ(tokenizer_->decode(ids), golden.at("decoded").get<std::string>());
      ++decoded;
    }
  }
  EXPECT_EQ(texts, 156);
  EXPECT_EQ(decoded, 7);
}

TEST_P(SentencePieceGoldens, SavedAndLoadedIsTheSame) {
  const auto again = Tokenizer::from_json(tokenizer_->to_json(), "saved");
  const std::string text = "  Hello  w\u00F6rld \u0915\u0947\u0915\t\u2460 ";
  EXPECT_EQ(again->encode_ids(text), tokenizer_->encode_ids(text));
  EXPECT_EQ(again->to_json(), tokenizer_->to_json());
}

TEST(BestWays, OfModelsThatSumScoresOnly) {
  const auto pieces = Tokenizer::load(testing::golden("tokenizer-json/unigram-t5-style"));
  const std::string text = "The man beats the boy in the Bank";
  const auto ways = pieces->encode_nbest(text, 8);
  ASSERT_EQ(ways.size(), 8u);
  EXPECT_EQ(ways[0].ids, pieces->encode_ids(text, {.add_special = false}));
  for (std::size_t i = 1; i < ways.size(); ++i) {
    EXPECT_LE(ways[i].score, ways[i - 1].score);
    EXPECT_NE(ways[i].ids, ways[i - 1].ids);
    EXPECT_EQ(pieces->decode(ways[i].ids), pieces->decode(ways[0].ids));
  }
  EXPECT_THROW(pieces->encode_nbest(text, 0), Error);
  EXPECT_THROW(pieces->encode_nbest(text, 1025), Error);
  const auto merges = Tokenizer::load(testing::golden("sentencepiece/sp-bpe-identity/sp.model"));
  EXPECT_THROW(merges->encode_nbest(text, 2), Error);
}

// Golden files of models with user-defined symbols: all four model types, symbols with spaces inside and at
// the end, the space symbol before or after words, and spaces kept or removed.
class SentencePieceSymbols : public ::testing::TestWithParam<std::string> {};

TEST_P(SentencePieceSymbols, EqualEveryLine) {
  const std::filesystem::path folder = testing::golden("sentencepiece-symbols");
  const auto tokenizer = Tokenizer::load(folder / (GetParam() + ".model"));
  const auto normalizer = read_normalizer(tokenizer->description().at("normalizer"), "test");
  std::ifstream lines(folder / (GetParam() + ".jsonl"));
  int texts = 0;
  for (std::string line; std::getline(lines, line); ++texts) {
    SCOPED_TRACE(line);
    const Json golden = parse_json(line, "golden");
    const auto text = golden.at("text").get<std::string>();
    const Encoding encoding = tokenizer->encode(text);
    EXPECT_EQ(Json(encoding.ids), golden.at("ids"));
    EXPECT_EQ(Json(encoding.tokens), golden.at("pieces"));
    Json offsets = Json::array();
    for (const Offsets& place : encoding.byte_offsets) offsets.push_back({place.begin, place.end});
    EXPECT_EQ(offsets, golden.at("offsets"));
    EXPECT_EQ(tokenizer->encode_ids(text), encoding.ids);
    EXPECT_EQ(tokenizer->decode(encoding.ids), golden.at("decoded").get<std::string>());
    AlignedText normalized(text, {}, 0, false);
    normalizer->apply(normalized);
    EXPECT_EQ(normalized.text(), golden.at("normalized").get<std::string>());
  }
  EXPECT_EQ(texts, 48);
}

std::vector<std::string> symbol_models() {
  return read_json((testing::golden("sentencepiece-symbols") / "index.json").string())
      .at("models")
      .get<std::vector<std::string>>();
}

std::string sentencepiece_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceSymbols, ::testing::ValuesIn(symbol_models()),
                         sentencepiece_test_name);
INSTANTIATE_TEST_SUITE_P(Models, SentencePieceGoldens,
                         ::testing::Values("sp-bpe-identity", "sp-unigram-nmtnfkc-bytefallback"),
                         sentencepiece_test_name);

// Ids and scores of sentencepiece 0.2.3. The score of a user-defined piece depends on its length only: in
// bytes for the best segmentation, in characters for the n best.
TEST(SentencePieceUserDefined, HaveTheScoresOfSentencepiece) {
  const auto segmented = [](float letter, const std::string& symbol, const std::string& text) {
    std::vector<SentencePiece> pieces{{"<unk>", 0, PieceType::unknown}, {symbol, 0, PieceType::user_defined}};
    for (const char* name : {"a", "b", "c", "\u00E9"}) pieces.push_back({name, letter, PieceType::normal});
    pieces.push_back({"ab", -0.5F, PieceType::normal});
    const SentencePieceModel model(std::move(pieces), {}, "scores");
    std::vector<Token> tokens;
    model.tokenize(text, tokens);
    std::vector<std::int32_t> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    return std::pair(ids, model.best_ways(text, 4));
  };
  const auto [whole, ways] = segmented(-3, "abc", "abc");
  EXPECT_EQ(whole, (std::vector<std::int32_t>{1}));
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_FLOAT_EQ(static_cast<float>(ways[0].score), 0.2F);
  EXPECT_FLOAT_EQ(static_cast<float>(ways[1].score), -3.5F);
  EXPECT_EQ(segmented(0.2F, "abc", "abc").first, (std::vector<std::int32_t>{2, 3, 4}));
  // 3 letters have the score 0.27 or 0.18, the symbol 0.2
  EXPECT_EQ(segmented(0.09F, "abc", "abc").first, (std::vector<std::int32_t>{2, 3, 4}));
  EXPECT_EQ(segmented(0.06F, "abc", "abc").first, (std::vector<std::int32_t>{1}));
  const auto [bytes, characters] = segmented(0.09F, "\u00E9a", "\u00E9a");  // 3 bytes, 2 characters
  EXPECT_EQ(bytes, (std::vector<std::int32_t>{1}));
  ASSERT_EQ(characters.size(), 2u);
  EXPECT_EQ(characters[0].tokens.size(), 2u);
  EXPECT_FLOAT_EQ(static_cast<float>(characters[1].score), 0.1F);
}

// The score of the unknown piece is 10 below the lowest score of the normal pieces, even if all are positive.
TEST(SentencePieceUnknown, ItsScoreDependsOnTheLowestPiece) {
  for (const float whole : {185.0F, 195.0F}) {  // "a" and the unknown piece have the score 190
    const SentencePieceModel model(
        {{"<unk>", 0, PieceType::unknown}, {"a", 100, PieceType::normal}, {"ab", whole, PieceType::normal}},
        {}, "scores");
    std::vector<Token> tokens;
    model.tokenize("ab", tokens);
    EXPECT_EQ(tokens.size(), whole < 190 ? 2u : 1u);
    EXPECT_EQ(tokens.back().id, whole < 190 ? 0 : 2);
  }
}

// Byte fallback needs a piece for each of the 256 bytes, and these pieces must have the type "byte".
TEST(SentencePieceBytes, MissingOrOfAnotherTypeAreRefused) {
  const auto whole =
      Tokenizer::load(testing::golden("sentencepiece/sp-unigram-nmtnfkc-bytefallback/sp.model"));
  const Json saved = whole->to_json();
  const auto changed = [&](const std::string& name, auto change) {
    Json json = saved;
    int found = 0;
    for (Json& piece : json.at("model").at("pieces"))
      if (piece[0] == name) change(piece), ++found;
    EXPECT_EQ(found, 1) << name;
    return json;
  };
  EXPECT_NO_THROW(Tokenizer::from_json(saved, "saved"));
  for (const std::string name : {"<0x00>", "<0x41>", "<0xFF>"}) {
    for (const bool renamed : {true, false}) {
      SCOPED_TRACE(name);
      const Json broken = changed(name, [&](Json& piece) {
        renamed ? piece[0] = "other" : piece[2] = static_cast<int>(PieceType::control);
      });
      try {
        Tokenizer::from_json(broken, "broken");
        ADD_FAILURE() << "accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_file);
        EXPECT_EQ(error.expected(), name);
      }
    }
  }
}

// A piece of the type "byte" must name a byte, even in a model without byte fallback.
TEST(SentencePieceBytes, OtherNamesAreRefused) {
  for (const std::string name : {"x", "<0xZZ>", "<0x-1>", "<0x41", "<0x041>"}) {
    SCOPED_TRACE(name);
    const std::vector<SentencePiece> pieces{{"<unk>", 0, PieceType::unknown}, {name, 0, PieceType::byte}};
    EXPECT_REGARD_ERROR(SentencePieceModel(pieces, {}, "broken"), ErrorKind::bad_file,
                        "does not name a byte");
  }
  const SentencePieceModel model({{"<unk>", 0, PieceType::unknown}, {"<0x41>", 0, PieceType::byte}}, {},
                                 "ok");
  EXPECT_EQ(model.decode(std::vector<std::int32_t>{1}), "A");
}

// sentencepiece numbers the types of pieces from 1 to 6.
TEST(SentencePieceJson, PiecesOfAnotherFormAreRefused) {
  const Json saved = Tokenizer::load(testing::golden("sentencepiece/sp-bpe-identity/sp.model"))->to_json();
  const auto with = [&](const Json& piece) {
    Json json = saved;
    json.at("model").at("pieces").push_back(piece);
    return Tokenizer::from_json(json, "saved");
  };
  EXPECT_NO_THROW(with({"another", 0.0, 1}));
  EXPECT_NO_THROW(with({"<0x41>", 0.0, 6}));
  for (const int type : {0, 7})
    EXPECT_REGARD_ERROR(with({"another", 0.0, type}), ErrorKind::bad_file, "found " + std::to_string(type));
  EXPECT_REGARD_ERROR(with({"another", 0.0}), ErrorKind::bad_file, "malformed piece");
  EXPECT_REGARD_ERROR(with({"another", 0.0, 1, 1}), ErrorKind::bad_file, "malformed piece");
  EXPECT_REGARD_ERROR(with("another"), ErrorKind::bad_file, "malformed piece");
}

TEST(SentencePieceFile, DamagedBytesAreRefused) {
  std::ifstream stream(testing::golden("sentencepiece/sp-bpe-identity/sp.model"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_NO_THROW(parse_sentencepiece(whole, "whole"));
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    try {
      SentencePieceFile file = parse_sentencepiece(std::string_view(whole).substr(0, size), "cut");
      SentencePieceModel(std::move(file.pieces), std::move(file.options), "cut");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_THROW(parse_sentencepiece("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "noise"), Error);
  EXPECT_THROW(parse_sentencepiece("\x0A\x7F", "long field"), Error);
}

}  // namespace
}  // namespace regard::text
