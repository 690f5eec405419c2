// Predictions of masked tokens, compared with transformers' fill-mask pipeline.
#include "tasks/fill.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using tasks::Filler;
using tasks::FillOptions;

// Write hf-tiny/bert-mlm with the vocabulary of the golden predictions.
fs::path bert_folder(const fs::path& root, const Json& golden) {
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(testing::golden(std::string("hf-tiny/bert-mlm/") + file), root / file);
  std::string vocabulary;
  for (const Json& word : golden["vocabulary"]) vocabulary += word.get<std::string>() + "\n";
  testing::write_file(root, "vocab.txt", vocabulary);
  return root;
}

void expect_fillings(const std::vector<tasks::Filling>& fillings, const Json& golden) {
  ASSERT_EQ(fillings.size(), golden.size());
  for (std::size_t i = 0; i < fillings.size(); ++i) {
    EXPECT_EQ(fillings[i].token, golden[i]["token"].get<std::int32_t>());
    EXPECT_EQ(fillings[i].text, golden[i]["token_str"].get<std::string>());
    EXPECT_EQ(fillings[i].sequence, golden[i]["sequence"].get<std::string>());
    EXPECT_NEAR(static_cast<double>(fillings[i].score), golden[i]["score"].get<double>(), 2e-5);
  }
}

TEST(Fill, IsThatOfTheFillMaskPipeline) {
  const Json golden = read_json(testing::golden("tasks/fill.json").string());
  testing::TemporaryFolder temporary;
  std::map<std::string, infer::LoadedModel> models;
  models.emplace("hf-tiny/bert-mlm", infer::LoadedModel::open(bert_folder(temporary.path(), golden)));
  models.emplace("tasks/roberta-fill", infer::LoadedModel::open(testing::golden("tasks/roberta-fill")));
  ThreadPool pool(2);
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["text"].dump() + " " + one["options"].dump());
    FillOptions options;
    options.targets = one["options"].value("targets", std::vector<std::string>());
    Filler filler(models.at(one["model"].get<std::string>()), pool, options);
    const tasks::Input inputs[] = {filler.read(one["text"].get<std::string>())};
    const auto masks = filler.fill(inputs, one["options"].value("top_k", std::size_t{5}));
    ASSERT_EQ(masks.size(), 1u);
    ASSERT_EQ(masks[0].size(), one["masks"].size());
    for (std::size_t m = 0; m < masks[0].size(); ++m) expect_fillings(masks[0][m], one["masks"][m]);
  }
}

TEST(Fill, OfATextDoesNotDependOnItsCompany) {
  const auto model = infer::LoadedModel::open(testing::golden("tasks/roberta-fill"));
  ThreadPool pool(2);
  Filler filler(model, pool);
  std::vector<tasks::Input> inputs;
  for (int i = 0; i < 40; ++i)
    inputs.push_back(filler.read(std::string(static_cast<std::size_t>(i), 'a') + " <mask> sings <mask>"));
  const auto together = filler.fill(inputs, 3);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto alone = filler.fill(std::span(&inputs[i], 1), 3)[0];
    ASSERT_EQ(alone.size(), together[i].size());
    for (std::size_t m = 0; m < alone.size(); ++m)
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(alone[m][k].token, together[i][m][k].token);
        EXPECT_EQ(alone[m][k].score, together[i][m][k].score);
      }
  }
}

TEST(Fill, WhatCannotBeFilledIsRefused) {
  const auto model = infer::LoadedModel::open(testing::golden("tasks/roberta-fill")),
             other = infer::LoadedModel::open(testing::golden("tasks/roberta-qa"));
  ThreadPool pool(1);
  EXPECT_REGARD_ERROR(Filler(other, pool), ErrorKind::usage, "no head for masked tokens");
  const Filler filler(model, pool);
  EXPECT_REGARD_ERROR(filler.read("nothing hidden"), ErrorKind::invalid_input, "<mask>");
  EXPECT_REGARD_ERROR(filler.read("<mask>" + std::string(400, '!')), ErrorKind::invalid_input, "at most 62");
  FillOptions nothing;
  nothing.targets = {""};
  EXPECT_REGARD_ERROR(Filler(model, pool, nothing), ErrorKind::usage, "a target has no tokens");
}

}  // namespace
}  // namespace regard::testing
