// Texts that have no tokens, because the tokenizer has neither an unknown token nor special tokens around a
// text.
#include <gtest/gtest.h>

#include "run_case.h"
#include "tiny_pictures.h"

namespace regard::train {
namespace {

class NoTokens : public RunCase {
 protected:
  // Write the data, the run file and a tokenizer whose only characters are "a" and "b".
  void write(const std::string& task, const std::string& train, const std::string& valid,
             const std::string& more) {
    regard::testing::write_file(folder.path(), "ab.json", R"({"version": "1.0", "added_tokens": [
{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
"special": true}], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
"decoder": null, "model": {"type": "BPE", "dropout": null, "unk_token": null,
"continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
"vocab": {"<s>": 0, "a": 1, "b": 2}, "merges": []}})");
    regard::testing::write_file(folder.path(), "train.tsv", train);
    regard::testing::write_file(folder.path(), "valid.tsv", valid);
    fs::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml", "task = \"" + task + R"("
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
max_length = 8
[tokenizer]
file = "ab.json"
[training]
max_steps = 2
[output]
folder = "run"
[model]
hidden_size = 8
)" + more);
  }
  void expect_refused(const std::string& message) {
    const ProgramResult result = train();
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
};

TEST_F(NoTokens, PairsOfATranslationAreSkippedAndCounted) {
  write("translation", "a b\tzzz\nb\ta\nzzz\tb a\na\tb\n", "a\tb\na\tzzz\n",
        "heads = 2\nencoder_layers = 1\ndecoder_layers = 1\n");
  const ProgramResult result = train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("; 2 without tokens skipped"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("; 1 without tokens skipped"), std::string::npos) << result.err;
  // An evaluation scores every row. Only the first one has a source and a reference with tokens.
  regard::testing::write_file(folder.path(), "test.tsv", "a b\tb\nzzz\ta\nb\tzzz\n");
  const ProgramResult all = run_program({"evaluate", "run", "test.tsv", "--json"}, folder.path());
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(Json::parse(all.out)["sentences"], 3);
  EXPECT_EQ(Json::parse(all.out)["target_tokens"], 1);
}

TEST_F(NoTokens, ATextToClassifyIsNamedWithItsLine) {
  write("classification", "a\tx\nzzz\ty\n", "a\tx\n", "family = \"mlp\"\nlayers = 1\n");
  expect_refused("train.tsv:2: the text has no tokens (found \"zzz\")");
}

TEST_F(NoTokens, ATextToEmbedIsNamed) {
  const std::string model = "family = \"bert\"\nheads = 2\nlayers = 1\n[embedding]\npooling = \"cls\"\n";
  write("embedding", "a\tb\nb\tzzz\n", "a\tb\n", model);
  expect_refused("a text of 'data.train' has no tokens (found \"zzz\")");
  write("embedding", "a\tb\n", "a\tb\nzzz\tb\n", model);
  expect_refused("a text of 'data.valid' has no tokens (found \"zzz\")");
}

TEST_F(NoTokens, CaptionsAreSkipped) {
  testing_task::write_pictures(folder.path(), "picture", 1, 2);
  write("captioning", "picture/0.pgm\ta\npicture/1.pgm\tzzz\n", "picture/0.pgm\ta\n",
        "family = \"vision-encoder-decoder\"\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1\n"
        "[images]\nsize = 12\npatch_size = 4\n");
  const ProgramResult result = train();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("read 1 record; 1 rejected"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace regard::train
