// Answers compared with transformers' question-answering pipeline, in short texts and in long texts that are
// read in windows.
#include "tasks/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/utf8.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using tasks::Answer;
using tasks::Answerer;
using tasks::AnswerOptions;

infer::LoadedModel opened(const std::string& name) {
  return infer::LoadedModel::open(testing::golden(name));
}

AnswerOptions options_of(const Json& json, std::int64_t positions) {
  AnswerOptions options;
  options.count = json.value("top_k", std::size_t{1});
  options.may_be_none = json.value("handle_impossible_answer", false);
  options.whole_words = json.value("align_to_words", true);
  options.longest = json.value("max_answer_len", 15);
  options.window = json.value("max_seq_len", positions);
  options.stride = json.value("doc_stride", 0);
  return options;
}

std::string described(const Json& one) {
  return one["model"].get<std::string>() + " " + one["options"].dump() + " " + one["question"].dump() + " " +
         one["context"].dump();
}

void expect_answers(const std::vector<Answer>& answers, const Json& one) {
  const auto text = one["context"].get<std::string>();
  // If there are fewer spans than requested, the pipeline adds impossible ones with score 0.
  const auto possible = std::count_if(one["answers"].begin(), one["answers"].end(),
                                      [](const Json& answer) { return answer["score"].get<double>() > 0.0; });
  ASSERT_EQ(std::ssize(answers), possible);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Json& golden = one["answers"][i];
    EXPECT_EQ(answers[i].text, golden["answer"].get<std::string>());
    EXPECT_NEAR(static_cast<double>(answers[i].score), golden["score"].get<double>(), 2e-5);
    EXPECT_EQ(utf8::count(std::string_view(text).substr(0, answers[i].begin)),
              golden["start"].get<std::size_t>());
    EXPECT_EQ(utf8::count(std::string_view(text).substr(0, answers[i].end)),
              golden["end"].get<std::size_t>());
  }
}

TEST(Answer, AreThoseOfTheQuestionAnsweringPipeline) {
  const Json golden = read_json(testing::golden("tasks/answers.json").string());
  ThreadPool pool(2);
  std::map<std::string, infer::LoadedModel> models;
  std::size_t windows = 0;
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(described(one));
    const auto name = one["model"].get<std::string>();
    if (!models.contains(name)) models.emplace(name, opened(name));
    const infer::LoadedModel& model = models.at(name);
    Answerer answerer(model, pool, options_of(one["options"], name == "tasks/roberta-qa" ? 62 : 40));
    const Answerer::Reading reading =
        answerer.read(one["question"].get<std::string>(), one["context"].get<std::string>());
    windows = std::max(windows, reading.windows.size());
    expect_answers(answerer.answer(reading), one);
  }
  EXPECT_GT(windows, 10u) << "no text was long";
}

TEST(Answer, BelowTheThresholdIsNone) {
  const infer::LoadedModel model = opened("hf-more/bert-qa-stride");
  ThreadPool pool(1);
  AnswerOptions options{.count = 3};
  Answerer any(model, pool, options);
  const std::vector<Answer> answers = any.answer(any.read("who?", "maria sings near the old river."));
  ASSERT_EQ(answers.size(), 3u);
  options.threshold = answers[1].score;
  Answerer some(model, pool, options);
  EXPECT_EQ(some.answer(some.read("who?", "maria sings near the old river.")).size(), 2u);
}

TEST(Answer, TokensOfAReadingAreThoseOfItsWindows) {
  const infer::LoadedModel model = opened("hf-more/bert-qa-stride");
  ThreadPool pool(1);
  const Answerer answerer(model, pool, {.window = 20, .stride = 4});
  std::string text = "maria sings";
  for (int i = 0; i < 12; ++i, text += " near the old river") {
    const Answerer::Reading reading = answerer.read("who?", text);
    std::int64_t tokens = 0;
    for (const Answerer::Reading::Window& window : reading.windows) {
      EXPECT_LE(window.input.tokens(), 20);
      tokens += window.input.tokens();
    }
    EXPECT_EQ(reading.tokens(), tokens);
    // The bound counts whole windows, and at most one window and the final part more.
    const std::int64_t most = answerer.most_tokens("who?", text);
    EXPECT_GE(most, tokens);
    EXPECT_LE(most, 20 * (std::ssize(reading.windows) + 2));
    EXPECT_EQ(most % 20, 0);
  }
}

TEST(Answer, TheStrideIsLessThanTheWindow) {
  const infer::LoadedModel model = opened("hf-more/bert-qa-stride");
  ThreadPool pool(1);
  EXPECT_NO_THROW(Answerer(model, pool, {.window = 40, .stride = 39}));
  for (const std::int64_t stride : {-1, 40})
    EXPECT_REGARD_ERROR(Answerer(model, pool, {.window = 40, .stride = stride}), ErrorKind::usage,
                        "the stride is out of range (expected at least 0 and less than 40 tokens, found " +
                            std::to_string(stride) + " tokens)");
  EXPECT_REGARD_ERROR(
      Answerer(model, pool, {.window = 41}), ErrorKind::usage,
      "the window exceeds the model's maximum number of positions (expected at most 40 tokens, "
      "found 41 tokens)");
  AnswerOptions none;
  none.count = 0;
  EXPECT_REGARD_ERROR(Answerer(model, pool, none), ErrorKind::usage,
                      "the number of answers or their maximum length is out of range (expected at least 1 "
                      "answer and 1 token, found 0 answers of at most 15 tokens)");
  none.count = 1, none.longest = 0;
  EXPECT_REGARD_ERROR(Answerer(model, pool, none), ErrorKind::usage, "found 1 answers of at most 0 tokens");
}

TEST(Answer, WhatCannotBeAnsweredIsRefused) {
  const infer::LoadedModel model = opened("hf-more/bert-qa-stride"), other = opened("hf-more/bert-nli");
  ThreadPool pool(1);
  EXPECT_REGARD_ERROR(Answerer(other, pool), ErrorKind::usage, "no question-answering head");
  EXPECT_REGARD_ERROR(Answerer(model, pool, {.window = 41}), ErrorKind::usage, "at most 40");
  EXPECT_REGARD_ERROR(Answerer(model, pool, {.window = 20, .stride = 20}), ErrorKind::usage, "less than 20");
  const Answerer answerer(model, pool);
  EXPECT_REGARD_ERROR(answerer.read(" ", "text"), ErrorKind::invalid_input, "the question is empty");
  EXPECT_REGARD_ERROR(answerer.read("who?", "\t"), ErrorKind::invalid_input, "the text is empty");
  std::string long_question;
  for (int i = 0; i < 30; ++i) long_question += "river ";
  EXPECT_REGARD_ERROR(answerer.read(long_question, long_question), ErrorKind::invalid_input,
                      "the question is too long");
}

}  // namespace
}  // namespace regard::testing
