// Pooling of token states into one vector, as configured by the files of a folder: every pooling mode under
// each of its names, dense modules, limits, prompts. Expected vectors are computed from golden token states.
#include <gtest/gtest.h>

#include <cmath>

#include "formats/safetensors.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tasks/embed.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using tasks::Embedder;
using tasks::EmbeddingFolder;
using tasks::EmbedOptions;
using tasks::PoolingMode;

// Hidden states of the tokens of a text, without padding.
using States = std::vector<std::vector<double>>;

std::vector<States> golden_states(const testing::Golden& golden) {
  const Tensor states = golden.tensor("last_hidden_state"), mask = golden.tensor("attention_mask");
  std::vector<States> all;
  for (std::int64_t s = 0; s < states.shape()[0]; ++s) {
    States& text = all.emplace_back();
    for (std::int64_t t = s * states.shape()[1]; t < (s + 1) * states.shape()[1]; ++t)
      if (mask.i64()[t] != 0) text.emplace_back(states.row(t), states.row(t) + states.columns());
  }
  return all;
}

// Return one feature of the pooled vector.
double pooled(PoolingMode mode, const States& text, std::size_t feature) {
  const auto tokens = static_cast<double>(text.size());
  double sum = 0, weighted = 0, weights = 0, most = text[0][feature];
  for (std::size_t t = 0; t < text.size(); ++t) {
    sum += text[t][feature];
    weighted += static_cast<double>(t + 1) * text[t][feature];
    weights += static_cast<double>(t + 1);
    most = std::max(most, text[t][feature]);
  }
  switch (mode) {
    case PoolingMode::cls:
      return text.front()[feature];
    case PoolingMode::last:
      return text.back()[feature];
    case PoolingMode::max:
      return most;
    case PoolingMode::mean:
      return sum / tokens;
    case PoolingMode::mean_sqrt_len:
      return sum / std::sqrt(tokens);
    case PoolingMode::weighted_mean:
      return weighted / weights;
  }
  return 0;
}

struct Named {
  const char *name, *flag;
  PoolingMode mode;
};
constexpr Named kNamed[] = {
    {"cls", "pooling_mode_cls_token", PoolingMode::cls},
    {"max", "pooling_mode_max_tokens", PoolingMode::max},
    {"mean", "pooling_mode_mean_tokens", PoolingMode::mean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", PoolingMode::mean_sqrt_len},
    {"weightedmean", "pooling_mode_weightedmean_tokens", PoolingMode::weighted_mean},
    {"lasttoken", "pooling_mode_lasttoken", PoolingMode::last}};

class Pooling : public ::testing::Test {
 protected:
  // Copy st-max (not normalised) with these files replaced. Return the folder.
  fs::path folder(std::vector<std::pair<std::string, std::string>> files) {
    const fs::path root = temporary_.path() / std::to_string(count_++);
    fs::copy(testing::golden("hf-more/st-max"), root, fs::copy_options::recursive);
    for (const auto& [name, content] : files) testing::write_file(root, name, content);
    return root;
  }
  Tensor embed(const fs::path& root, const EmbedOptions& options = {}) {
    const EmbeddingFolder opened = EmbeddingFolder::open(root, options);
    return Embedder(opened, pool_, options).embed(texts_);
  }
  void expect_pooled(const Tensor& vectors, const std::vector<PoolingMode>& modes, const std::string& what) {
    const std::size_t size = states_[0][0].size();
    ASSERT_EQ(vectors.columns(), static_cast<std::int64_t>(modes.size() * size)) << what;
    for (std::size_t s = 0; s < states_.size(); ++s)
      for (std::size_t m = 0; m < modes.size(); ++m)
        for (std::size_t k = 0; k < size; ++k)
          ASSERT_NEAR(static_cast<double>(vectors.row(static_cast<std::int64_t>(s))[m * size + k]),
                      pooled(modes[m], states_[s], k), 5e-5)
              << what << ", text " << s;
  }

  testing::Golden golden_{"hf-more", "st-max"};
  std::vector<std::string> texts_ = golden_.about()["texts"].get<std::vector<std::string>>();
  std::vector<States> states_ = golden_states(golden_);
  ThreadPool pool_{2};
  testing::TemporaryFolder temporary_;

 private:
  int count_ = 0;
};

TEST_F(Pooling, EveryModeUnderEachOfItsNames) {
  ASSERT_GT(texts_.size(), 2u);
  for (const Named& named : kNamed) {
    const Json by_name = {{"pooling_mode", named.name}}, in_list = {{"pooling_mode", {named.name}}},
               by_flag = {{"pooling_mode_mean_tokens", false}, {named.flag, true}};
    for (const Json& config : {by_name, in_list, by_flag})
      expect_pooled(embed(folder({{"1_Pooling/config.json", config.dump()}})), {named.mode}, config.dump());
    expect_pooled(embed(folder({}), {.pooling = named.mode}), {named.mode}, named.name);
    EXPECT_EQ(tasks::pooling_mode_of(named.name), named.mode);
    EXPECT_STREQ(tasks::name_of(named.mode), named.name);
  }
  EXPECT_EQ(tasks::pooling_mode_of("median"), std::nullopt);
}

TEST_F(Pooling, SeveralModesStandSideBySide) {
  expect_pooled(
      embed(folder({{"1_Pooling/config.json", R"({"pooling_mode": ["lasttoken", "max", "cls"]})"}})),
      {PoolingMode::last, PoolingMode::max, PoolingMode::cls}, "in the order of the list");
  expect_pooled(embed(folder({{"1_Pooling/config.json",
                               R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"}})),
                {PoolingMode::cls, PoolingMode::mean}, "flags, in the library's order");
  expect_pooled(embed(folder({{"1_Pooling/config.json", "{}"}})), {PoolingMode::mean}, "nothing said");
  expect_pooled(embed(folder({{"1_Pooling/config.json", R"({"include_prompt": true})"}})),
                {PoolingMode::mean}, "");
  EXPECT_REGARD_ERROR(
      EmbeddingFolder::open(folder({{"1_Pooling/config.json", R"({"pooling_mode": ["cls", "x"]})"}})),
      ErrorKind::bad_file, "\"x\"");
}

// A dense module with random weights after mean pooling, compared with an explicit sum.
TEST_F(Pooling, DenseModulesMultiplyEveryRow) {
  struct Case {
    const char* name;
    double (*apply)(double);
  };
  const Case cases[] = {{R"("torch.nn.modules.activation.Tanh")", [](double x) { return std::tanh(x); }},
                        {R"("torch.nn.modules.linear.Identity")", [](double x) { return x; }},
                        {R"("torch.nn.modules.activation.ReLU")", [](double x) { return std::max(x, 0.0); }},
                        {R"("torch.nn.modules.activation.GELU")",
                         [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }},
                        {"null", [](double x) { return std::tanh(x); }}};
  const auto size = states_[0][0].size();
  Tensor weight = Tensor::zeros({5, static_cast<std::int64_t>(size)});
  for (std::int64_t i = 0; i < weight.elements(); ++i)
    weight.f32()[i] = static_cast<float>((i * 37 % 101) - 50) / 100.0f;
  const Tensor bias = Tensor::of({0.5f, -0.25f, 0.125f, 0.75f, -1.0f});
  const std::string modules = R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                                  {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                                  {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])";
  for (const Case& one : cases) {
    for (const bool with_bias : {true, false}) {
      const std::string config = std::string(R"({"bias": )") + (with_bias ? "true" : "false") +
                                 (std::string(one.name) == "null" ? "" : R"(, "activation_function": )") +
                                 (std::string(one.name) == "null" ? "" : one.name) + "}";
      const fs::path root = folder({{"modules.json", modules},
                                    {"1_Pooling/config.json", R"({"pooling_mode": "mean"})"},
                                    {"2_Dense/config.json", config}});
      std::vector<formats::NamedTensor> tensors{{"linear.weight", weight}};
      if (with_bias) tensors.push_back({"linear.bias", bias});
      formats::write_safetensors(root / "2_Dense/model.safetensors", tensors, {});
      const Tensor vectors = embed(root);
      ASSERT_EQ(vectors.columns(), 5);
      for (std::size_t s = 0; s < states_.size(); ++s)
        for (std::int64_t row = 0; row < 5; ++row) {
          double sum = with_bias ? static_cast<double>(bias.f32()[row]) : 0.0;
          for (std::size_t k = 0; k < size; ++k)
            sum += static_cast<double>(weight.row(row)[k]) * pooled(PoolingMode::mean, states_[s], k);
          EXPECT_NEAR(static_cast<double>(vectors.row(static_cast<std::int64_t>(s))[row]), one.apply(sum),
                      1e-4)
              << config;
        }
    }
  }
  const fs::path root = folder({{"modules.json", modules}, {"2_Dense/config.json", "{}"}});
  const auto refused = [&](const Tensor& wrong, const Tensor& wrong_bias, const char* part) {
    const formats::NamedTensor tensors[] = {{"linear.weight", wrong}, {"linear.bias", wrong_bias}};
    formats::write_safetensors(root / "2_Dense/model.safetensors", tensors, {});
    EXPECT_REGARD_ERROR(Embedder(EmbeddingFolder::open(root), pool_), ErrorKind::bad_file, part);
  };
  refused(bias, bias, "not a matrix");
  refused(weight, Tensor::of({1.0f}), "linear.bias does not match");
  refused(Tensor::zeros({5, 31}), bias, "[out, 32]");
}

TEST_F(Pooling, FilesGiveLimitsPromptsAndTheMeasure) {
  const auto said = [&](const std::string& name, const std::string& content) {
    return EmbeddingFolder::open(folder({{name, content}}));
  };
  const char* const own = "config_sentence_transformers.json";
  EXPECT_EQ(said("sentence_bert_config.json", R"({"max_seq_length": 7})").modules.most_tokens, 7);
  EXPECT_EQ(said("sentence_bert_config.json", R"({"max_seq_length": 1})").modules.most_tokens, 1);
  EXPECT_REGARD_ERROR(said("sentence_bert_config.json", R"({"do_lower_case": true})"), ErrorKind::bad_file,
                      "do_lower_case");
  EXPECT_TRUE(said(own, R"({"similarity_fn_name": "dot"})").modules.dot);
  EXPECT_FALSE(said(own, R"({"similarity_fn_name": "cosine"})").modules.dot);
  EXPECT_FALSE(said(own, "{}").modules.dot);
  EXPECT_EQ(said(own, R"({"prompts": {"query": "q: "}})").modules.prompt, "");
  const char* const prompts = R"({"prompts": {"query": "q: "}, "default_prompt_name": "query"})";
  EXPECT_EQ(said(own, prompts).modules.prompt, "q: ");
  EXPECT_REGARD_ERROR(said(own, R"({"prompts": {}, "default_prompt_name": "query"})"), ErrorKind::bad_file,
                      "\"query\"");
  EXPECT_REGARD_ERROR(said(own, R"({"default_prompt_name": "query"})"), ErrorKind::bad_file, "\"query\"");
  EXPECT_REGARD_ERROR(said(own, R"({"prompts": 3, "default_prompt_name": "query"})"), ErrorKind::bad_file,
                      "\"query\"");

  // The prompt of the folder is put before the text; an option can replace it.
  const fs::path root = folder({{own, prompts}});
  const EmbeddingFolder prompted = EmbeddingFolder::open(root), plain = EmbeddingFolder::open(folder({}));
  const EmbedOptions without{.prompt = ""};
  const EmbeddingFolder replaced = EmbeddingFolder::open(root, without);
  const Embedder with(prompted, pool_), bare(plain, pool_), overruled(replaced, pool_, without);
  EXPECT_EQ(with.read("green").ids, bare.read("q: green").ids);
  EXPECT_NE(with.read("green").ids, bare.read("green").ids);
  EXPECT_EQ(overruled.read("green").ids, bare.read("green").ids);
}

TEST_F(Pooling, VectorsAreDividedByTheirLengthWhereAsked) {
  const Tensor plain = embed(folder({}), {.pooling = PoolingMode::mean}),
               unit = embed(folder({}), {.pooling = PoolingMode::mean, .normalise = true});
  for (std::int64_t s = 0; s < plain.rows(); ++s) {
    double square = 0;
    for (std::int64_t k = 0; k < plain.columns(); ++k)
      square += static_cast<double>(plain.row(s)[k]) * static_cast<double>(plain.row(s)[k]);
    for (std::int64_t k = 0; k < plain.columns(); ++k)
      EXPECT_NEAR(static_cast<double>(unit.row(s)[k]),
                  static_cast<double>(plain.row(s)[k]) / std::sqrt(square), 1e-6);
  }
}

TEST(Similarities, AreTheDefinitionOfEachPair) {
  ThreadPool pool(2);
  const Tensor a = Tensor::of({1.0f, 2.0f, 2.0f, 0.0f, 3.0f, 4.0f, 0.0f, 0.0f, 0.0f}).reshape({3, 3}),
               b = Tensor::of({2.0f, 0.0f, 0.0f, 1.0f, 1.0f, -1.0f}).reshape({2, 3});
  const Tensor cosine = tasks::similarities(pool, a, b), product = tasks::similarities(pool, a, b, true);
  const double by_hand[3][2] = {{2, 1}, {0, -1}, {0, 0}}, lengths_a[3] = {3, 5, 1},
               lengths_b[2] = {2, std::sqrt(3.0)};
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      EXPECT_EQ(static_cast<double>(product.row(i)[j]), by_hand[i][j]);
      EXPECT_NEAR(static_cast<double>(cosine.row(i)[j]), by_hand[i][j] / (lengths_a[i] * lengths_b[j]), 1e-7);
    }
  EXPECT_REGARD_ERROR(tasks::similarities(pool, a, Tensor::zeros({2, 4})), ErrorKind::usage, "3 and 4");
}

}  // namespace
}  // namespace regard::testing
