// Encoded corpora of a run: caches, several corpora of different forms, standard input, dry runs.
#include <gtest/gtest.h>

#include <filesystem>

#include "dataset_case.h"
#include "support/throws.h"
#include "train/corpora_tokens.h"
#include "train/encode.h"
#include "train/run.h"

namespace regard::train {
namespace {

class EncodedCorporaTest : public DatasetTest {};

TEST_F(EncodedCorporaTest, PiecesOfATextGiveTheIdsOfTheWhole) {
  std::string text;
  for (int i = 0; text.size() < (std::size_t{40} << 20); ++i)
    text += "word " + std::to_string(i) + " \u00E9t\u00E9\n";
  RunConfig config = language_model(text.substr(0, 20'000));
  config.tokenizer.type = "byte-bpe";
  config.tokenizer.vocab_size = 400;
  const Tokenizers trained = obtain(config);
  Ids ids;
  int calls = 0;
  StreamEncoder encoder(*trained.target, pool_, [&](std::span<const std::int32_t> more) {
    ids.insert(ids.end(), more.begin(), more.end());
    ++calls;
  });
  for (std::size_t begin = 0; begin < text.size(); begin += 1'000'003)
    encoder.add(std::string_view(text).substr(begin, 1'000'003));
  encoder.finish();
  EXPECT_GE(calls, 3);
  EXPECT_TRUE(ids == encode_stream(*trained.target, text, pool_));
}

// The cache gives the same ids, texts and fingerprint as the files. A damaged cache is written again.
TEST_F(EncodedCorporaTest, PairsFromTheCacheEqualThoseFromTheFiles) {
  write_numbered_pairs(500);
  RunConfig config = translation();
  config.data.valid.clear();
  config.data.valid_fraction = 0.2;
  config.output.folder = (folder_ / "runs/one").string();
  const PairData plain = load(config);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs")) << "small files are not cached";
  config.data.cache = "always";
  const auto expect_same = [&](const char* note) {
    const PairData data = load_pairs(config, tokenizers_, pool_);
    EXPECT_EQ(data.fingerprint, plain.fingerprint);
    EXPECT_EQ(data.valid_targets, plain.valid_targets);
    EXPECT_EQ(data.notes[0], plain.notes[0]);
    EXPECT_EQ(data.notes[1], plain.notes[1]);
    EXPECT_NE(data.notes.back().find(note), std::string::npos) << data.notes.back();
    EXPECT_EQ(of(data.train.target[17]), of(plain.train.target[17]));
  };
  expect_same("written to");
  expect_same("from");
  config.output.folder = (folder_ / "runs/two").string();
  expect_same("from");
  const auto cache = token_cache_folder(config);
  const auto entries = std::filesystem::directory_iterator(cache);
  std::filesystem::resize_file(entries->path() / "1.ids", 8);
  {
    const PairData data = load_pairs(config, tokenizers_, pool_);
    EXPECT_EQ(data.fingerprint, plain.fingerprint);
    ASSERT_EQ(data.notes.size(), 4u);
    EXPECT_NE(data.notes[2].find("damaged and created again"), std::string::npos) << data.notes[2];
  }
  expect_same("from");
  config.data.max_length = 100;
  expect_same("written to");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cache), {}), 2) << "one for each key";
}

// The larger of two vocabularies limits the ids of a cache.
TEST_F(EncodedCorporaTest, TwoVocabulariesOfDifferentSizesAreCached) {
  write_file(folder_.path(), "valid.en", "a\n");
  write_file(folder_.path(), "valid.de", "z\n");
  RunConfig config = translation();
  config.tokenizer.joint = false;
  config.output.folder = (folder_ / "run").string();
  for (const bool larger_source : {true, false}) {
    write_file(folder_.path(), larger_source ? "train.en" : "train.de", "abcdefghijklm\nmaz\n");
    write_file(folder_.path(), larger_source ? "train.de" : "train.en", "az\nza\n");
    config.data.cache = "never";
    const PairData plain = load(config);
    ASSERT_EQ(tokenizers_.source->vocabulary_size() > tokenizers_.target->vocabulary_size(), larger_source);
    config.data.cache = "always";
    for (const char* note : {"written to", "read from"}) {
      const PairData data = load_pairs(config, tokenizers_, pool_);
      EXPECT_EQ(data.fingerprint, plain.fingerprint);
      EXPECT_NE(data.notes.back().find(note), std::string::npos) << data.notes.back();
    }
  }
}

TEST_F(EncodedCorporaTest, AFileThatChangesIsNotCached) {
  write_numbered_pairs(500);
  RunConfig config = translation();
  config.data.valid.clear();
  config.data.valid_fraction = 0.2;
  config.output.folder = (folder_ / "runs/one").string();
  load(config);
  config.data.cache = "always";
  EncodedCorpora corpora(config, tokenizers_, 2);
  ASSERT_FALSE(corpora.found());
  write_numbered_pairs(501);
  EXPECT_REGARD_ERROR(corpora.finish({}), ErrorKind::bad_file, "has changed");
  EXPECT_FALSE(EncodedCorpora(config, tokenizers_, 2).found());
}

TEST_F(EncodedCorporaTest, TextFromTheCacheEqualsThatOfTheFile) {
  RunConfig config = language_model("aüaüaüaüaüaüzzzz");
  config.output.folder = (folder_ / "run").string();
  const StreamData plain = load_text(config);
  config.data.cache = "always";
  for (int i = 0; i < 2; ++i) {
    const StreamData data = load_streams(config, tokenizers_, pool_);
    EXPECT_EQ(of(data.train.ids()), of(plain.train.ids()));
    EXPECT_EQ(of(data.valid.ids()), of(plain.valid.ids()));
    EXPECT_EQ(data.fingerprint, plain.fingerprint);
    EXPECT_EQ(data.notes[0], plain.notes[0]);
  }
}

TEST_F(EncodedCorporaTest, SeveralCorporaHaveTheirOwnEndsAndTheValidationItsOwnForm) {
  write_file(folder_.path(), "a.tsv", "one\teins\ntwo\tzwei\n");
  write_file(folder_.path(), "b.tsv.gz", "three\tdrei\n");  // not compressed in spite of its name
  write_file(folder_.path(), "v.jsonl", "{\"en\": \"four\", \"de\": \"vier\"}\n");
  RunConfig config = translation();
  config.data.train = {(folder_ / "a.tsv").string(), (folder_ / "b.tsv.gz").string()};
  config.data.columns = {"1", "2"};
  config.data.valid = {(folder_ / "v.jsonl").string()};
  config.data.valid_columns = {"en", "de"};
  config.data.weights = {1.0, 2.0};
  config.training.max_steps = 1;
  config.output.folder = (folder_ / "run").string();
  check_run(config);
  const PairData data = load(config);
  EXPECT_EQ(data.ends, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(data.valid_targets, (std::vector<std::string>{"vier"}));
  config.data.weights = {1.0};
  EXPECT_REGARD_ERROR(check_run(config), ErrorKind::usage, "the length of 'data.weights' differs");
  config.data.weights = {0.0, 0.0};
  EXPECT_REGARD_ERROR(check_run(config), ErrorKind::usage, "excludes all training data");
}

TEST_F(EncodedCorporaTest, RecordsInBothPartsAreReported) {
  write_file(folder_.path(), "train.en", "one\ntwo\none\n");
  write_file(folder_.path(), "train.de", "eins\nzwei\neins\n");
  write_file(folder_.path(), "valid.en", "two\none\n");
  write_file(folder_.path(), "valid.de", "deux\neins\n");
  const PairData data = load(translation());
  ASSERT_EQ(data.notes.size(), 3u);
  EXPECT_NE(data.notes[2].find("1 of 2 validation records are also in the training data"), std::string::npos)
      << data.notes[2];
  EXPECT_NE(data.notes[2].find("valid.en:2 and "), std::string::npos) << data.notes[2];
}

TEST_F(EncodedCorporaTest, ADryRunShowsExamplesWithTheirLabels) {
  write_file(folder_.path(), "train.en", "ab\nb\na\n");
  write_file(folder_.path(), "train.de", "cd\nd\nc\n");
  write_file(folder_.path(), "valid.en", "a\n");
  write_file(folder_.path(), "valid.de", "c\n");
  RunConfig config = translation();
  config.model.transformer.hidden_size = 8;
  config.model.transformer.heads = 2;
  config.training.max_steps = 1;
  config.output.folder = (folder_ / "run").string();
  config.data.preview = 2;
  config.data.cache = "always";
  const std::string text = dry_run(config, pool_);
  EXPECT_NE(text.find("\n  input  <s>"), std::string::npos) << text;
  std::size_t sources = 0;
  for (std::size_t at = 0; (at = text.find("\n  source ", at)) != std::string::npos; ++at) ++sources;
  EXPECT_GE(sources, 2u) << text;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "token-cache")) << "a dry run writes nothing";
}

TEST_F(EncodedCorporaTest, StandardInputIsReadOnce) {
  const std::string rows = "one\teins\ntwo\tzwei\nthree\tdrei\n";
  write_file(folder_.path(), "valid.tsv", rows);
  write_file(folder_.path(), "run.toml",
             "[data]\ntrain = [\"-\"]\nvalid = [\"valid.tsv\"]\nformat = \"tsv\"\ncolumns = [1, 2]\n"
             "[tokenizer]\nfile = \"tokenizer.json\"\n[model]\nencoder_layers = 1\ndecoder_layers = 1\n"
             "hidden_size = 8\nheads = 2\nfeed_forward_size = 8\n[training]\nmax_steps = 1\n"
             "[validation]\nmetrics = [\"loss\"]\n[output]\nfolder = \"run\"\n");
  RunConfig config = translation();
  config.data = parse_run("[data]\ntrain = [\"valid.tsv\"]\ncolumns = [1, 2]\nvalid_fraction = 0.1\n",
                          (folder_ / "run.toml").string())
                    .data;
  config.tokenizer.type = "char";
  for (const auto& [name, content] : obtain(config).files()) write_file(folder_.path(), name, content);
  const auto run = regard::testing::run_program({"train", "run.toml"}, folder_.path(), rows);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE((run.out + run.err).find("training: 3 pairs"), std::string::npos) << run.out << run.err;
  EXPECT_NE(source_words(config, pool_), "");
  config.data.train.emplace_back(kStandardInput);
  EXPECT_EQ(source_words(config, pool_), "") << "the words of one file only";
  const auto refused = regard::testing::run_program(
      {"train", "run.toml", "--set", "tokenizer.file=\"\"", "--set", "output.folder=other"}, folder_.path(),
      rows);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("requires 'tokenizer.file' or 'model.from'"), std::string::npos) << refused.err;
}

TEST_F(EncodedCorporaTest, TooManySkippedRowsAreRefused) {
  write_file(folder_.path(), "train.en", "one\n\nthree\n");
  write_file(folder_.path(), "train.de", "eins\nzwei\ndrei\n");
  write_file(folder_.path(), "valid.en", "a\n");
  write_file(folder_.path(), "valid.de", "b\n");
  RunConfig config = translation();
  config.data.max_skipped = 0.4;
  EXPECT_EQ(load(config).train.size(), 2u);
  config.data.max_skipped = 0.3;
  EXPECT_REGARD_ERROR(load(config), ErrorKind::bad_file, "train.en:2: too many rows are skipped");
}

}  // namespace
}  // namespace regard::train
