// Evaluations of tiny models compared with transformers, scikit-learn, scipy, seqeval and squad_metrics
// (tools/make_evaluation_cases.py).
#include "evaluate/evaluation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/json.h"
#include "evaluate/class_scores.h"
#include "evaluate/classification.h"
#include "evaluate/comparison.h"
#include "evaluate/embedding.h"
#include "evaluate/language_model.h"
#include "evaluate/question_answering.h"
#include "evaluate/token_classification.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::evaluate {
namespace {

constexpr double kTolerance = 1e-9;

std::string file(const std::string& name) {
  return testing::golden("evaluate/" + name).string();
}

Json expected_scores(const std::string& name) {
  return read_json(file("scores.json"))[name];
}

double score(const Evaluation& evaluation, const std::string& name) {
  for (const Score& one : evaluation.scores)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "no score " << name;
  return 0;
}

// The score computed from the statistics of all rows equals the reported score. Intervals and comparisons use
// these statistics.
void expect_statistics(const Evaluation& evaluation, double tolerance) {
  for (const Score& one : evaluation.scores) {
    if (!one.statistics.scorer) continue;
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < one.statistics.rows.size(); ++i)
      rows.push_back(static_cast<std::uint32_t>(i));
    EXPECT_EQ(rows.size(), evaluation.rows.size());
    EXPECT_NEAR(one.statistics.scorer(one.statistics.rows)(rows), one.value, tolerance) << one.name;
  }
}

void expect_scores(const Evaluation& evaluation, const Json& expected, double tolerance) {
  for (const auto& [name, value] : expected.items())
    EXPECT_NEAR(score(evaluation, name), value.get<double>(), tolerance) << name;
  expect_statistics(evaluation, 1e-5);
}

struct Opened {
  explicit Opened(const std::string& name, int threads = 2)
      : model(infer::LoadedModel::open(testing::golden(name))), pool(threads) {}
  infer::LoadedModel model;
  ThreadPool pool;
  Subject subject{model, pool};
};

TEST(Evaluation, ClassificationOfPairs) {
  Opened one("hf-more/bert-nli");
  const Evaluation result = classification(
      one.subject, {.files = {file("pairs.jsonl")}, .columns = {"text", "text_pair", "label"}}, {});
  const Json expected = expected_scores("classification");
  expect_scores(result, expected["scores"], kTolerance);
  ASSERT_EQ(result.rows.size(), expected["outputs"].size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    EXPECT_EQ(result.rows[i].output, expected["outputs"][i]);
    EXPECT_EQ(result.rows[i].place.line, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(result.details["confusion"], expected["confusion"]);
}

TEST(Evaluation, ClassificationWithSeveralLabels) {
  Opened one("hf-more/bert-multilabel");
  const Evaluation result = classification(one.subject, {.files = {file("labels.jsonl")}}, {});
  expect_scores(result, expected_scores("several_labels")["scores"], kTolerance);
}

TEST(Evaluation, Regression) {
  Opened one("evaluate/regression-model");
  const Evaluation result = classification(one.subject, {.files = {file("numbers.tsv")}}, {});
  expect_scores(result, expected_scores("regression")["scores"], 1e-5);
  Opened several("hf-more/bert-multilabel");
  EXPECT_REGARD_ERROR(
      classification(several.subject, {.files = {file("numbers.tsv")}}, {.scores = tasks::Scores::plain}),
      ErrorKind::usage, "found a model with 5 outputs");
}

TEST(Evaluation, TokenClassification) {
  Opened one("hf-more/bert-ner");
  const Json expected = expected_scores("token_classification");
  const Evaluation result = token_classification(one.subject, {.files = {file("entities.tsv")}}, {});
  expect_scores(result, expected["default"], kTolerance);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    EXPECT_EQ(result.rows[i].output, expected["outputs"][i]);
  const Evaluation strict = token_classification(one.subject, {.files = {file("entities.tsv")}},
                                                 {.strict = metrics::EntityScheme::iob2});
  expect_scores(strict, expected["strict"], kTolerance);
}

// A word that consists only of U+200D has no tokens, because BERT's tokenizer removes this character. The
// model predicts no label for such a word, so it counts as outside all entities.
TEST(Evaluation, WordsWithoutTokensAreCounted) {
  Opened one("hf-more/bert-ner");
  const testing::TemporaryFolder folder;
  const auto evaluated = [&](const std::string& content) {
    const auto path = testing::write_file(folder.path(), "words.tsv", content);
    return token_classification(one.subject, {.files = {path.string()}}, {});
  };
  const Evaluation result = evaluated("writes \xE2\x80\x8D fire\tI-PER O B-PER\nwrites\tO\n");
  EXPECT_EQ(result.facts["words"], 4);
  EXPECT_EQ(result.facts["words_without_tokens"], 1);
  EXPECT_EQ(result.rows[0].output[1], "O");
  EXPECT_FALSE(evaluated("writes fire\tI-PER B-PER\n").facts.contains("words_without_tokens"));
  EXPECT_REGARD_ERROR(evaluated("fire\tO\nwrites \xE2\x80\x8D\tO O\n"), ErrorKind::invalid_input,
                      "words.tsv:2: word 2 of the sentence has no tokens");
}

TEST(Evaluation, QuestionAnswering) {
  Opened one("tasks/roberta-qa");
  const Json expected = expected_scores("question_answering");
  for (const char* name : {"squad.json", "questions.jsonl"}) {
    const Evaluation result = question_answering(one.subject, {.files = {file(name)}}, {.window = 62});
    EXPECT_EQ(result.facts["questions"], expected["questions"]);
    EXPECT_NEAR(score(result, "exact_match"), expected["exact_match"].get<double>(), kTolerance);
    EXPECT_NEAR(score(result, "f1"), expected["f1"].get<double>(), kTolerance);
    expect_statistics(result, 1e-4);
    for (std::size_t i = 0; i < result.rows.size(); ++i)
      EXPECT_EQ(result.rows[i].output, expected["outputs"][i]);
  }
}

TEST(Evaluation, Embedding) {
  const tasks::EmbeddingFolder folder = tasks::EmbeddingFolder::open(testing::golden("hf-more/st-mean"));
  ThreadPool pool(2);
  const Json expected = expected_scores("embedding");
  const Evaluation similar =
      embedding(folder, pool, {.files = {file("similar.jsonl")}, .columns = {"text", "text_pair", "score"}});
  EXPECT_NEAR(score(similar, "spearman"), expected["spearman"].get<double>(), 1e-3);
  EXPECT_NEAR(score(similar, "pearson"), expected["pearson"].get<double>(), 1e-5);
  const Evaluation found = embedding(folder, pool, {.files = {file("queries.txt"), file("documents.txt")}});
  for (const char* name : {"recall_at_1", "recall_at_5", "recall_at_10", "mrr"})
    EXPECT_NEAR(score(found, name), expected[name].get<double>(), kTolerance) << name;
  for (std::size_t i = 0; i < found.rows.size(); ++i)
    EXPECT_EQ(found.rows[i].output["rank"], expected["ranks"][i]);
  expect_statistics(found, 1e-5);
}

TEST(Evaluation, MaskedLanguageModel) {
  Opened one("tasks/roberta-fill");
  const Json expected = expected_scores("masked");
  const Evaluation all = masked_language_model(one.subject, {.files = {file("lines.txt")}}, {.share = 1});
  EXPECT_EQ(all.facts["masked_tokens"], expected["masked_tokens"]);
  EXPECT_NEAR(score(all, "loss"), expected["loss"].get<double>(), 1e-5);
  EXPECT_NEAR(score(all, "accuracy"), expected["accuracy"].get<double>(), kTolerance);
  expect_statistics(all, 1e-4);
  // The masked tokens depend on the seed and the row, not on the threads.
  Opened again("tasks/roberta-fill", 1);
  const auto loss = [&](Opened& with, std::uint64_t seed) {
    return score(masked_language_model(with.subject, {.files = {file("lines.txt")}}, {.seed = seed}), "loss");
  };
  EXPECT_EQ(loss(one, 1), loss(again, 1));
  EXPECT_NE(loss(one, 1), loss(one, 2));
}

// A long text is an error with its line. It is truncated only if the caller asks for it, and counted.
TEST(Evaluation, MaskedLanguageModelTruncatesOnlyOnRequest) {
  Opened one("tasks/roberta-fill");
  const testing::TemporaryFolder folder;
  std::string text = "a short line\n";
  for (int i = 0; i < 200; ++i) text += "word ";
  const std::string lines = testing::write_file(folder.path(), "long.txt", text + "\n").string();
  const DataOptions data{.files = {lines}};
  EXPECT_REGARD_ERROR(masked_language_model(one.subject, data, {}), ErrorKind::invalid_input, "long.txt:2");
  for (const MaskedOptions& options : {MaskedOptions{.cut = true}, MaskedOptions{.context = 20}}) {
    const Evaluation result = masked_language_model(one.subject, data, options);
    EXPECT_EQ(result.facts["truncated"], 1);
    EXPECT_EQ(result.rows.size(), 2U);
  }
}

TEST(Evaluation, IntervalsContainTheScore) {
  Opened one("hf-more/bert-ner");
  const Evaluation result = token_classification(one.subject, {.files = {file("entities.tsv")}}, {});
  const Json all = intervals(result, {.samples = 200});
  EXPECT_FALSE(all.contains("f1_macro"));
  for (const char* name : {"f1", "precision", "recall", "accuracy"}) {
    EXPECT_LT(all[name]["lower"].get<double>(), score(result, name));
    EXPECT_GT(all[name]["upper"].get<double>(), score(result, name));
  }
}

TEST(Evaluation, ComparisonsShowTheRowsThatDiffer) {
  Opened one("hf-more/bert-ner");
  const Evaluation first = token_classification(one.subject, {.files = {file("entities.tsv")}}, {});
  const ModelComparison same = compare(first, first, SignificanceTest::bootstrap, {.samples = 50});
  EXPECT_TRUE(same.rows.empty());
  Evaluation second = first;
  second.rows[3].output = "other", second.rows[3].score += 0.25;
  second.rows[7].output = "other", second.rows[7].score -= 0.5;
  for (const auto test : {SignificanceTest::bootstrap, SignificanceTest::randomization}) {
    const ModelComparison different = compare(first, second, test, {.samples = 50});
    ASSERT_EQ(different.rows.size(), 2u);
    EXPECT_EQ(different.rows[0].row, 7u);
    EXPECT_NEAR(different.rows[1].change, 0.25, 1e-12);
    EXPECT_EQ(different.scores[0].name, "f1");
    EXPECT_EQ(different.scores[0].comparison.first, different.scores[0].comparison.second);
  }
  second.rows.pop_back();
  EXPECT_REGARD_ERROR(compare(first, second, SignificanceTest::bootstrap, {}), ErrorKind::usage, "19");
}

TEST(Comparison, RowsWithoutScoresAreLast) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Evaluation first, second;
  for (const double score : {none, 1.0, none, -3.0, 2.0}) {
    first.rows.emplace_back().output = "a", first.rows.back().score = 0;
    second.rows.emplace_back().output = "b", second.rows.back().score = score;
  }
  std::vector<std::size_t> order;
  for (const DifferentRow& row : compare(first, second, SignificanceTest::bootstrap, {}).rows)
    order.push_back(row.row);
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 4, 1, 0, 2}));
}

// Statistics number the labels in sorted order, so the order of the labels in a model has no effect. Models
// with different sets of labels cannot be compared.
TEST(Evaluation, OnlyModelsWithTheSameLabelsAreCompared) {
  const auto evaluated = [](const std::vector<std::string>& labels,
                            const std::vector<std::int32_t>& predicted,
                            const std::vector<std::int32_t>& truth) {
    Evaluation result;
    result.task = "classification";
    result.rows.resize(truth.size());
    add_class_scores(predicted, truth, labels, result);
    return result;
  };
  const Evaluation first = evaluated({"b", "a"}, {0, 1, 1, 0}, {0, 1, 0, 0});
  const Evaluation same = evaluated({"a", "b"}, {1, 0, 0, 1}, {1, 0, 1, 1});
  for (std::size_t i = 0; i < first.scores.size(); ++i)
    EXPECT_EQ(first.scores[i].statistics.rows, same.scores[i].statistics.rows) << first.scores[i].name;
  for (const auto test : {SignificanceTest::bootstrap, SignificanceTest::randomization}) {
    EXPECT_EQ(compare(first, same, test, {.samples = 20}).scores.size(), first.scores.size());
    for (const Evaluation& other : {evaluated({"a", "b", "c"}, {1, 0, 0, 2}, {1, 0, 1, 1}),
                                    evaluated({"a", "c"}, {1, 0, 0, 1}, {1, 0, 1, 1})})
      EXPECT_REGARD_ERROR(compare(first, other, test, {.samples = 20}), ErrorKind::usage, "different labels");
  }
}

// Calculated by hand: of three b, two are predicted as b; the only a is predicted as a.
TEST(Evaluation, TheScoresOfEachClassAreLines) {
  const std::vector<std::string> labels{"b", "a"};
  const std::vector<std::int32_t> predicted{0, 1, 1, 0}, truth{0, 1, 0, 0};
  Evaluation result;
  add_class_scores(predicted, truth, labels, result);
  const std::vector<std::string> expected{"accuracy     0.7500",
                                          "f1_macro     0.7333",
                                          "f1_weighted  0.7667",
                                          "f1_micro     0.7500",
                                          "matthews     0.5774",
                                          "class                precision    recall        F1   support",
                                          "b                       1.0000    0.6667    0.8000         3",
                                          "a                       0.5000    1.0000    0.6667         1"};
  EXPECT_EQ(result.lines, expected);
  EXPECT_EQ(result.details["confusion"], Json::parse("[[2, 1], [0, 1]]"));
  EXPECT_EQ(result.details["classes"]["b"]["support"], 3);
}

TEST(Evaluation, NumbersAreNamesOfLabelsThatAreNumbers) {
  const std::vector<std::string> names{"low", "high"}, numbers{"1", "2"};
  EXPECT_EQ(class_named("high", names), 1);
  EXPECT_EQ(class_named("0", names), 0);
  EXPECT_EQ(class_named("1", numbers), 0);
  EXPECT_REGARD_ERROR(class_named("0", numbers), ErrorKind::invalid_input, "(expected 1, 2, found \"0\")");
  EXPECT_REGARD_ERROR(class_named("2", names), ErrorKind::invalid_input, "expected low, high, or 0 to 1");
  EXPECT_REGARD_ERROR(class_named("-1", names), ErrorKind::invalid_input, "no such label");
  const std::vector<std::string> eight{"a", "b", "c", "d", "e", "f", "g", "h"};
  EXPECT_REGARD_ERROR(class_named("x", eight), ErrorKind::invalid_input, "f, g, h, or 0 to 7");
  std::vector<std::string> nine = eight;
  nine.emplace_back("i");
  EXPECT_REGARD_ERROR(class_named("x", nine), ErrorKind::invalid_input, "f, g, h, …, or 0 to 8");
}

TEST(Evaluation, DataThatDoesNotFitIsRefusedWithItsLine) {
  Opened nli("hf-more/bert-nli"), ner("hf-more/bert-ner"), qa("tasks/roberta-qa");
  const testing::TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& content) {
    return DataOptions{.files = {testing::write_file(folder.path(), name, content).string()}};
  };
  EXPECT_REGARD_ERROR(classification(nli.subject, written("a.tsv", "x\tneutral\ny\tmaybe\n"), {}),
                      ErrorKind::invalid_input, "a.tsv:2: the model has no such label (expected entailment");
  std::string words;
  for (int i = 0; i < 60; ++i) words += "stone ";
  EXPECT_REGARD_ERROR(
      classification(nli.subject, written("a.tsv", "x\tneutral\n" + words + "\tneutral\n"), {}),
      ErrorKind::invalid_input, "a.tsv:2: the text is too long");
  EXPECT_REGARD_ERROR(classification(nli.subject, written("a.tsv", ""), {}), ErrorKind::bad_file, "no rows");
  EXPECT_REGARD_ERROR(classification(nli.subject, written("a.txt", "x\n"), {}), ErrorKind::usage,
                      "line-aligned");
  EXPECT_REGARD_ERROR(token_classification(ner.subject, written("a.tsv", "a b\tO O\na b\tO\n"), {}),
                      ErrorKind::bad_file, "a.tsv:2");
  EXPECT_REGARD_ERROR(token_classification(ner.subject, written("a.tsv", "a b\tNOUN VERB\n"), {}),
                      ErrorKind::invalid_input, "a.tsv:1: the model has no such label");
  EXPECT_REGARD_ERROR(question_answering(qa.subject, written("a.json", R"({"data": [{"title": 1}]})"), {}),
                      ErrorKind::bad_file, "paragraphs");
  EXPECT_REGARD_ERROR(
      question_answering(qa.subject,
                         written("a.jsonl", R"({"question": "x", "context": " ", "answers": []})"), {}),
      ErrorKind::invalid_input, "a.jsonl:1: the text is empty");
  EXPECT_REGARD_ERROR(question_answering(qa.subject, written("a.txt", "x"), {}), ErrorKind::usage, "SQuAD");
}

TEST(Evaluation, AnEmptyTextIsNoAnswerInEveryFormat) {
  const testing::TemporaryFolder folder;
  const std::string jsonl =
      "{\"question\": \"x\", \"context\": \"y\", \"answers\": \"\"}\n"
      "{\"question\": \"x\", \"context\": \"y\", \"answers\": {\"text\": []}}\n"
      "{\"question\": \"x\", \"context\": \"y\", \"answers\": \"y\"}\n";
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"a.jsonl", jsonl}, {"a.tsv", "x\ty\t\nx\ty\t\nx\ty\ty\n"}}) {
    const auto questions =
        read_questions({.files = {testing::write_file(folder.path(), name, text).string()}});
    ASSERT_EQ(questions.size(), 3u) << name;
    EXPECT_TRUE(questions[0].answers.empty()) << name;
    EXPECT_TRUE(questions[1].answers.empty()) << name;
    EXPECT_EQ(questions[2].answers, std::vector<std::string>{"y"}) << name;
  }
}

// All data files must have one format: a line of JSON that is read as a line of a column file would be a word
// and its label, without an error.
TEST(Evaluation, FilesOfDifferentFormatsAreRefused) {
  Opened nli("hf-more/bert-nli"), ner("hf-more/bert-ner");
  const testing::TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  };
  const std::string columns = written("a.conll", "writes O\n");
  const std::string words = written("b.jsonl", R"({"words": ["writes"], "labels": ["O"]})");
  const char* const message = "the data files have different formats";
  EXPECT_REGARD_ERROR(token_classification(ner.subject, {.files = {columns, words}}, {}), ErrorKind::usage,
                      message);
  EXPECT_REGARD_ERROR(token_classification(ner.subject, {.files = {words, columns}}, {}), ErrorKind::usage,
                      message);
  const std::string texts = written("a.txt", "x\n"), labels = written("a.tsv", "neutral\n");
  EXPECT_REGARD_ERROR(classification(nli.subject, {.files = {texts, labels}}, {}), ErrorKind::usage,
                      "a.tsv as TSV");
}

}  // namespace
}  // namespace regard::evaluate
