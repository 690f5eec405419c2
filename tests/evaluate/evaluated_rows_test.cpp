// The rows, facts, lines and statistics of the evaluations of each task.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/json.h"
#include "evaluate/classification.h"
#include "evaluate/contrastive.h"
#include "evaluate/embedding.h"
#include "evaluate/image_classification.h"
#include "evaluate/language_model.h"
#include "evaluate/question_answering.h"
#include "evaluate/sound.h"
#include "evaluate/token_classification.h"
#include "metrics/word_error_rate.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::evaluate {
namespace {

class EvaluatedRows : public ::testing::Test {
 protected:
  struct Model {
    explicit Model(const std::string& name, InputKind reads = InputKind::tokens)
        : model(open(testing::golden(name), reads)) {}
    static infer::LoadedModel open(const std::filesystem::path& folder, InputKind reads) {
      infer::FolderSettings settings;
      settings.reads = reads;
      return infer::LoadedModel::open(folder, settings);
    }
    infer::LoadedModel model;
    ThreadPool pool{2};
    Subject subject{model, pool};
  };
  DataOptions written(const std::string& name, const std::string& content) {
    return {.files = {testing::write_file(folder_.path(), name, content).string()}};
  }
  static std::string data(const std::string& name) { return testing::golden("evaluate/" + name).string(); }

  static const Score* find(const Evaluation& result, const std::string& name) {
    for (const Score& one : result.scores)
      if (one.name == name) return &one;
    return nullptr;
  }
  // Each score equals the score of its statistics. If `factor` is not 0, the score named by row_score is
  // `factor` times the mean of the rows' scores.
  static void expect_consistent(const Evaluation& result, double factor = 1) {
    for (const Score& score : result.scores) {
      if (!score.statistics.scorer) continue;
      const std::size_t rows = score.statistics.rows.size();
      ASSERT_EQ(rows, result.rows.size()) << score.name;
      std::vector<std::uint32_t> all(rows);
      std::iota(all.begin(), all.end(), 0u);
      const metrics::Scorer scorer = score.statistics.scorer(score.statistics.rows);
      EXPECT_NEAR(scorer(all), score.value, 1e-4 * std::max(1.0, std::abs(score.value))) << score.name;
    }
    const Score* own = find(result, result.row_score);
    if (own == nullptr || factor == 0) return;
    double sum = 0;
    for (const EvaluatedRow& row : result.rows) sum += row.score;
    EXPECT_NEAR(factor * sum / static_cast<double>(result.rows.size()), own->value, 1e-5) << own->name;
  }
  static void expect_line(const Evaluation& result, const std::string& line) {
    EXPECT_EQ(std::count(result.lines.begin(), result.lines.end(), line), 1)
        << line << "\n"
        << fmt::format("{}", fmt::join(result.lines, "\n"));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(EvaluatedRows, OfClassification) {
  Model one("hf-more/bert-nli");
  const Evaluation result = classification(
      one.subject, {.files = {data("pairs.jsonl")}, .columns = {"text", "text_pair", "label"}}, {});
  expect_consistent(result);
  EXPECT_EQ(result.row_score, "accuracy");
  EXPECT_EQ(result.facts, Json({{"rows", 40}}));
  EXPECT_EQ(result.lines[0], "rows         40");
  EXPECT_EQ(result.rows[1].input,
            Json({"bird holds night writes stone green", "day stone river river writes day on"}));
  EXPECT_EQ(result.rows[0].expected, "entailment");  // label 0
  for (const EvaluatedRow& row : result.rows) EXPECT_EQ(row.score, row.expected == row.output ? 1 : 0);
  ClassificationOptions options;
  options.cut = true, options.most_tokens = 4;
  const Evaluation cut =
      classification(one.subject, written("a.tsv", "stone river stone river\t0\nfire\t1\n"), options);
  EXPECT_EQ(cut.facts, Json({{"rows", 2}, {"truncated", 1}}));
}

TEST_F(EvaluatedRows, OfSeveralLabels) {
  Model one("hf-more/bert-multilabel");
  const Evaluation result = classification(one.subject, {.files = {data("labels.jsonl")}}, {});
  expect_consistent(result);
  EXPECT_EQ(result.row_score, "accuracy");
  EXPECT_EQ(result.facts["threshold"], 0.5);
  EXPECT_EQ(result.rows[1].expected, Json({"tag2", "tag3", "tag4"}));
  std::map<std::string, int> truth;
  for (const EvaluatedRow& row : result.rows) {
    EXPECT_EQ(row.score, row.expected == row.output ? 1 : 0);
    for (const Json& label : row.expected) ++truth[label.get<std::string>()];
  }
  for (const auto& [label, count] : truth) EXPECT_EQ(result.details["classes"][label]["support"], count);
  for (const Score& score : result.scores)
    expect_line(result, fmt::format("{:<12} {:.4f}", score.name, score.value));
  // Every label has a score of at least 0, and none has one above 1.
  ClassificationOptions options;
  options.threshold = 0;
  const Evaluation all = classification(one.subject, {.files = {data("labels.jsonl")}}, options);
  for (const EvaluatedRow& row : all.rows) EXPECT_EQ(row.output.size(), 5u);
  options.threshold = 1.5;
  const Evaluation none = classification(one.subject, {.files = {data("labels.jsonl")}}, options);
  for (const EvaluatedRow& row : none.rows) EXPECT_TRUE(row.output.empty());
}

TEST_F(EvaluatedRows, OfRegression) {
  Model one("evaluate/regression-model");
  const Evaluation result = classification(one.subject, {.files = {data("numbers.tsv")}}, {});
  expect_consistent(result);
  EXPECT_EQ(result.row_score, "negative_squared_error");
  EXPECT_EQ(result.rows[0].expected, 3.55);
  double sum = 0;
  for (const EvaluatedRow& row : result.rows) {
    const double error = row.output.get<double>() - row.expected.get<double>();
    EXPECT_NEAR(row.score, -error * error, 1e-12);
    sum += error * error;
  }
  EXPECT_NEAR(find(result, "mean_squared_error")->value, sum / static_cast<double>(result.rows.size()), 1e-9);
  expect_line(result, fmt::format("mean_squared_error {:.4f}", find(result, "mean_squared_error")->value));
}

TEST_F(EvaluatedRows, OfTokenClassification) {
  Model one("hf-more/bert-ner");
  const Evaluation result = token_classification(one.subject, {.files = {data("entities.tsv")}}, {});
  expect_consistent(result, 0);
  std::size_t words = 0, right = 0;
  for (const EvaluatedRow& row : result.rows) {
    ASSERT_EQ(row.input.size(), row.output.size());
    std::size_t own = 0;
    for (std::size_t i = 0; i < row.output.size(); ++i) own += row.output[i] == row.expected[i] ? 1 : 0;
    EXPECT_DOUBLE_EQ(row.score, static_cast<double>(own) / static_cast<double>(row.output.size()));
    words += row.output.size(), right += own;
  }
  EXPECT_EQ(result.facts, Json({{"rows", result.rows.size()}, {"words", words}}));
  EXPECT_EQ(result.lines[0], fmt::format("rows         {}\nwords        {}", result.rows.size(), words));
  EXPECT_NEAR(find(result, "accuracy")->value, static_cast<double>(right) / static_cast<double>(words),
              1e-12);
  for (const Score& score : result.scores)
    expect_line(result, fmt::format("{:<12} {:.4f}", score.name, score.value));
}

// Column files with the options of columns; labels without prefixes are classes of words.
TEST_F(EvaluatedRows, OfLabelledColumns) {
  Model one("hf-more/bert-ner");
  DataOptions columns = written("a.conll", "1 fire x O\n2 river x O\n\n3 stone x O\n");
  columns.columns = {"2", "4"};
  const Evaluation result = token_classification(one.subject, columns, {});
  expect_consistent(result, 0);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].input, Json({"fire", "river"}));
  EXPECT_EQ(result.rows[1].expected, Json({"O"}));
  EXPECT_EQ(result.details["classes"]["O"]["support"], 3);
  EXPECT_EQ(find(result, "f1"), nullptr);
  columns.columns = {"2"};
  EXPECT_REGARD_ERROR(
      token_classification(one.subject, columns, {}), ErrorKind::usage,
      "the number of columns does not fit the task (expected 2 columns (words, labels), found 1 "
      "column)");
  EXPECT_EQ(token_classification(one.subject, written("a.conllu", "1 fire x O\n"), {}).facts["words"], 1);
  for (const char* name : {"a.bio", "a.iob", "a.iob2"})
    EXPECT_EQ(token_classification(one.subject, written(name, "fire O\n"), {}).facts["words"], 1) << name;
  EXPECT_REGARD_ERROR(token_classification(one.subject, written("a.conll", "\n\n"), {}), ErrorKind::bad_file,
                      "the data has no rows to evaluate");
}

TEST_F(EvaluatedRows, OfQuestions) {
  Model one("tasks/roberta-qa");
  const Evaluation none = question_answering(
      one.subject, written("a.tsv", "red dogs?\twhat dogs are red.\tdogs\nwho?\tno one here.\t\n"), {});
  expect_consistent(none, 100);
  EXPECT_EQ(none.rows[0].expected, Json({"dogs"}));
  EXPECT_EQ(none.rows[1].expected, Json::array());
  EXPECT_EQ(none.rows[0].input, Json({{"question", "red dogs?"}, {"context", "what dogs are red."}}));
  EXPECT_EQ(none.details["has_answer"]["questions"], 1);
  EXPECT_EQ(none.details["no_answer"]["questions"], 1);
  EXPECT_NEAR(none.details["has_answer"]["f1"].get<double>(), 100 * none.rows[0].score, 1e-9);
  EXPECT_NEAR(none.details["no_answer"]["f1"].get<double>(), 100 * none.rows[1].score, 1e-9);
  EXPECT_EQ(none.lines[0], fmt::format("questions    2\nexact match  {:.2f}\nF1           {:.2f}",
                                       find(none, "exact_match")->value, find(none, "f1")->value));
  const auto part = [&](const char* name, const char* title) {
    const Json& about = none.details[name];
    return fmt::format("{}: exact match {:.2f}, F1 {:.2f} (1 question)", title,
                       about["exact_match"].get<double>(), about["f1"].get<double>());
  };
  expect_line(none, part("has_answer", "with an answer"));
  expect_line(none, part("no_answer", "without an answer"));
  const std::string start = R"({"question": "who?", "context": "red dogs.", "answers": )";
  const Evaluation answered = question_answering(one.subject,
                                                 written("a.jsonl", start +
                                                                        R"("red"})"
                                                                        "\n" +
                                                                        start +
                                                                        R"(["red", {"text": "dogs"}]})"
                                                                        "\n" +
                                                                        start +
                                                                        R"({"text": ["red dogs"]}})"
                                                                        "\n"),
                                                 {});
  EXPECT_EQ(answered.rows[0].expected, Json({"red"}));
  EXPECT_EQ(answered.rows[1].expected, Json({"red", "dogs"}));
  EXPECT_EQ(answered.rows[2].expected, Json({"red dogs"}));
  EXPECT_TRUE(answered.details.empty());
  EXPECT_EQ(answered.lines.size(), 1u);
  EXPECT_REGARD_ERROR(question_answering(one.subject, written("a.jsonl", start + "3}\n"), {}),
                      ErrorKind::bad_file,
                      "a.jsonl:1: 'answers' is not a list (expected a list of texts, found");
  DataOptions columns{.files = {data("squad.json")}, .columns = {"a"}};
  EXPECT_REGARD_ERROR(question_answering(one.subject, columns, {}), ErrorKind::usage,
                      "a SQuAD file has no columns. Remove --columns");
}

TEST_F(EvaluatedRows, OfEmbeddings) {
  const tasks::EmbeddingFolder folder = tasks::EmbeddingFolder::open(testing::golden("hf-more/st-mean"));
  ThreadPool pool(2);
  const Evaluation similar =
      embedding(folder, pool, {.files = {data("similar.jsonl")}, .columns = {"text", "text_pair", "score"}});
  expect_consistent(similar);
  EXPECT_EQ(similar.rows[0].input.size(), 2u);
  EXPECT_TRUE(similar.rows[0].expected.is_number() && similar.rows[0].output.is_number());
  EXPECT_EQ(similar.lines[0], fmt::format("rows         {}", similar.rows.size()));
  DataOptions queries = written("a.tsv", "river\triver\nstone\tfire\nriver\tfire\n");
  queries.columns = {"1", "2"};
  const Evaluation found = embedding(folder, pool, queries);
  expect_consistent(found);
  EXPECT_EQ(found.facts, Json({{"rows", 3}, {"documents", 2}}));
  EXPECT_EQ(found.lines[1], "documents    2");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(found.rows[i].score, 1 / found.rows[i].output["rank"].get<double>());
  EXPECT_EQ(found.rows[1].input, "stone");
  EXPECT_EQ(found.rows[1].expected, "fire");
  EXPECT_EQ(found.rows[0].output["rank"], 1);
  EXPECT_EQ(found.rows[2].output["rank"], 2);
  EXPECT_EQ(find(found, "recall_at_5")->value, 1);
}

TEST_F(EvaluatedRows, OfMaskedTokens) {
  Model one("tasks/roberta-fill");
  const Evaluation result =
      masked_language_model(one.subject, {.files = {data("lines.txt")}}, {.share = 0.5, .seed = 7});
  expect_consistent(result, 0);
  EXPECT_EQ(result.facts["mask_share"], 0.5);
  EXPECT_EQ(result.facts["mask_seed"], 7);
  EXPECT_EQ(result.facts["texts"], result.rows.size());
  EXPECT_FALSE(result.facts.contains("truncated"));
  std::size_t masks = 0, right = 0;
  double loss = 0;
  for (const EvaluatedRow& row : result.rows) {
    std::size_t own = 0, hits = 0;
    ASSERT_EQ(std::sscanf(row.output.get<std::string>().c_str(), "%zu of %zu tokens right", &hits, &own), 2);
    masks += own, right += hits, loss += row.score * static_cast<double>(own);
  }
  const double mean = find(result, "loss")->value, count = static_cast<double>(masks);
  EXPECT_EQ(result.facts["masked_tokens"], masks);
  EXPECT_NEAR(mean, loss / count, 1e-6);
  EXPECT_NEAR(find(result, "accuracy")->value, static_cast<double>(right) / count, 1e-9);
  EXPECT_EQ(result.lines[0], fmt::format("texts          {}\nmasked tokens  {}", result.rows.size(), masks));
  EXPECT_EQ(result.lines[1], fmt::format("loss           {:.4f} nats per masked token\nperplexity     {:.2f}",
                                         mean, std::exp(mean)));
  for (const double share : {0.0, -0.1, 1.1})
    EXPECT_REGARD_ERROR(
        masked_language_model(one.subject, {.files = {data("lines.txt")}}, {.share = share}),
        ErrorKind::usage,
        fmt::format("the fraction of masked tokens is out of range (expected more than 0 and at "
                    "most 1, found {})",
                    share));
}

TEST_F(EvaluatedRows, OfSounds) {
  const std::string whisper = testing::golden("sound/whisper-small").string();
  Model ast("hf-tiny/ast", InputKind::features);
  const Evaluation classes = audio_classification(
      ast.subject, written("a.tsv", whisper + "/short.wav\tLABEL_0\n" + whisper + "/long.wav\tLABEL_1\n" +
                                        whisper + "/short.wav\tLABEL_2\n" + whisper + "/short.wav\t3\n"));
  expect_consistent(classes);
  EXPECT_EQ(classes.rows[0].input, whisper + "/short.wav");
  EXPECT_EQ(classes.rows[3].expected, "LABEL_3");
  EXPECT_EQ(classes.row_score, "accuracy");
  for (const EvaluatedRow& row : classes.rows) EXPECT_EQ(row.score, row.output == row.expected ? 1 : 0);
  EXPECT_EQ(classes.facts["rows"], 4);
  EXPECT_EQ(classes.lines[0], "rows         4");

  Model one("sound/whisper-small", InputKind::features);
  const std::string said =
      speech_recognition(one.subject, written("b.tsv", whisper + "/short.wav\tthe fox\n"))
          .rows[0]
          .output.get<std::string>();
  const Evaluation speech = speech_recognition(
      one.subject, written("b.tsv", whisper + "/short.wav\tthe fox runs\n" + whisper + "/short.wav\ta b\n"));
  expect_consistent(speech);
  metrics::Errors words, characters;
  for (const EvaluatedRow& row : speech.rows) {
    EXPECT_EQ(row.output, said);
    const metrics::Errors own = metrics::word_errors(said, row.expected.get<std::string>());
    EXPECT_EQ(row.score, -static_cast<double>(own.errors));
    words += own, characters += metrics::character_errors(said, row.expected.get<std::string>());
  }
  EXPECT_EQ(speech.row_score, "negative_word_errors");
  EXPECT_EQ(find(speech, "wer")->value, words.rate());
  EXPECT_EQ(find(speech, "cer")->value, characters.rate());
  EXPECT_EQ(speech.facts, Json({{"rows", 2}, {"words", 5}, {"characters", 15}}));
  EXPECT_EQ(speech.lines[1],
            fmt::format("WER          {:.4f} ({} errors, 5 words)", words.rate(), words.errors));
  EXPECT_EQ(speech.lines[2], fmt::format("CER          {:.4f} ({} errors, 15 characters)", characters.rate(),
                                         characters.errors));
}

// Without words in the references, the rate of a sample is 1 if there are errors.
TEST_F(EvaluatedRows, OfSoundsWithoutWords) {
  const std::string whisper = testing::golden("sound/whisper-small").string();
  Model one("sound/whisper-small", InputKind::features);
  const Evaluation speech =
      speech_recognition(one.subject, written("b.jsonl", R"({"path": ")" + whisper +
                                                             R"(/short.wav", "text": ""})"
                                                             "\n"));
  EXPECT_EQ(find(speech, "wer")->value, 1);
  expect_consistent(speech);
}

TEST_F(EvaluatedRows, OfPictures) {
  const std::string pictures = testing::golden("pictures").string() + "/";
  Model vit("hf-tiny/vit-patch16", InputKind::pixels);
  std::string rows;
  const char* const names[] = {"deep.png", "lossy.webp", "turned.png", "lossless.webp"};
  for (int i = 0; i < 40; ++i) rows += fmt::format("{}{}\tLABEL_{}\n", pictures, names[i % 4], i % 3);
  const Evaluation classes = image_classification(vit.subject, written("a.tsv", rows));
  expect_consistent(classes);
  EXPECT_EQ(classes.facts, Json({{"rows", 40}}));
  EXPECT_EQ(classes.lines[0], "rows         40");
  EXPECT_EQ(classes.row_score, "accuracy");
  for (std::size_t i = 0; i < 40; ++i) {
    const EvaluatedRow& row = classes.rows[i];
    EXPECT_EQ(row.expected, fmt::format("LABEL_{}", i % 3));
    EXPECT_EQ(row.output, classes.rows[i % 4].output);
    EXPECT_EQ(row.score, row.output == row.expected ? 1 : 0);
  }
  Model clip("hf-more/clip-words");
  const Evaluation found = contrastive(
      clip.subject, written("b.tsv", pictures + "deep.png\ta cat\n" + pictures + "lossy.webp\ta dog\n" +
                                         pictures + "turned.png\ta bird\n"));
  expect_consistent(found);
  EXPECT_EQ(found.row_score, "reciprocal_rank");
  EXPECT_EQ(found.rows[1].input, "a dog");
  EXPECT_EQ(found.rows[1].expected, pictures + "lossy.webp");
  double sum = 0;
  for (const EvaluatedRow& row : found.rows) {
    EXPECT_EQ(row.score == 1, row.output == row.expected);
    sum += row.score;
  }
  EXPECT_NEAR(find(found, "mrr")->value, sum / 3, 1e-9);
  EXPECT_EQ(find(found, "recall_at_5")->value, 1);
  for (const Score& score : found.scores)
    expect_line(found, fmt::format("{:<17}{:.4f}", score.name, score.value));
}

}  // namespace
}  // namespace regard::evaluate
