// Tokenizer configuration of a folder: chat templates, special tokens, and the files of Marian.
#include "text/tokenizer_config.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

TEST(TokenizerConfig, TemplateAndSpecialTokens) {
  const testing::TemporaryFolder folder;
  const Json config = {{"chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}"},
                       {"bos_token", {{"content", "<s>"}, {"lstrip", false}}},
                       {"eos_token", "</s>"},
                       {"unk_token", nullptr},
                       {"pad_token", "<not there>"},
                       {"additional_special_tokens", {"<a>", {{"content", "<b>"}}}}};
  write_file_atomically(folder.path() / "tokenizer_config.json", config.dump());
  const TokenizerConfig read = read_tokenizer_config(folder.path());
  EXPECT_EQ(read.chat_template, config.at("chat_template").get<std::string>());
  EXPECT_EQ(read.special_tokens,
            (std::map<std::string, std::string>{
                {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<not there>"}}));
  EXPECT_EQ(read.additional_special_tokens, (std::vector<std::string>{"<a>", "<b>"}));
  const auto tokenizer = Tokenizer::load(testing::golden("tokenizer-json") / "bpe-roberta");
  EXPECT_EQ(read.special_ids(*tokenizer),
            (std::map<std::string, std::int32_t>{{"bos_token", *tokenizer->id_of("<s>")},
                                                 {"eos_token", *tokenizer->id_of("</s>")}}));
}

TEST(TokenizerConfig, SeveralTemplatesAndAFileOfItsOwn) {
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(read_tokenizer_config(folder.path()).chat_template);
  const Json named = {{{"name", "default"}, {"template", "D"}}, {{"name", "tool_use"}, {"template", "T"}}};
  write_file_atomically(folder.path() / "tokenizer_config.json", Json{{"chat_template", named}}.dump());
  EXPECT_EQ(read_tokenizer_config(folder.path()).chat_template, "D");
  EXPECT_EQ(read_tokenizer_config(folder.path()).named_templates.at("tool_use"), "T");
  write_file_atomically(folder.path() / "chat_template.jinja", "J");
  EXPECT_EQ(read_tokenizer_config(folder.path()).chat_template, "J");
  write_file_atomically(folder.path() / "tokenizer_config.json", R"({"chat_template": 7})");
  EXPECT_THROW(read_tokenizer_config(folder.path()), Error);
}

// Write a folder like Marian's from a sentencepiece model: the vocabulary maps the pieces to other ids.
void make_marian(const std::filesystem::path& folder, const std::filesystem::path& model) {
  const std::string bytes = read_file(model);
  write_file_atomically(folder / "source.spm", bytes);
  write_file_atomically(folder / "target.spm", bytes);
  Json vocabulary{{"</s>", 0}, {"<unk>", 1}, {">>deu<<", 2}};
  const SentencePieceFile file = parse_sentencepiece(bytes, "sp.model");
  std::int32_t id = 3;
  for (const SentencePiece& piece : file.pieces)
    if (piece.type == PieceType::normal) vocabulary[piece.piece] = id++;
  vocabulary["<pad>"] = id;
  write_file_atomically(folder / "vocab.json", vocabulary.dump());
}

TEST(Marian, FolderSavedAndOpenedAgain) {
  for (const char* name : {"sp-bpe-identity", "sp-unigram-nmtnfkc-bytefallback"}) {
    const testing::TemporaryFolder folder;
    const auto model = testing::golden("sentencepiece") / name / "sp.model";
    make_marian(folder.path(), model);
    const auto marian = Tokenizer::load(folder.path());
    const auto plain = Tokenizer::load(model);
    const std::string text = "The man beats the boy.";
    const std::vector<std::int32_t> ids = marian->encode_ids(">>deu<< " + text);
    const Encoding pieces = plain->encode(text);
    ASSERT_EQ(ids.size(), pieces.size() + 2) << name;
    EXPECT_EQ(ids.front(), 2);
    EXPECT_EQ(ids.back(), 0);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      EXPECT_EQ(ids[i + 1], marian->id_of(pieces.tokens[i]).value_or(1)) << name << ": " << pieces.tokens[i];
    EXPECT_EQ(marian->encode(">>deu<< " + text).ids, ids);
    marian->save(folder.path() / "tokenizer.json");
    const auto again = Tokenizer::load(folder.path() / "tokenizer.json");
    EXPECT_EQ(again->encode_ids(">>deu<< " + text), ids);
    EXPECT_EQ(again->decode(ids), marian->decode(ids));
    EXPECT_EQ(again->to_json(), marian->to_json());
  }
}

}  // namespace
}  // namespace regard::text
