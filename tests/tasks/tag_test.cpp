// Labels of tokens, words and entities compared with transformers' token-classification pipeline
// (tools/make_tag_cases.py), for every family with such a head.
#include "tasks/tag.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "base/utf8.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using tasks::Aggregation;
using tasks::Tag;
using tasks::Tagger;
using tasks::TagOptions;

infer::LoadedModel opened_tagger(const std::string& name) {
  return infer::LoadedModel::open(testing::golden(name));
}

std::string described(const std::vector<Tag>& tags) {
  std::string text;
  for (const Tag& tag : tags)
    text += tag.label + " \"" + tag.word + "\" " + std::to_string(tag.begin) + "-" + std::to_string(tag.end) +
            "; ";
  return text;
}

void expect_tags(const std::vector<Tag>& tags, const Json& golden, const std::string& text) {
  ASSERT_EQ(tags.size(), golden.size()) << described(tags) << golden;
  const auto place = [&](std::size_t byte) { return utf8::count(std::string_view(text).substr(0, byte)); };
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const Json& one = golden[i];
    SCOPED_TRACE(one.dump());
    EXPECT_EQ(tags[i].label, one.value("entity", one.value("entity_group", "")));
    EXPECT_NEAR(static_cast<double>(tags[i].score), one["score"].get<double>(), 2e-5);
    EXPECT_EQ(tags[i].word, one["word"].get<std::string>());
    EXPECT_EQ(place(tags[i].begin), one["start"].get<std::size_t>());
    EXPECT_EQ(place(tags[i].end), one["end"].get<std::size_t>());
    if (one.contains("index")) {
      EXPECT_EQ(tags[i].index, one["index"].get<std::size_t>());
    }
  }
}

TEST(Tag, GoldensOfBertNerAreThoseOfThePipeline) {
  const Json golden = read_json((testing::golden("hf-more/bert-ner") / "case.json").string());
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner");
  ThreadPool pool(2);
  EXPECT_EQ(golden["pipeline"].size(), 5u);
  for (const auto& [name, results] : golden["pipeline"].items()) {
    SCOPED_TRACE(name);
    Tagger tagger(model, pool, {.aggregation = tasks::aggregation_named(name)});
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tagger::Reading readings[] = {tagger.read(golden["texts"][i].get<std::string>())};
      expect_tags(tagger.tag(readings)[0], results[i], readings[0].text);
    }
  }
}

TEST(Tag, AreThoseOfThePipelineInEveryFamily) {
  const Json golden = read_json(testing::golden("tasks/tags.json").string());
  ThreadPool pool(2);
  std::map<std::string, infer::LoadedModel> models;
  std::size_t windows = 0;
  for (const Json& one : golden["cases"]) {
    const auto name = one["model"].get<std::string>();
    SCOPED_TRACE(name + " " + one["aggregation"].dump() + " " + one.value("text", "words") + " stride " +
                 std::to_string(one.value("stride", -1)));
    if (!models.contains(name)) models.emplace(name, opened_tagger(name));
    TagOptions options{.aggregation = tasks::aggregation_named(one["aggregation"].get<std::string>())};
    if (one.contains("stride")) options.stride = one["stride"].get<std::int64_t>();
    if (one.contains("ignore")) options.ignored = one["ignore"].get<std::vector<std::string>>();
    Tagger tagger(models.at(name), pool, options);
    const Tagger::Reading readings[] = {one.contains("words")
                                            ? tagger.read_words(one["words"].get<std::vector<std::string>>())
                                            : tagger.read(one["text"].get<std::string>())};
    windows = std::max(windows, readings[0].windows.size());
    expect_tags(tagger.tag(readings)[0], one["tags"], readings[0].text);
  }
  EXPECT_EQ(models.size(), 5u);
  EXPECT_GT(windows, 10u) << "no text was long";
}

TEST(Tag, DoNotDependOnWhatElseIsInTheBatch) {
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner");
  ThreadPool pool(2);
  Tagger tagger(model, pool);
  std::vector<Tagger::Reading> readings;
  for (int i = 0; i < 40; ++i)
    readings.push_back(tagger.read("bird slowland" + std::string(static_cast<std::size_t>(i), 's')));
  readings.push_back(tagger.read(""));
  const auto together = tagger.tag(readings);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const auto alone = tagger.tag(std::span(&readings[i], 1));
    ASSERT_EQ(alone[0].size(), together[i].size());
    for (std::size_t t = 0; t < alone[0].size(); ++t) EXPECT_EQ(alone[0][t].score, together[i][t].score);
  }
  EXPECT_TRUE(together.back().empty());
}

// A word has the class of its first token. If windows overlap, the class is taken from the window with the
// most text on both sides of the word.
TEST(Tag, WordsHaveTheClassOfTheirFirstToken) {
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner");
  ThreadPool pool(1);
  const std::vector<std::string> words{"Londonth", "fires", "", "slowland", "\u200b", "a,b"};
  TagOptions options;
  options.ignored = {};
  Tagger tagger(model, pool, options);
  const Tagger::Reading readings[] = {tagger.read_words(words), tagger.read_words({})};
  const auto classes = tagger.word_classes(readings);
  ASSERT_EQ(classes[0].size(), words.size());
  EXPECT_TRUE(classes[1].empty());
  EXPECT_EQ(classes[0][2], -1) << "a word without tokens";
  const std::vector<Tag> tokens = tagger.tag(std::span(readings).first(1))[0];
  const std::string text = readings[0].text;
  for (const std::size_t word : {0u, 1u, 3u, 5u}) {
    const std::size_t begin = text.find(words[word]);
    const auto first =
        std::find_if(tokens.begin(), tokens.end(), [&](const Tag& tag) { return tag.begin == begin; });
    ASSERT_NE(first, tokens.end());
    EXPECT_EQ(tagger.labels()[static_cast<std::size_t>(classes[0][word])], first->label);
  }
}

TEST(Tag, WindowsCoverEveryWordOnce) {
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner");
  ThreadPool pool(1);
  const std::vector<std::string> words(200, "slowlands");
  for (const std::int64_t stride : {0, 5, 11}) {
    Tagger tagger(model, pool, {.window = 16, .stride = stride});
    const Tagger::Reading readings[] = {tagger.read_words(words)};
    std::int64_t tokens = 0;
    for (const Tagger::Reading::Window& window : readings[0].windows) {
      EXPECT_LE(window.input.tokens(), 16);
      tokens += std::ssize(window.input.ids);
    }
    EXPECT_EQ(readings[0].tokens(), tokens);
    EXPECT_GT(readings[0].windows.size(), 30u);
    const auto classes = tagger.word_classes(readings);
    EXPECT_EQ(classes[0].size(), words.size());
    for (const std::int32_t label : classes[0]) EXPECT_GE(label, 0);
  }
}

// By default, a window overlaps the next one by a quarter of its content.
TEST(Tag, WindowsOverlapByAQuarterByDefault) {
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner");
  ThreadPool pool(1);
  const std::vector<std::string> words(60, "slowlands");
  const Tagger own(model, pool, {.window = 18}), same(model, pool, {.window = 18, .stride = 4});
  const Tagger::Reading a = own.read_words(words), b = same.read_words(words);
  ASSERT_EQ(a.windows.size(), b.windows.size());
  std::int64_t tokens = 0;
  for (std::size_t w = 0; w < a.windows.size(); ++w) {
    EXPECT_EQ(a.windows[w].input.ids, b.windows[w].input.ids);
    tokens += a.windows[w].input.tokens();
  }
  EXPECT_EQ(a.tokens(), tokens);
  // Each window has 16 tokens and the two special ones; 12 of the 16 are new.
  ASSERT_GT(a.windows.size(), 2u);
  for (std::size_t t = 0; t < 4; ++t)
    EXPECT_EQ(a.windows[0].places[12 + t].begin, a.windows[1].places[t].begin);
}

TEST(Tag, OfOverlappingTagsTheLongestThenTheMostProbableRemains) {
  const auto tag = [](const char* label, std::size_t begin, std::size_t end, float score) {
    return Tag{label, score, "", begin, end, 0};
  };
  const auto merged = [](std::vector<Tag> tags) {
    std::string text;
    for (const Tag& one : tasks::TagAggregator::merge(std::move(tags))) text += one.label;
    return text;
  };
  EXPECT_EQ(merged({}), "");
  EXPECT_EQ(merged({tag("c", 8, 9, 0.1f), tag("a", 0, 4, 0.1f), tag("b", 4, 8, 0.1f)}), "abc") << "adjacent";
  EXPECT_EQ(merged({tag("a", 0, 4, 0.9f), tag("b", 2, 8, 0.1f), tag("c", 8, 9, 0.1f)}), "bc") << "longer";
  EXPECT_EQ(merged({tag("a", 0, 4, 0.1f), tag("b", 2, 5, 0.9f), tag("c", 4, 9, 0.1f)}), "ac") << "shorter";
  EXPECT_EQ(merged({tag("a", 0, 4, 0.1f), tag("b", 1, 5, 0.2f)}), "b") << "more probable";
  EXPECT_EQ(merged({tag("a", 0, 4, 0.2f), tag("b", 1, 5, 0.1f)}), "a") << "less probable";
  EXPECT_EQ(merged({tag("a", 0, 4, 0.2f), tag("b", 1, 5, 0.2f)}), "a") << "equal";
  EXPECT_EQ(merged({tag("a", 0, 3, 0.1f), tag("b", 2, 6, 0.1f), tag("c", 5, 8, 0.9f)}), "b")
      << "c overlaps b, which is longer";
}

TEST(Tag, WhatCannotBeTaggedIsRefused) {
  const infer::LoadedModel model = opened_tagger("hf-more/bert-ner"),
                           other = opened_tagger("hf-more/bert-nli");
  ThreadPool pool(1);
  EXPECT_REGARD_ERROR(Tagger(other, pool), ErrorKind::usage, "no token-classification head");
  EXPECT_REGARD_ERROR(Tagger(model, pool, {.window = 41}), ErrorKind::usage, "at most 40");
  EXPECT_REGARD_ERROR(Tagger(model, pool, {.window = 2}), ErrorKind::usage, "more than the 2 tokens");
  EXPECT_REGARD_ERROR(Tagger(model, pool, {.window = 10, .stride = 8}), ErrorKind::usage, "less than 8");
  EXPECT_REGARD_ERROR(Tagger(model, pool, {.labels = std::vector<std::string>{"O"}}), ErrorKind::bad_file,
                      "found 1");
  EXPECT_REGARD_ERROR(tasks::aggregation_named("mean"), ErrorKind::usage,
                      "none, simple, first, average or max");
}

}  // namespace
}  // namespace regard::testing
