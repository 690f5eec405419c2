// The public task classes give the golden results of transformers' pipelines. They throw for invalid
// arguments.
#include "regard/tasks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "regard/result.h"
#include "regard/study.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

Json cases_of(const std::string& file) {
  return read_json(testing::golden("tasks/" + file).string())["cases"];
}

TEST(PublicTasks, EmbedderGivesVectorsAndTheirSimilarities) {
  const testing::Golden wanted("hf-more", "st-cls");
  const auto texts = wanted.about()["texts"].get<std::vector<std::string>>();
  const Embedder embedder(testing::golden("hf-more/st-cls"));
  const Tensor vectors = embedder.embed(texts);
  EXPECT_EQ(vectors.columns(), embedder.size());
  testing::expect_close(vectors, wanted.tensor("sentence_embedding"), 2e-5, 1.0, "vectors");
  testing::expect_close(embedder.similarities(embedder.embed(texts[1]), vectors),
                        wanted.tensor("similarity").slice_rows(1, 2), 2e-5, 1.0, "similarities");
  const Embedder ablated(testing::golden("hf-more/st-cls"), {.ablated = {{Kind::encoder, 0, 1}}});
  EXPECT_NE(ablated.embed(texts[0]).f32()[0], vectors.f32()[0]);
  EXPECT_REGARD_ERROR(Embedder(testing::golden("hf-more/st-cls"), {.pooling = "median"}), ErrorKind::usage,
                      "median");
  EXPECT_REGARD_ERROR(embedder.embed("\xff"), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(Embedder(testing::golden("hf-more/st-cls"), {.prompt = "\xff"}),
                      ErrorKind::invalid_input, "UTF-8");
}

// quantize() also copies the other files of the model folder, such as the pooling configuration.
TEST(PublicTasks, QuantizedFoldersGiveVectorsNearThoseOfTheFirst) {
  const testing::TemporaryFolder place;
  const auto whole = testing::golden("hf-more/st-cls"), small = place.path() / "int8";
  quantize(whole, small);
  EXPECT_LT(fs::file_size(small / "model.safetensors"), fs::file_size(fs::path(whole) / "model.safetensors"));
  const auto texts = testing::Golden("hf-more", "st-cls").about()["texts"].get<std::vector<std::string>>();
  const Tensor a = Embedder(whole).embed(texts), b = Embedder(small).embed(texts);
  ASSERT_EQ(a.shape(), b.shape());
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::int64_t i = 0; i < a.columns(); ++i) {
      const auto x = static_cast<double>(a.row(row)[i]), y = static_cast<double>(b.row(row)[i]);
      product += x * y, of_a += x * x, of_b += y * y;
    }
    EXPECT_GE(product / std::sqrt(of_a * of_b), 0.99) << texts[static_cast<std::size_t>(row)];
    EXPECT_NE(product, of_a) << "nothing was quantised";
  }
  EXPECT_REGARD_ERROR(quantize(whole, small), ErrorKind::usage, "exists");
}

TEST(PublicTasks, TaggerLabelsTokensEntitiesAndWords) {
  const Model model = load(testing::golden("hf-more/bert-ner"));
  const Json golden = read_json((testing::golden("hf-more/bert-ner") / "case.json").string());
  const auto texts = golden["texts"].get<std::vector<std::string>>();
  for (const auto& [name, how] : {std::pair{"none", Aggregation::none}, {"max", Aggregation::max}}) {
    const Tagger tagger(model, {.aggregation = how});
    const auto results = tagger.tag(texts);
    ASSERT_EQ(results.size(), texts.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Json& wanted = golden["pipeline"][name][i];
      ASSERT_EQ(results[i].size(), wanted.size());
      for (std::size_t t = 0; t < wanted.size(); ++t) {
        EXPECT_EQ(results[i][t].label, wanted[t].value("entity", wanted[t].value("entity_group", "")));
        EXPECT_EQ(results[i][t].begin, wanted[t]["start"].get<std::size_t>());
        EXPECT_NEAR(static_cast<double>(results[i][t].score), wanted[t]["score"].get<double>(), 2e-5);
      }
    }
  }
  const Tagger all(model, {.ignored = {}});
  const std::vector<std::string> words{"bird", "slowland", ""};
  const std::vector<std::string> labels = all.word_labels(words);
  const std::vector<Tag> tokens = all.tag_words(words);
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels[0], tokens[0].label);
  EXPECT_EQ(labels[1], tokens[1].label);
  EXPECT_EQ(labels[2], "");
  EXPECT_EQ(tokens[1].begin, 5u);
  EXPECT_EQ(all.labels()[1], "B-PER");
  const Tagger ablated(model, {.ignored = {}, .ablated = {{Kind::encoder, 0, 1}}});
  EXPECT_NE(ablated.tag("bird")[0].score, all.tag("bird")[0].score);
  EXPECT_REGARD_ERROR(all.tag("\xff"), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(all.tag_words(std::vector<std::string>{"\xff"}), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(Tagger(load(testing::golden("hf-more/bert-nli"))), ErrorKind::usage,
                      "no token-classification head");
}

TEST(PublicTasks, ClassifierLabelsTextsAndPairs) {
  const Classifier pairs(load(testing::golden("hf-more/bert-nli"))),
      texts(load(testing::golden("hf-more/bert-multilabel")));
  for (const Json& one : cases_of("classes.json")) {
    if (one["options"] != Json{{"top_k", nullptr}}) continue;
    const Json& text = one["text"];
    const std::vector<Label> labels =
        text.is_array() ? pairs.classify(text[0].get<std::string>(), text[1].get<std::string>())
                        : texts.classify(text.get<std::string>());
    ASSERT_EQ(labels.size(), one["labels"].size());
    for (std::size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(labels[i].name, one["labels"][i]["label"].get<std::string>());
  }
  EXPECT_REGARD_ERROR(pairs.classify_image("x.png"), ErrorKind::usage, "found image input");
}

TEST(PublicTasks, ClassifierLabelsImages) {
  const testing::TemporaryFolder folder;
  fs::copy(testing::golden("hf-tiny/vit"), folder / "vit", fs::copy_options::recursive);
  fs::permissions(folder / "vit", fs::perms::owner_all, fs::perm_options::add);
  fs::copy(testing::golden("tasks/preprocessor_config.json"), folder / "vit/preprocessor_config.json");
  const Model model = load(folder / "vit");
  const Classifier classifier(model);
  for (const Json& one : cases_of("images.json")) {
    const auto labels = classifier.classify_image(testing::golden("tasks") / one["file"].get<std::string>());
    ASSERT_EQ(labels.size(), 1u);
    EXPECT_EQ(labels[0][0].name, one["labels"][0]["label"].get<std::string>());
    EXPECT_NEAR(static_cast<double>(labels[0][0].score), one["labels"][0]["score"].get<double>(), 2e-5);
  }
  EXPECT_REGARD_ERROR(classifier.classify("text"), ErrorKind::usage, "expected image input");
  EXPECT_REGARD_ERROR(model.attend("text"), ErrorKind::usage, "expected image input");
  EXPECT_REGARD_ERROR(model.generate("text"), ErrorKind::usage, "cannot");
}

TEST(PublicTasks, AnswererAndFillerAnswerAndFill) {
  const Answerer answerer(load(testing::golden("tasks/roberta-qa")), {.count = 3, .window = 62});
  const Filler filler(load(testing::golden("tasks/roberta-fill")));
  for (const Json& one : cases_of("answers.json")) {
    if (one["model"] != "tasks/roberta-qa" || one["options"] != Json{{"top_k", 3}}) continue;
    const auto text = one["context"].get<std::string>();
    for (const Answer& answer : answerer.answer(one["question"].get<std::string>(), text)) {
      EXPECT_EQ(text.substr(answer.begin, answer.end - answer.begin), answer.text);
    }
    EXPECT_EQ(answerer.answer(one["question"].get<std::string>(), text).at(0).text,
              one["answers"][0]["answer"].get<std::string>());
  }
  EXPECT_EQ(filler.mask(), "<mask>");
  for (const Json& one : cases_of("fill.json")) {
    if (one["model"] != "tasks/roberta-fill" || one["options"] != Json{{"top_k", 1}}) continue;
    const auto masks = filler.fill(one["text"].get<std::string>(), 1);
    ASSERT_EQ(masks.size(), one["masks"].size());
    for (std::size_t m = 0; m < masks.size(); ++m)
      EXPECT_EQ(masks[m].at(0).sequence, one["masks"][m][0]["sequence"].get<std::string>());
  }
  EXPECT_REGARD_ERROR(Filler(load(testing::golden("tasks/roberta-qa"))), ErrorKind::usage,
                      "no head for masked tokens");
  EXPECT_REGARD_ERROR(Filler(load(testing::golden("tasks/roberta-fill")), {"good", "\xff"}),
                      ErrorKind::invalid_input, "UTF-8");
}

// A program such as a daemon changes its working directory after loading.
TEST(PublicTasks, AWorkingDirectoryMayChangeAfterLoading) {
  const fs::path before = fs::current_path();
  fs::current_path(testing::golden(""));
  const Model mask = load("tasks/roberta-fill"), images = load("hf-tiny/vit");
  fs::current_path("/");
  const auto labels = attempt(
      [&] { return Classifier(images).classify_image(testing::golden("tasks/alpha.png")).at(0).size(); });
  const auto rows = attempt(
      [&] { return study(mask, "tokens", {.text = "the <mask>", .answer = "th", .steps = 1}).rows.size(); });
  fs::current_path(before);
  EXPECT_TRUE(labels) << labels.error().what();
  EXPECT_TRUE(rows) << rows.error().what();
}

}  // namespace
}  // namespace regard::testing
