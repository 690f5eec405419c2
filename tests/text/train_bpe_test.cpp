// Trainers find the same merges as the reference on synthetic corpora, and trained tokenizers are lossless.
#include "text/train_bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"
#include "support/shared_data.h"
#include "text/bpe_trainer.h"

namespace regard::text {
namespace {

// Cases made with Hugging Face's trainer: words split at white space, characters as symbols.
TEST(BpeTrainer, EqualsTheReferenceMergeForMerge) {
  const Json cases = read_json(testing::golden("tokenizer-training/synthetic.json").string());
  ASSERT_EQ(cases.size(), 12u);
  for (const Json& entry : cases) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    std::map<std::u32string, std::int64_t> words;
    std::map<char32_t, std::int32_t> ids;
    for (const Json& line : entry.at("lines")) {
      std::istringstream stream(line.get<std::string>());
      for (std::string word; stream >> word;) ++words[utf8::code_points(word)];
    }
    for (const auto& [word, count] : words)
      for (const char32_t c : word) ids[c] = 0;
    BpeTrainer trainer;
    for (auto& [c, id] : ids) id = trainer.add_token(utf8::encode(std::u32string(1, c)), false);
    for (const auto& [word, count] : words) {
      std::vector<std::int32_t> symbols;
      for (const char32_t c : word) symbols.push_back(ids[c]);
      trainer.add_word(symbols, count);
    }
    BpeTrainer::Limits limits;
    const Json& options = entry.at("options");
    limits.vocabulary_size = entry.at("vocab_size").get<std::size_t>();
    limits.min_frequency = options.at("min_frequency").get<std::int64_t>();
    limits.max_token_length = options.value("max_token_length", std::size_t{0});
    Json merges = Json::array();
    for (const BpeMerge& merge : trainer.learn(limits))
      merges.push_back({trainer.tokens()[static_cast<std::size_t>(merge.left)],
                        trainer.tokens()[static_cast<std::size_t>(merge.right)]});
    EXPECT_EQ(merges, entry.at("merges"));
    std::map<std::string, std::int32_t> vocabulary;
    for (std::size_t id = 0; id < trainer.tokens().size(); ++id)
      vocabulary[trainer.tokens()[id]] = static_cast<std::int32_t>(id);
    EXPECT_EQ(vocabulary, (entry.at("vocab").get<std::map<std::string, std::int32_t>>()));
  }
}

// Train on words of few letters: several pairs form the same token, pairs reappear after merges, and some
// vocabulary sizes cannot be reached.
TEST(BpeTrainer, EqualsTheReferenceWherePairsComeBack) {
  std::size_t seen = 0;
  for (const Json& entry : read_json(testing::golden("tokenizer-training/trained.json").string())) {
    if (entry.at("type") != "byte-bpe") continue;
    ++seen;
    BpeTrainingOptions options;
    options.vocabulary_size = entry.at("vocab_size").get<std::size_t>();
    options.min_frequency = entry.at("min_frequency").get<std::int64_t>();
    options.words = WordRule::gpt2;
    options.normalize = false;
    options.special_tokens = {"<|endoftext|>"};
    const auto lines = entry.at("lines").get<std::vector<std::string>>();
    EXPECT_EQ(train_bpe(lines_of(lines), options)->to_json().at("model").at("merges"), entry.at("merges"))
        << seen;
  }
  EXPECT_EQ(seen, 24u);
}

const std::vector<std::string> kCorpus = {
    "The exam was a piece of cake.",
    "A piece of cake lay on the plate, the cake was sweet.",
    "परीक्षा बहुत सरल काम थी।",
    "केक का टुकड़ा प्लेट पर था। सरल काम, सरल काम।",
    "don't you think it's 1234 or 99.5%?",
    "Ein Mädchen geht über die Straße; naïve café",
    "日本語の文 と emoji 🙂🙃 here",
    "<s> not a token </s> <0x41> ▁",
};

std::vector<std::shared_ptr<const Tokenizer>> trained(ThreadPool* pool) {
  std::vector<std::shared_ptr<const Tokenizer>> all;
  for (const Alphabet alphabet : {Alphabet::bytes, Alphabet::characters})
    for (const WordRule words : {WordRule::words, WordRule::gpt2})
      for (const bool prefix : {false, true}) {
        BpeTrainingOptions options;
        options.vocabulary_size = 460;
        options.alphabet = alphabet;
        options.words = words;
        options.prefix_space = prefix;
        options.end_token = prefix;
        options.characters.max_characters = alphabet == Alphabet::characters ? 60 : 0;
        all.push_back(train_bpe(lines_of(kCorpus), options, pool));
      }
  all.push_back(train_characters(lines_of(kCorpus), {}, pool));
  return all;
}

// Draw a code point: in most cases one that often causes errors in tokenizers, else any.
char32_t draw(RandomStream& random) {
  using namespace std::string_literals;
  static const std::u32string kOdd =
      U" \u00A0\u2003\u3000\t\n\r\u0085\u2028\u200B\u200D\u0000'\u0301\u0323\u0915\u094D\u0937\u093F\u093C"
      U"\u0958\u2581<>/s\u00E9e\uAC00\u1100\u1161\U0001F642\U0001F469\uFE0F\uFFFD\uFEFFaAzZ019.,\u0130\u212B"s;
  const std::uint32_t choice = random.next();
  if (choice % 4 != 0) return kOdd[choice / 4 % kOdd.size()];
  const char32_t any = random.next() % 0x110000;
  return any >= 0xD800 && any <= 0xDFFF ? U'x' : any;
}

TEST(Trained, DecodingGivesTheTextInNormalFormC) {
  const auto tokenizers = trained(nullptr);
  std::vector<std::string> texts = {"",
                                    " ",
                                    "  two  spaces  ",
                                    "\n\n",
                                    " leading",
                                    "trailing ",
                                    "<s>a</s><pad>",
                                    "<0x41>",
                                    "\u2581x \u2581"};
  texts.insert(texts.end(), kCorpus.begin(), kCorpus.end());
  RandomStream random({.seed = 7});
  for (int i = 0; i < 400; ++i) {
    std::u32string text;
    for (std::uint32_t size = random.next() % 30; size > 0; --size) text.push_back(draw(random));
    texts.push_back(utf8::encode(text));
  }
  for (const auto& tokenizer : tokenizers)
    for (const std::string& text : texts) {
      const auto ids = tokenizer->encode_ids(text, {.match_special = false});
      ASSERT_EQ(tokenizer->decode(ids), utf8::nfc(text)) << tokenizer->description();
      ASSERT_EQ(tokenizer->encode(text, {.match_special = false}).ids, ids);
    }
}

TEST(Trained, SpecialTokensComeFirst) {
  for (const auto& tokenizer : trained(nullptr)) {
    for (std::int32_t id = 0; id < 4; ++id) {
      EXPECT_EQ(tokenizer->id_of(kSpecialTokens[static_cast<std::size_t>(id)]), id);
      EXPECT_TRUE(tokenizer->is_special(id));
    }
    EXPECT_EQ(tokenizer->encode_ids("<s>").front(), 2);
  }
}

TEST(Trained, EndTokenFollowsTheText) {
  BpeTrainingOptions options;
  options.vocabulary_size = 300;
  options.end_token = true;
  const auto tokenizer = train_bpe(lines_of(kCorpus), options);
  EXPECT_EQ(tokenizer->encode_ids("a").back(), 3);
  EXPECT_EQ(tokenizer->encode_ids("", {}), std::vector<std::int32_t>{3});
  EXPECT_NE(tokenizer->encode_ids("a", {.add_special = false}).back(), 3);
}

TEST(Trained, ThreadsChangeNothing) {
  ThreadPool three(3);
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.insert(lines.end(), kCorpus.begin(), kCorpus.end());
  BpeTrainingOptions options;
  options.vocabulary_size = 420;
  EXPECT_EQ(train_bpe(lines_of(lines), options, &three)->to_json(),
            train_bpe(lines_of(lines), options)->to_json());
}

TEST(Trained, MergesStayInsideWordsAndKeepIndicWordsWhole) {
  std::vector<std::string> lines(20, "परीक्षा सरल थी");
  BpeTrainingOptions options;
  options.vocabulary_size = 1000;
  const auto tokenizer = train_bpe(lines_of(lines), options);
  EXPECT_EQ(tokenizer->encode_ids(lines[0]).size(), 3u);
}

TEST(Trained, TooSmallAVocabularyIsRefused) {
  BpeTrainingOptions options;
  options.vocabulary_size = 100;
  EXPECT_THROW(train_bpe(lines_of(kCorpus), options), Error);
}

}  // namespace
}  // namespace regard::text
