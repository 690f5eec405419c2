// Sentence vectors compared with sentence-transformers, alone and in batches, and with ablated heads.
#include "tasks/embed.h"

#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "inspect/ablation.h"
#include "regard/error.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "tasks/best.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using tasks::Embedder;
using tasks::EmbeddingFolder;
using tasks::EmbedOptions;

fs::path folder_of(const std::string& name) {
  return testing::golden("hf-more/" + name);
}

std::vector<std::string> texts_of(const testing::Golden& golden) {
  return golden.about()["texts"].get<std::vector<std::string>>();
}

class AsSentenceTransformers : public ::testing::TestWithParam<const char*> {};

TEST_P(AsSentenceTransformers, VectorsOfTheWholeBatchAndOfEachTextAlone) {
  const testing::Golden golden("hf-more", GetParam());
  const EmbeddingFolder folder = EmbeddingFolder::open(folder_of(GetParam()));
  ThreadPool pool(2);
  Embedder embedder(folder, pool);
  const std::vector<std::string> texts = texts_of(golden);
  const Tensor together = embedder.embed(texts);
  testing::expect_close(together, golden.tensor("sentence_embedding"), 2e-5, 1.0, GetParam());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Tensor alone = embedder.embed(std::span(&texts[i], 1));
    for (std::int64_t k = 0; k < alone.elements(); ++k)
      ASSERT_EQ(alone.f32()[k], together.row(static_cast<std::int64_t>(i))[k]) << "company changes bits";
  }
  EXPECT_TRUE(embedder.read(texts.back()).cut) << "max_seq_length is 16 and the last text is longer";
  EXPECT_EQ(embedder.read(texts.back()).tokens(), 16);
  testing::expect_close(tasks::similarities(pool, together, together), golden.tensor("similarity"), 2e-5, 1.0,
                        "similarity");
}

INSTANTIATE_TEST_SUITE_P(, AsSentenceTransformers, ::testing::Values("st-mean", "st-cls", "st-max"));

TEST(Embed, OptionsStandInForTheFolders) {
  const testing::Golden golden("hf-more", "st-max");  // the vectors of this folder are not normalised
  const std::vector<std::string> texts = texts_of(golden);
  ThreadPool pool(1);
  const EmbedOptions mean{.pooling = tasks::PoolingMode::mean, .normalise = true};
  const EmbeddingFolder folder = EmbeddingFolder::open(folder_of("st-max"), mean);
  const Tensor vectors = Embedder(folder, pool, mean).embed(texts);
  // Compute mean pooling from the golden token states.
  const Tensor states = golden.tensor("last_hidden_state"), mask = golden.tensor("attention_mask");
  for (std::int64_t s = 0; s < vectors.rows(); ++s) {
    std::vector<double> sum(static_cast<std::size_t>(vectors.columns()), 0.0);
    double square = 0;
    for (std::int64_t t = 0; t < states.shape()[1]; ++t)
      for (std::size_t k = 0; k < sum.size() && mask.i64()[s * states.shape()[1] + t] != 0; ++k)
        sum[k] += static_cast<double>(states.row(s * states.shape()[1] + t)[k]);
    for (const double x : sum) square += x * x;
    for (std::size_t k = 0; k < sum.size(); ++k)
      EXPECT_NEAR(static_cast<double>(vectors.row(s)[k]), sum[k] / std::sqrt(square), 2e-5);
  }
}

TEST(Embed, TextThatMustNotBeCutIsRefused) {
  const EmbedOptions whole{.cut = false};
  const EmbeddingFolder folder = EmbeddingFolder::open(folder_of("st-mean"), whole);
  ThreadPool pool(1);
  Embedder embedder(folder, pool, whole);
  const std::vector<std::string> texts = texts_of(testing::Golden("hf-more", "st-mean"));
  EXPECT_EQ(embedder.read(texts[0]).cut, false);
  try {
    embedder.read(texts.back());
    FAIL() << "a text over the limit was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
    EXPECT_NE(std::string(error.what()).find("at most 16"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Embedder(folder, pool, {.most_tokens = 2}), Error) << "no room for a word";
  EXPECT_THROW(Embedder(folder, pool, {.most_tokens = 100000}), Error) << "more than the model's positions";
}

TEST(Embed, EmptyTextIsItsSpecialTokens) {
  const EmbeddingFolder folder = EmbeddingFolder::open(folder_of("st-mean"));
  ThreadPool pool(1);
  Embedder embedder(folder, pool);
  EXPECT_EQ(embedder.read("").tokens(), 2);  // only [CLS] and [SEP]
  const std::string empty[] = {""};
  double square = 0;
  const Tensor vector = embedder.embed(empty);
  for (std::int64_t k = 0; k < vector.elements(); ++k)
    square += static_cast<double>(vector.f32()[k]) * static_cast<double>(vector.f32()[k]);
  EXPECT_NEAR(square, 1.0, 1e-5);
}

TEST(Embed, HeadsThatAreSwitchedOffChangeTheVectors) {
  const EmbeddingFolder folder = EmbeddingFolder::open(folder_of("st-mean"));
  ThreadPool pool(1);
  const auto probe = inspect::ablation(*folder.loaded.model, pool, {{inspect::Kind::encoder, 1, 0}});
  const std::vector<std::string> texts = texts_of(testing::Golden("hf-more", "st-mean"));
  const Tensor whole = Embedder(folder, pool).embed(texts),
               less = Embedder(folder, pool, {}, probe.get()).embed(texts);
  double difference = 0;
  for (std::int64_t k = 0; k < whole.elements(); ++k)
    difference = std::max(difference, std::abs(static_cast<double>(whole.f32()[k] - less.f32()[k])));
  EXPECT_GT(difference, 1e-3);
}

// Copy st-mean with the content of file `name` replaced. Return the folder.
fs::path changed_folder(const fs::path& root, const std::string& name, const std::string& content) {
  fs::copy(folder_of("st-mean"), root, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::permissions(root, fs::perms::owner_all, fs::perm_options::add);
  testing::write_file(root, name, content);
  return root;
}

TEST(Embed, DenseModuleIsALinearLayerWithItsActivation) {
  testing::TemporaryFolder temporary;
  const fs::path root = changed_folder(temporary.path() / "model", "modules.json", R"([
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  testing::write_file(root, "2_Dense/config.json",
                      R"({"in_features": 32, "out_features": 2, "bias": true,
                          "activation_function": "torch.nn.modules.activation.Tanh"})");
  Tensor weight = Tensor::zeros({2, 32});
  weight.row(0)[3] = 2.0f, weight.row(1)[5] = -1.0f;
  const formats::NamedTensor tensors[] = {{"linear.weight", weight},
                                          {"linear.bias", Tensor::of({0.25f, 0.5f})}};
  formats::write_safetensors(root / "2_Dense/model.safetensors", tensors, {});
  ThreadPool pool(1);
  const std::string text[] = {"Green."};
  const EmbedOptions plain{.normalise = false};
  const EmbeddingFolder dense = EmbeddingFolder::open(root),
                        pooled = EmbeddingFolder::open(folder_of("st-mean"), plain);
  Embedder embedder(dense, pool);
  ASSERT_EQ(embedder.size(), 2);
  const Tensor before = Embedder(pooled, pool, plain).embed(text), after = embedder.embed(text);
  EXPECT_NEAR(after.f32()[0], std::tanh(2.0f * before.f32()[3] + 0.25f), 1e-6);
  EXPECT_NEAR(after.f32()[1], std::tanh(0.5f - before.f32()[5]), 1e-6);
}

// The expected pooling excludes the prompt's tokens. It is computed from the golden token states of the whole
// text.
TEST(Embed, ThePromptsTokensAreLeftOutOfPooling) {
  const testing::Golden golden("hf-more", "st-mean");
  const Tensor states = golden.tensor("last_hidden_state");
  const std::string whole = texts_of(golden)[0], prompt = "Water on ";
  ASSERT_TRUE(whole.starts_with(prompt));
  testing::TemporaryFolder temporary;
  const fs::path root = changed_folder(temporary.path() / "model", "1_Pooling/config.json",
                                       R"({"pooling_mode": ["cls", "max", "mean", "mean_sqrt_len_tokens",
                                           "weightedmean", "lasttoken"], "include_prompt": false})");
  const EmbedOptions options{.normalise = false, .prompt = prompt};
  const EmbeddingFolder folder = EmbeddingFolder::open(root, options);
  ThreadPool pool(1);
  Embedder embedder(folder, pool, options);
  const std::string rest[] = {whole.substr(prompt.size())};
  const Tensor vector = embedder.embed(rest);
  const std::int64_t tokens = embedder.read(rest[0]).tokens();
  // [CLS] and the prompt, counted as in sentence-transformers: the prompt's ids without the final [SEP].
  const std::int64_t skipped = std::ssize(folder.loaded.source->encode_ids(prompt)) - 1;
  ASSERT_GT(skipped, 1);
  ASSERT_EQ(tokens, std::ssize(folder.loaded.source->encode_ids(whole)));
  const std::int64_t size = states.columns();
  for (std::int64_t k = 0; k < size; ++k) {
    double sum = 0, most = -1e9, weighted = 0, weights = 0;
    for (std::int64_t t = skipped; t < tokens; ++t) {
      const auto x = static_cast<double>(states.row(t)[k]);
      sum += x, most = std::max(most, x);
      weighted += x * static_cast<double>(t + 1), weights += static_cast<double>(t + 1);
    }
    const auto left = static_cast<double>(tokens - skipped);
    const double expected[] = {static_cast<double>(states.row(0)[k]),
                               most,
                               sum / left,
                               sum / std::sqrt(left),
                               weighted / weights,
                               static_cast<double>(states.row(tokens - 1)[k])};
    for (std::int64_t mode = 0; mode < 6; ++mode)
      ASSERT_NEAR(static_cast<double>(vector.f32()[mode * size + k]), expected[mode], 2e-5)
          << "mode " << mode;
  }
}

TEST(Embed, TheTokenizersLimitCountsWhereTheModulesNameNone) {
  testing::TemporaryFolder temporary;
  const fs::path root = changed_folder(temporary.path() / "model", "sentence_bert_config.json",
                                       R"({"transformer_task": "feature-extraction"})");
  ThreadPool pool(1);
  const std::string text = texts_of(testing::Golden("hf-more", "st-mean")).back();
  const auto read = [&] {
    const EmbeddingFolder folder = EmbeddingFolder::open(root);
    return Embedder(folder, pool).read(text);
  };
  EXPECT_EQ(read().tokens(), 32) << "model_max_length";
  EXPECT_TRUE(read().cut);
  fs::remove(root / "sentence_bert_config.json");
  EXPECT_EQ(read().tokens(), 32);
  testing::write_file(root, "tokenizer_config.json",
                      R"({"model_max_length": 1000000000000000019884624838656})");
  const auto limit = [&] { return EmbeddingFolder::open(root).modules.most_tokens; };
  EXPECT_LE(limit(), 0) << "transformers' name for no limit";
  testing::write_file(root, "tokenizer_config.json", R"({"model_max_length": 0})");
  EXPECT_LE(limit(), 0);
  testing::write_file(root, "tokenizer_config.json", R"({"model_max_length": 1})");
  EXPECT_EQ(limit(), 1);
  testing::write_file(root, "sentence_bert_config.json", R"({"max_seq_length": 20})");
  EXPECT_EQ(limit(), 20) << "the modules' limit replaces the tokenizer's";
  fs::remove(root / "sentence_bert_config.json"), fs::remove(root / "tokenizer_config.json");
  EXPECT_LE(limit(), 0) << "no file has a limit";
}

TEST(Embed, FoldersThatSayWhatIsNotKnownAreRefused) {
  struct Case {
    const char *name, *content;
  };
  for (const Case& bad :
       {Case{"modules.json", "{}"}, Case{"modules.json", "[]"},
        Case{"modules.json", R"([{"path": "", "type": "sentence_transformers.models.BoW"}])"},
        Case{"modules.json", R"([{"path": "../x", "type": "a.Transformer"}])"},
        Case{"1_Pooling/config.json", R"({"pooling_mode": "median"})"}, Case{"1_Pooling/config.json", "[1]"},
        Case{"sentence_bert_config.json", R"({"max_seq_length": -3})"},
        Case{"sentence_bert_config.json", R"({"max_seq_length": "many"})"}}) {
    testing::TemporaryFolder temporary;
    const fs::path root = changed_folder(temporary.path() / "model", bad.name, bad.content);
    try {
      EmbeddingFolder::open(root);
      ADD_FAILURE() << bad.name << " " << bad.content << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << bad.content;
      EXPECT_NE(std::string(error.what()).find(bad.name), std::string::npos) << error.what();
    }
  }
}

TEST(Embed, TheBestAreInOrderAndEqualOnesInTheirs) {
  const float similar[] = {0.5f, 0.9f, 0.5f, -1.0f};
  EXPECT_EQ(tasks::best_of(similar, 3), (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(tasks::best_of(similar, 9).size(), 4u);
}

}  // namespace
}  // namespace regard::testing
