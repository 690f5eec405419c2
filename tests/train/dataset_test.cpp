// Reading of training data: which texts are kept, held out or dropped, and which texts tokenizers are trained
// on.
#include <gtest/gtest.h>

#include <set>

#include "dataset_case.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "train/encode.h"

namespace regard::train {
namespace {

TEST_F(DatasetTest, PairsEndWithTheEndTokenAndKeepTheirOrder) {
  write_file(folder_.path(), "train.en", "one\ntwo\nthree\n");
  write_file(folder_.path(), "train.de", "eins\nzwei\ndrei\n");
  write_file(folder_.path(), "valid.en", "two one\nthree\n");
  write_file(folder_.path(), "valid.de", "zwei eins\ndrei\n");
  const PairData data = load(translation());
  ASSERT_EQ(data.train.size(), 3u);
  ASSERT_EQ(data.valid.size(), 2u);
  EXPECT_TRUE(tokenizers_.joint());
  EXPECT_EQ(of(data.train.source[1]), with_end(*tokenizers_.source, "two"));
  EXPECT_EQ(of(data.train.target[2]), with_end(*tokenizers_.target, "drei"));
  EXPECT_EQ(of(data.valid.source[0]), with_end(*tokenizers_.source, "two one"));
  EXPECT_EQ(of(data.valid.target[0]), with_end(*tokenizers_.target, "zwei eins"));
  EXPECT_EQ(data.valid_sources, (std::vector<std::string>{"two one", "three"}));
  EXPECT_EQ(data.valid_targets, (std::vector<std::string>{"zwei eins", "drei"}));
  ASSERT_EQ(data.notes.size(), 3u);
  EXPECT_NE(data.notes[2].find("duplicates: 1 of 2 "), std::string::npos) << data.notes[2];
  EXPECT_NE(data.notes[0].find("training: 3 pairs, "), std::string::npos) << data.notes[0];
  EXPECT_NE(data.notes[1].find("validation: 2 pairs, "), std::string::npos) << data.notes[1];

  // A change of text on either side changes the fingerprint.
  std::set<std::uint64_t> fingerprints{data.fingerprint, load(translation()).fingerprint};
  EXPECT_EQ(fingerprints.size(), 1u);
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"valid.de", "zwei eins\nzwei\n"},
                                                        {"valid.en", "two one\ntwo\n"},
                                                        {"train.de", "eins\nzwei\neins\n"},
                                                        {"train.en", "one\ntwo\none\n"}}) {
    write_file(folder_.path(), name, text);
    fingerprints.insert(load_pairs(translation(), tokenizers_, pool_).fingerprint);
  }
  EXPECT_EQ(fingerprints.size(), 5u);
  // Exchanging the sides also changes the fingerprint.
  write_file(folder_.path(), "train.en", "eins\nzwei\ndrei\n");
  write_file(folder_.path(), "train.de", "one\ntwo\nthree\n");
  write_file(folder_.path(), "valid.en", "zwei eins\ndrei\n");
  write_file(folder_.path(), "valid.de", "two one\nthree\n");
  fingerprints.insert(load_pairs(translation(), tokenizers_, pool_).fingerprint);
  EXPECT_EQ(fingerprints.size(), 6u);
}

TEST_F(DatasetTest, PairsOfMaxLengthStayAndLongerOnesAreCounted) {
  write_file(folder_.path(), "train.en", "abcde\nabcdef\nabc\nabcd\n");
  write_file(folder_.path(), "train.de", "ab\nab\nabcdef\nabcde\n");
  write_file(folder_.path(), "valid.en", "abcdefgh\nab\n");
  write_file(folder_.path(), "valid.de", "a\nab\n");
  RunConfig config = translation();
  tokenizers_ = obtain(config);
  config.data.max_length = static_cast<std::int64_t>(with_end(*tokenizers_.source, "abcde").size());
  const PairData data = load_pairs(config, tokenizers_, pool_);
  EXPECT_EQ(data.train.size(), 2u);
  EXPECT_NE(data.notes[0].find("; 2 longer than"), std::string::npos) << data.notes[0];
  EXPECT_NE(data.notes[1].find("; 1 longer than"), std::string::npos) << data.notes[1];
  EXPECT_EQ(data.valid_sources, (std::vector<std::string>{"ab"}));
  config.data.max_length = 1;
  EXPECT_REGARD_ERROR(load_pairs(config, tokenizers_, pool_), ErrorKind::bad_file, "to train on");
  write_file(folder_.path(), "valid.en", "abcdefgh\n");
  write_file(folder_.path(), "valid.de", "a\n");
  config.data.max_length = 6;
  EXPECT_REGARD_ERROR(load_pairs(config, tokenizers_, pool_), ErrorKind::bad_file, "to validate on");
}

TEST_F(DatasetTest, AFractionOfThePairsIsHeldOutByTheirText) {
  write_numbered_pairs(2000);
  RunConfig config = translation();
  config.data.valid.clear();
  config.data.valid_fraction = 0.3;
  const PairData data = load(config);
  EXPECT_EQ(data.train.size() + data.valid.size(), 2000u);
  EXPECT_NEAR(static_cast<double>(data.valid.size()), 600.0, 60.0);
  // The same pairs are held out regardless of what else is in the file. No pair is held out if there is a
  // validation file.
  write_numbered_pairs(1000);
  const PairData half = load_pairs(config, tokenizers_, pool_);
  ASSERT_GT(half.valid_sources.size(), 200u);
  for (std::size_t i = 0; i < half.valid_sources.size(); ++i)
    EXPECT_EQ(half.valid_sources[i], data.valid_sources[i]);
  write_file(folder_.path(), "valid.en", "word\n");
  write_file(folder_.path(), "valid.de", "wort\n");
  config.data.valid = translation().data.valid;
  EXPECT_EQ(load_pairs(config, tokenizers_, pool_).train.size(), 1000u);
}

TEST_F(DatasetTest, TwoVocabulariesSeeOneSideEach) {
  write_file(folder_.path(), "train.en", "abc\nbca\n");
  write_file(folder_.path(), "train.de", "xyz\nyzx\n");
  write_file(folder_.path(), "valid.en", "a\n");
  write_file(folder_.path(), "valid.de", "x\n");
  RunConfig config = translation();
  const Tokenizers joint = obtain(config);
  EXPECT_TRUE(joint.joint());
  EXPECT_TRUE(joint.source->id_of("a") && joint.source->id_of("x"));
  EXPECT_EQ(joint.files().size(), 1u);
  config.tokenizer.joint = false;
  const Tokenizers two = obtain(config);
  EXPECT_FALSE(two.joint());
  EXPECT_TRUE(two.source->id_of("a"));
  EXPECT_FALSE(two.source->id_of("x"));
  EXPECT_TRUE(two.target->id_of("x"));
  EXPECT_FALSE(two.target->id_of("a"));
  // Save and reload the tokenizers.
  ASSERT_EQ(two.files().size(), 2u);
  for (const auto& [name, content] : two.files()) write_file(folder_.path(), "saved/" + name, content);
  const Tokenizers again = Tokenizers::load(folder_ / "saved");
  EXPECT_FALSE(again.joint());
  EXPECT_EQ(again.source->encode_ids("cab"), two.source->encode_ids("cab"));
  EXPECT_EQ(again.target->encode_ids("zy"), two.target->encode_ids("zy"));
}

TEST_F(DatasetTest, TextIsCutAtACharacterAndLearntFromItsFirstPart) {
  // 16 characters, of which 12 are for training; "ü" has two bytes.
  const StreamData data =
      load_text(language_model("aüaüaüaüaüaü"
                               "zzzz"));
  EXPECT_EQ(of(data.train.ids()), tokenizers_.target->encode_ids("aüaüaüaüaüaü", {.add_special = false}));
  EXPECT_EQ(data.train.tokens(), 12u);
  EXPECT_EQ(data.valid.tokens(), 4u);
  EXPECT_FALSE(tokenizers_.target->id_of("z")) << "it was not there to be learnt";
  ASSERT_EQ(data.notes.size(), 1u);
  EXPECT_NE(data.notes[0].find("training: 12 tokens; validation: 4 tokens"), std::string::npos)
      << data.notes[0];
  EXPECT_NE(load_text(language_model("aüaüaüaüaüaü"
                                     "zzza"))
                .fingerprint,
            data.fingerprint);
  EXPECT_REGARD_ERROR(load_text(language_model("abc")), ErrorKind::bad_file, "to validate on");
}

TEST_F(DatasetTest, RecordsAreJoinedWithTheEndToken) {
  write_file(folder_.path(), "train.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"ba\"}\n");
  write_file(folder_.path(), "valid.jsonl", "{\"text\": \"aab\"}\n{\"text\": \"b\"}\n");
  RunConfig config;
  config.task = "language-model";
  config.data.train = {(folder_ / "train.jsonl").string()};
  config.data.valid = {(folder_ / "valid.jsonl").string()};
  config.data.columns = {"text"};
  config.tokenizer.type = "char";
  const StreamData data = load_text(config);
  const std::int32_t a = *tokenizers_.target->id_of("a"), b = *tokenizers_.target->id_of("b"),
                     end = special_ids(*tokenizers_.target).end;
  const Ids train = end < 0 ? Ids{a, b, b, a} : Ids{a, b, end, b, a, end};
  const Ids valid = end < 0 ? Ids{a, a, b, b} : Ids{a, a, b, end, b, end};
  EXPECT_EQ(of(data.train.ids()), train);
  EXPECT_EQ(of(data.valid.ids()), valid);
}

TEST_F(DatasetTest, ALongTextGivesTheIdsOfTheWhole) {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000);
    text += i % 3 == 0 ? "\n\n" : i % 3 == 1 ? "\n  " : "\n";
  }
  RunConfig config = language_model(text.substr(0, 20'000));
  config.tokenizer.type = "byte-bpe";
  config.tokenizer.vocab_size = 400;
  const Tokenizers trained = obtain(config);
  EXPECT_EQ(encode_stream(*trained.target, text, pool_),
            trained.target->encode_ids(text, {.add_special = false}));
  EXPECT_TRUE(encode_stream(*trained.target, "", pool_).empty());
}

// The tokenizers of BERT add special tokens to a text, but a stream has none, and records have only the end
// token.
TEST_F(DatasetTest, StreamsHaveNoSpecialTokensOfTheTokenizer) {
  const auto bert = text::Tokenizer::load(regard::testing::golden("hf-more/bert-nli"));
  const Ids plain = bert->encode_ids("Stone fires night", {.add_special = false});
  EXPECT_NE(bert->encode_ids("Stone fires night"), plain);
  EXPECT_EQ(encode_stream(*bert, "Stone fires night", pool_), plain);
  write_file(folder_.path(), "a.tsv", "Stone\nfires night\n");
  RunConfig config = language_model("");
  config.data.train = config.data.valid = {(folder_ / "a.tsv").string()};
  config.data.columns = {"1"};
  const Tokenizers tokenizers{bert, bert};
  const std::int32_t end = *bert->id_of("[SEP]");
  Ids expected = bert->encode_ids("Stone", {.add_special = false});
  expected.push_back(end);
  for (const std::int32_t id : bert->encode_ids("fires night", {.add_special = false}))
    expected.push_back(id);
  expected.push_back(end);
  EXPECT_EQ(of(load_streams(config, tokenizers, pool_).train.ids()), expected);
}

TEST(SpecialIds, AreFoundByTheirNames) {
  ThreadPool pool(1);
  const auto with = [](const std::vector<std::string>& names) {
    Json vocabulary = {{"a", 0}};
    for (const std::string& name : names) vocabulary[name] = vocabulary.size();
    const Json json = {{"version", "1.0"},
                       {"added_tokens", Json::array()},
                       {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "a"}}}};
    return special_ids(*text::Tokenizer::from_json(json, "test"));
  };
  const SpecialIds none = with({});
  EXPECT_EQ(none.pad, -1);
  EXPECT_EQ(none.begin, -1);
  EXPECT_EQ(none.end, -1);
  EXPECT_EQ(none.decoder_start, -1);
  const SpecialIds all = with({"<pad>", "<s>", "</s>"});
  EXPECT_EQ(all.pad, 1);
  EXPECT_EQ(all.begin, 2);
  EXPECT_EQ(all.end, 3);
  EXPECT_EQ(all.decoder_start, 2);
  EXPECT_EQ(with({"</s>", "<pad>"}).decoder_start, 2) << "padding where nothing begins a text";
  EXPECT_EQ(with({"</s>"}).decoder_start, 1);
  EXPECT_EQ(with({"[CLS]", "[SEP]"}).end, 2);
  EXPECT_EQ(with({"<|endoftext|>"}).end, 1);
}

TEST_F(DatasetTest, RecordsEndWithTheEndTokenOfTheFolder) {
  write_file(folder_.path(), "a.tsv", "ab\nb\n");
  RunConfig config = language_model("abz");
  config.data.train = {(folder_ / "a.tsv").string()};
  config.data.valid = config.data.train;
  config.data.columns = {"1"};
  config.output.folder = (folder_ / "run").string();
  config.data.cache = "always";
  Tokenizers tokenizers = obtain(config);
  const auto id = [&](const char* token) { return *tokenizers.target->id_of(token); };
  const Ids usual{id("a"), id("b"), id("</s>"), id("b"), id("</s>")};
  EXPECT_EQ(of(load_streams(config, tokenizers, pool_).train.ids()), usual);
  tokenizers.settings = {{"tokenizer_config.json", R"({"eos_token": "<pad>"})"}};
  const Ids named{id("a"), id("b"), id("<pad>"), id("b"), id("<pad>")};
  EXPECT_EQ(of(load_streams(config, tokenizers, pool_).train.ids()), named) << "not the ids of the cache";
  tokenizers.settings = {{"tokenizer_config.json", R"({"eos_token": "<|none|>"})"}};
  EXPECT_EQ(of(load_streams(config, tokenizers, pool_).train.ids()), usual);
}

}  // namespace
}  // namespace regard::train
