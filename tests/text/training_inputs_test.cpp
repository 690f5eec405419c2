// Lines and word counts for training a tokenizer, its progress, the choice of word rules, and the
// tokenizer_config.json that is saved with a tokenizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "regard/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "text/tokenizer_config.h"
#include "text/train_tokenizer.h"
#include "text/word_counts.h"

namespace regard::text {
namespace {

using Lines = std::vector<std::string>;

Lines all_of(const LineSource& source) {
  Lines all;
  for (std::string line; source(line);) all.push_back(line);
  return all;
}

TEST(LinesOfFiles, SkipOrRefuseLinesThatAreNotUtf8) {
  const testing::TemporaryFolder home;
  const auto first = home / "first.txt", second = home / "second.txt", empty = home / "empty.txt";
  write_file_atomically(first, "a\n\nb");
  write_file_atomically(second, "c\n\xFF\nd\n\xC3\n");
  write_file_atomically(empty, "");
  EXPECT_EQ(all_of(lines_of_files({first, empty, first}, false)), (Lines{"a", "", "b", "a", "", "b"}));
  EXPECT_EQ(all_of(lines_of_files({first}, true)), (Lines{"a\n", "\n", "b\n"}));
  SkippedLines skipped;
  EXPECT_EQ(all_of(lines_of_files({first, second}, false, &skipped)), (Lines{"a", "", "b", "c", "d"}));
  EXPECT_EQ(skipped.count, 2);
  EXPECT_EQ(skipped.file, second.string());
  EXPECT_EQ(skipped.line, 2);
  EXPECT_REGARD_ERROR(all_of(lines_of_files({first, second}, false)), ErrorKind::bad_file,
                      second.string() + ":2");
  EXPECT_TRUE(all_of(lines_of_files({}, true)).empty());
}

TEST(CountWords, OfEachNumberOfLinesAndThreads) {
  ThreadPool three(3);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256},
                                  std::size_t{257}, std::size_t{1000}}) {
    Lines lines;
    for (std::size_t i = 0; i < count; ++i) lines.push_back(i % 3 == 0 ? "b" : i % 3 == 1 ? "a" : "\u00E9");
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &three}) {
      const auto counts = count_words(lines_of(lines), nullptr, nullptr, pool);
      std::vector<std::pair<std::string, std::int64_t>> found, expected;
      for (const WordCount& word : counts) found.emplace_back(word.word, word.count);
      for (const auto& [word, place] : {std::pair("a", 1), {"b", 0}, {"\u00E9", 2}})
        if (const auto rest = static_cast<std::int64_t>(count) - place; rest > 0)
          expected.emplace_back(word, (rest + 2) / 3);
      EXPECT_EQ(found, expected) << count;
    }
  }
}

const Lines kCats{"the cat and the hat", "a cat sat on the mat", "the rat and the bat sat"};

TEST(TrainTokenizer, ReportsItsProgress) {
  Lines lines;
  for (int i = 0; i < 300; ++i) lines.push_back("word" + std::to_string(i) + " word" + std::to_string(i));
  for (const std::string type : {"byte-bpe", "bpe", "wordpiece", "unigram"}) {
    std::vector<std::pair<double, std::string>> calls;
    TokenizerTraining options;
    options.type = type;
    options.vocabulary_size = 500;
    options.progress = [&](double fraction, const std::string& what) { calls.emplace_back(fraction, what); };
    train_tokenizer(lines_of(lines), options);
    ASSERT_FALSE(calls.empty()) << type;
    for (const auto& [fraction, what] : calls) {
      if (type == "unigram") {
        EXPECT_EQ(what, "pieces");
        continue;
      }
      const std::int64_t tokens = std::llround(fraction * 500);
      EXPECT_NEAR(fraction * 500, static_cast<double>(tokens), 1e-9) << type;
      EXPECT_EQ(what, std::to_string(tokens) + " tokens") << type;
      EXPECT_LE(tokens, 500) << type;
    }
    EXPECT_TRUE(std::is_sorted(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    })) << type;
  }
}

TEST(TrainTokenizer, MistakesNameTheChoices) {
  TokenizerTraining options;
  const auto train = [&] { return train_tokenizer(lines_of(kCats), options); };
  options.type = "sentence";
  EXPECT_REGARD_ERROR(train(), ErrorKind::usage,
                      "unknown tokenizer type (expected byte-bpe, bpe, wordpiece, unigram, word, char, found "
                      "sentence)");
  const auto expect_rules = [&](const std::string& type, const std::string& wrong, const std::string& rules) {
    options.type = type;
    options.words = wrong;
    EXPECT_REGARD_ERROR(train(), ErrorKind::usage,
                        "this split rule cannot be used with the tokenizer type " + type + " (expected " +
                            rules + ", found " + wrong + ")");
  };
  expect_rules("byte-bpe", "bert", "words, gpt2");
  expect_rules("bpe", "spaces", "words, gpt2");
  expect_rules("unigram", "signs", "words, gpt2, metaspace");
  expect_rules("wordpiece", "metaspace", "bert, signs, spaces");
  expect_rules("word", "words", "signs, spaces, bert");
}

TEST(TrainTokenizer, TheUnknownTokenIsTheOneOfTheSpecialTokens) {
  TokenizerTraining options;
  options.type = "word";
  options.vocabulary_size = 30;
  const auto unknown = [&] {
    return train_tokenizer(lines_of(kCats), options)->to_json().at("model").at("unk_token");
  };
  EXPECT_EQ(unknown(), "<unk>");
  options.special_tokens = {"[PAD]", "[UNK]"};
  EXPECT_EQ(unknown(), "[UNK]");
  options.unknown = "[PAD]";
  EXPECT_EQ(unknown(), "[PAD]");
}

std::shared_ptr<const Tokenizer> with_roles() {
  return Tokenizer::from_json(Json::parse(R"({"added_tokens": [{"id": 0, "content": "<s>", "special": true},
                                       {"id": 1, "content": "[PAD]", "special": true},
                                       {"id": 2, "content": "<mask>", "special": false}],
                      "model": {"type": "WordLevel", "vocab": {"</s>": 3, "?": 4}, "unk_token": "?"}})"),
                              "t.json");
}

TEST(FastTokenizerConfig, HoldsWhatTransformersNeeds) {
  const auto tokenizer = with_roles();
  const TokenRoles roles = spelled_roles(*tokenizer);
  EXPECT_EQ(roles, (TokenRoles{{"bos_token", "<s>"}, {"pad_token", "[PAD]"}}));
  EXPECT_EQ(fast_tokenizer_config(*tokenizer, {}, roles),
            Json::parse(R"({"tokenizer_class": "PreTrainedTokenizerFast",
                            "model_input_names": ["input_ids", "attention_mask"], "padding_side": "right",
                            "split_special_tokens": true, "clean_up_tokenization_spaces": false,
                            "bos_token": "<s>", "pad_token": "[PAD]"})"));
  const TokenizerUse use{.max_length = 12, .token_types = true, .pads_left = true};
  EXPECT_EQ(fast_tokenizer_config(*tokenizer, use, {{"mask_token", "<mask>"}, {"eos_token", "<none>"}}),
            Json::parse(R"({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 12,
                            "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
                            "padding_side": "left", "split_special_tokens": true,
                            "clean_up_tokenization_spaces": false})"));
}

TEST(TokenizerConfig, WrongTypesAreRefused) {
  const auto error_of = [](const std::string& text) {
    try {
      tokenizer_config_of({{"d/tokenizer_config.json", text}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("[]"), "d/tokenizer_config.json: expected a JSON object (found an array)");
  EXPECT_EQ(error_of(R"({"chat_template": 5})"),
            "d/tokenizer_config.json: expected chat_template to be a string or a list of named templates "
            "(found the number 5)");
  EXPECT_EQ(error_of(R"({"chat_template": [{"name": "a"}]})"),
            "d/tokenizer_config.json: the key \"template\" is missing");
  EXPECT_EQ(error_of(R"({"chat_template": null, "additional_special_tokens": {}, "bos_token": 5})"), "");
  const TokenizerConfig config = tokenizer_config_of(
      {{"d/tokenizer_config.json", R"({"additional_special_tokens": ["<c>", 5]})"},
       {"d/special_tokens_map.json",
        R"({"additional_special_tokens": ["<a>", "<b>"], "eos_token": {"content": "<e>"}})"},
       {"d/chat_template.jinja", "T"}});
  EXPECT_EQ(config.additional_special_tokens, (Lines{"<c>"}));
  EXPECT_EQ(config.special_tokens, (std::map<std::string, std::string>{{"eos_token", "<e>"}}));
  EXPECT_EQ(config.chat_template, "T");
  EXPECT_EQ(config.template_file, "d/chat_template.jinja");
}

}  // namespace
}  // namespace regard::text
