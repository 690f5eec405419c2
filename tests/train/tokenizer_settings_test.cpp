// tokenizer_config.json, special_tokens_map.json and chat templates in the checkpoints of runs.
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "models/network.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"
#include "train/tokenizers.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class TokenizerSettings : public ::testing::Test {
 protected:
  TokenizerSettings() {
    regard::testing::write_file(
        folder_.path(), "json/tokenizer.json",
        read_file(regard::testing::golden("tokenizer-json") / "wordpiece-uncased" / "tokenizer.json"));
    regard::testing::write_file(folder_.path(), "vocab/vocab.txt",
                                "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n");
  }
  static Files settings(const Tokenizers& tokenizers, const Json& config) {
    const auto files = tokenizers.settings_of(*models::make_model(config));
    return {files.begin(), files.end()};
  }
  static Json config_of(const std::string& model) {
    return read_json((regard::testing::golden("hf-tiny") / model / "config.json").string());
  }
  regard::testing::TemporaryFolder folder_;
};

TEST_F(TokenizerSettings, AreWrittenForAFolderThatHasNone) {
  const fs::path folder = folder_ / "json";
  const Files files = settings(Tokenizers::load(folder), config_of("bert"));
  ASSERT_EQ(files.size(), 1u);
  const Json json = Json::parse(files.at("tokenizer_config.json"));
  // Any other class lets transformers replace the normalizer of tokenizer.json.
  EXPECT_EQ(json.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(json.at("model_input_names"), (Json{"input_ids", "token_type_ids", "attention_mask"}));
  EXPECT_EQ(json.at("model_max_length"), config_of("bert").at("max_position_embeddings"));
  EXPECT_EQ(json.at("padding_side"), "right");
  for (const auto& [role, token] : {std::pair("pad_token", "[PAD]"),
                                    {"unk_token", "[UNK]"},
                                    {"cls_token", "[CLS]"},
                                    {"sep_token", "[SEP]"},
                                    {"mask_token", "[MASK]"}})
    EXPECT_EQ(json.value(role, ""), token);
}

TEST_F(TokenizerSettings, ModelsWithoutTokenTypesGetNone) {
  const fs::path folder = folder_ / "json";
  const Files files = settings(Tokenizers::load(folder), config_of("distilbert"));
  EXPECT_EQ(Json::parse(files.at("tokenizer_config.json")).at("model_input_names"),
            (Json{"input_ids", "attention_mask"}));
}

TEST_F(TokenizerSettings, ThoseOfTheFolderAreKept) {
  const fs::path folder = folder_ / "json";
  const Files given{
      {"tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "model_max_length": 7})"},
      {"special_tokens_map.json", R"({"pad_token": "[PAD]"})"},
      {"chat_template.jinja", "{{ messages[0].content }}\n"}};
  for (const auto& [name, content] : given) regard::testing::write_file(folder, name, content);
  EXPECT_EQ(settings(Tokenizers::load(folder), config_of("bert")), given);
}

// Without tokenizer.json, a class such as GPT2Tokenizer reads files that checkpoints do not have.
TEST_F(TokenizerSettings, TheClassOfOtherFilesIsReplaced) {
  const fs::path folder = folder_ / "vocab";
  regard::testing::write_file(
      folder, "tokenizer_config.json",
      R"({"tokenizer_class": "BertTokenizer", "vocab_file": "vocab.txt", "model_max_length": 7, "chat_template": "T"})");
  const Files files = settings(Tokenizers::load(folder), config_of("bert"));
  const Json json = Json::parse(files.at("tokenizer_config.json"));
  EXPECT_EQ(json.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_FALSE(json.contains("vocab_file"));
  EXPECT_EQ(json.at("model_max_length"), 7);
  EXPECT_EQ(json.at("chat_template"), "T");
  EXPECT_EQ(json.value("pad_token", ""), "[PAD]");
  regard::testing::write_file(folder, "tokenizer_config.json", "[]");
  EXPECT_REGARD_ERROR(Tokenizers::load(folder), ErrorKind::bad_file, "tokenizer_config.json");
}

TEST_F(TokenizerSettings, ModelsThatTransformersCannotOpenGetNone) {
  const fs::path folder = folder_ / "json";
  EXPECT_TRUE(settings(Tokenizers::load(folder), regard::testing::tiny_config("gpt").to_json()).empty());
}

}  // namespace
}  // namespace regard::train
