// Weights for inference: weights in half precision give the same bits as widened weights, int8 weights give
// close results, and saved weights reload unchanged.
#include "models/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/isa_fixture.h"
#include "models/tensor_names.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using testing::Runner;
using testing::TemporaryFolder;
using Logits = std::vector<std::vector<float>>;

const std::vector<std::size_t> kTogether{0, 1, 2, 3}, kShuffled{3, 1, 0, 2};

class HeldWeights : public testing::EachIsa {
 protected:
  Runner runner(Network& model, int threads) const {
    std::vector<testing::Tokens> sources;
    if (model.kind() != ModelKind::decoder)
      sources = testing::random_tokens({3, 40, 1, 17}, model.source_vocabulary(), 5);
    return {model, sources, testing::random_tokens({5, 1, 33, 16}, model.vocabulary(), 6), threads};
  }
  Logits logits(Network& model) const { return runner(model, 1).full(kTogether); }
};

double cosine(const Logits& a, const Logits& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (std::size_t s = 0; s < a.size(); ++s)
    for (std::size_t i = 0; i < a[s].size(); ++i) {
      product += static_cast<double>(a[s][i]) * static_cast<double>(b[s][i]);
      of_a += static_cast<double>(a[s][i]) * static_cast<double>(a[s][i]);
      of_b += static_cast<double>(b[s][i]) * static_cast<double>(b[s][i]);
    }
  return product / std::sqrt(of_a * of_b);
}

// Return the model with every weight rounded to `dtype`, stored as f32.
std::unique_ptr<Network> rounded(const std::string& name, DType dtype) {
  auto model = testing::tiny_model(name);
  for (Parameter* parameter : model->parameters()) {
    if (parameter->use == Parameter::Use::other) continue;
    const Tensor narrow = parameter->value().to(dtype).to(DType::f32);
    std::copy_n(narrow.f32(), narrow.elements(), parameter->value().f32());
  }
  return model;
}

TEST_P(HeldWeights, HalvesGiveTheBitsOfTheWidenedWeights) {
  for (const std::string& name : testing::tiny_model_names())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const auto plain = rounded(name, dtype), held = testing::tiny_model(name);
      hold_as(*held, dtype);
      Runner alone = runner(*held, 1);
      const Logits expected = logits(*plain);
      EXPECT_EQ(alone.full(kTogether), expected) << name << " " << name_of(dtype);
      EXPECT_EQ(alone.cached(kTogether, 1), expected) << name << " " << name_of(dtype);
    }
}

TEST_P(HeldWeights, Int8IsNearAndKeepsTheBitRule) {
  for (const std::string& name : testing::tiny_model_names()) {
    const auto plain = testing::tiny_model(name), held = testing::tiny_model(name);
    quantize(*held);
    const Logits reference = logits(*held);
    EXPECT_GE(cosine(reference, logits(*plain)), 0.995) << name;
    EXPECT_NE(reference, logits(*plain)) << name << ": nothing was quantised";
    for (const int threads : {1, 3}) {
      Runner many = runner(*held, threads);
      const Logits shuffled = many.full(kShuffled), cached = many.cached(kTogether, 7);
      for (std::size_t i = 0; i < kShuffled.size(); ++i) {
        EXPECT_EQ(shuffled[i], reference[kShuffled[i]]) << name << ", " << threads << " threads";
        EXPECT_EQ(cached[i], reference[i]) << name << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(HeldWeights, RecordNothing) {
  const auto model = testing::tiny_model("gpt");
  quantize(*model);
  Runner one = runner(*model, 1);
  EXPECT_REGARD_ERROR(one.loss(1, true), ErrorKind::usage, "loaded for inference");
  EXPECT_REGARD_ERROR(model->set_trainable(true), ErrorKind::usage, "cannot be trained");
}

REGARD_EACH_ISA(HeldWeights);

class SavedInt8 : public ::testing::Test {
 protected:
  // Write the model `name` to plain() and its quantised form to int8().
  void make(const std::string& name) {
    const auto model = testing::tiny_model(name);
    std::filesystem::create_directories(plain());
    write_file_atomically(plain() / "config.json", model->config().dump());
    formats::write_safetensors(plain() / "model.safetensors", weights_of(*model));
    const auto folder = formats::ModelFolder::open(plain());
    save_model(*load_model(folder, WeightMode::int8), folder, int8());
  }
  std::filesystem::path plain() const { return place_.path() / "plain"; }
  std::filesystem::path int8() const { return place_.path() / "int8"; }
  std::vector<formats::NamedTensor> tensors() const {
    const formats::Weights weights = formats::ModelFolder::open(int8()).weights();
    std::vector<formats::NamedTensor> all;
    for (const std::string& name : weights.names()) all.push_back({name, weights.tensor(name).clone()});
    return all;
  }
  // Write these tensors to the folder int8() and load the model.
  void open_with(const std::vector<formats::NamedTensor>& tensors,
                 WeightMode mode = WeightMode::stored) const {
    formats::write_safetensors(int8() / "model.safetensors", tensors);
    load_model(formats::ModelFolder::open(int8()), mode);
  }
  static Logits logits(Network& model) {
    std::vector<testing::Tokens> sources;
    if (model.kind() != ModelKind::decoder)
      sources = testing::random_tokens({9, 4}, model.source_vocabulary(), 7);
    return Runner(model, sources, testing::random_tokens({12, 3}, model.vocabulary(), 8), 1).full({0, 1});
  }
  TemporaryFolder place_;
};

TEST_F(SavedInt8, OpensAsItWasQuantised) {
  for (const std::string& name : testing::tiny_model_names()) {
    make(name);
    const auto folder = formats::ModelFolder::open(int8());
    EXPECT_EQ(folder.config.at("quantization_config").at("quant_method"), "regard");
    EXPECT_EQ(logits(*load_model(folder, WeightMode::stored)),
              logits(*load_model(formats::ModelFolder::open(plain()), WeightMode::int8)))
        << name;
    EXPECT_LT(std::filesystem::file_size(int8() / "model.safetensors"),
              std::filesystem::file_size(plain() / "model.safetensors") * 2 / 3);
    std::filesystem::remove_all(plain()), std::filesystem::remove_all(int8());
  }
}

// NAME · NAME_scale (broadcast) equals the weight within half a step.
TEST_F(SavedInt8, NumbersTimesScalesAreTheWeights) {
  make("translator");
  const auto original = load_model(formats::ModelFolder::open(plain()));
  const auto widened = load_model(formats::ModelFolder::open(int8()));
  const formats::Weights weights = formats::ModelFolder::open(int8()).weights();
  std::int64_t quantised = 0;
  for (std::size_t p = 0; p < original->parameters().size(); ++p) {
    const Parameter& before = *original->parameters()[p];
    const Parameter& after = *widened->parameters()[p];
    const bool int8 = weights.entry(before.name).dtype == "I8";
    EXPECT_EQ(int8, before.use != Parameter::Use::other) << before.name;
    if (!int8) continue;
    ++quantised;
    const Tensor scale = weights.tensor(scale_name(before.name)), numbers = weights.tensor(before.name);
    const std::int64_t columns = before.value().columns();
    EXPECT_EQ(scale.shape(), (Shape{before.value().rows(), 1}));
    for (std::int64_t i = 0; i < before.value().elements(); ++i) {
      const float step = scale.f32()[i / columns];
      ASSERT_EQ(after.value().f32()[i],
                static_cast<float>(static_cast<const std::int8_t*>(numbers.data())[i]) * step);
      ASSERT_NEAR(after.value().f32()[i], before.value().f32()[i], 0.5001f * step) << before.name;
    }
  }
  EXPECT_GT(quantised, 10);
}

TEST_F(SavedInt8, ConvertedBackItIsFloatingPointAgain) {
  make("gpt");
  const auto folder = formats::ModelFolder::open(int8());
  const auto back = place_.path() / "back";
  save_model(*load_model(folder), folder, back, DType::f32);
  const auto again = formats::ModelFolder::open(back);
  EXPECT_FALSE(again.config.contains("quantization_config"));
  EXPECT_EQ(logits(*load_model(again)), logits(*load_model(folder)));
}

// modules.json of sentence-transformers names subfolders, which are copied. The model's own folder is not.
TEST_F(SavedInt8, AModuleThatIsTheFolderItselfIsNotCopied) {
  make("gpt");
  write_file_atomically(plain() / "modules.json", std::string_view(R"([{"path": "."}])"));
  const auto folder = formats::ModelFolder::open(plain());
  const auto again = place_.path() / "again";
  save_model(*load_model(folder, WeightMode::int8), folder, again);
  EXPECT_EQ(std::filesystem::file_size(again / "model.safetensors"),
            std::filesystem::file_size(int8() / "model.safetensors"));
}

TEST_F(SavedInt8, DamagedFoldersAreRefused) {
  make("gpt");
  const std::vector<formats::NamedTensor> good = tensors();
  const auto find = [](std::vector<formats::NamedTensor>& all, bool scale) -> formats::NamedTensor& {
    for (formats::NamedTensor& item : all)
      if (scale ? item.name.ends_with("_scale") : item.tensor.dtype() == DType::i8) return item;
    throw Error(ErrorKind::internal, "no such tensor");
  };
  const auto expect = [&](const std::string& part, auto&& damage) {
    std::vector<formats::NamedTensor> bad;
    for (const auto& item : good) bad.push_back({item.name, item.tensor.clone()});
    damage(bad);
    EXPECT_REGARD_ERROR(open_with(bad), ErrorKind::bad_file, part);
  };
  expect("_scale\" is missing", [&](auto& all) {
    std::erase_if(all, [name = find(all, true).name](const auto& item) { return item.name == name; });
  });
  expect("_scale\" is not finite",
         [&](auto& all) { find(all, true).tensor.f32()[0] = std::numeric_limits<float>::quiet_NaN(); });
  expect("-128", [&](auto& all) { static_cast<std::int8_t*>(find(all, false).tensor.data())[1] = -128; });
  expect("has a wrong dtype or size", [&](auto& all) { find(all, true).tensor = Tensor::zeros({3, 1}); });
  expect("has a wrong dtype or size", [&](auto& all) {
    formats::NamedTensor& scale = find(all, true);
    scale.tensor = scale.tensor.to(DType::f16);
  });
  // int8 tensors need a scale, and vectors must not be int8.
  for (const bool scaled : {false, true}) {
    expect(scaled ? "unsupported dtype" : "norm.weight_scale\" is missing", [&](auto& all) {
      for (auto& item : std::vector(all)) {
        if (!item.name.ends_with("norm.weight")) continue;
        for (auto& same : all)
          if (same.name == item.name) same.tensor = Tensor::zeros(item.tensor.shape(), DType::i8);
        if (scaled) all.push_back({scale_name(item.name), Tensor::zeros({item.tensor.shape()[0], 1})});
      }
    });
  }
  expect("does not match", [&](auto& all) { find(all, false).tensor = Tensor::zeros({2, 2}, DType::i8); });
  EXPECT_NO_THROW(open_with(good));
}

TEST_F(SavedInt8, WeightsThatAreNotFiniteAreNotQuantised) {
  const auto model = testing::tiny_model("gpt");
  for (Parameter* parameter : model->parameters())
    if (parameter->use == Parameter::Use::linear)
      parameter->value().f32()[0] = std::numeric_limits<float>::infinity();
  EXPECT_REGARD_ERROR(quantize(*model), ErrorKind::numeric, "not finite");
}

TEST(Quantization, ConfigIsChangedOnlyIfItMustBe) {
  const Json plain{{"model_type", "bert"}, {"hidden_size", 4}};
  Json config = plain;
  EXPECT_FALSE(is_quantized(config));
  EXPECT_FALSE(set_quantization(config, false));
  EXPECT_EQ(config, plain);
  EXPECT_TRUE(set_quantization(config, true));
  EXPECT_TRUE(is_quantized(config));
  EXPECT_EQ(config["quantization_config"]["bits"], 8);
  const Json int8 = config;
  EXPECT_FALSE(set_quantization(config, true));
  EXPECT_EQ(config, int8);
  EXPECT_TRUE(set_quantization(config, false));
  EXPECT_EQ(config, plain);
  // The quantisation of other programs is not changed.
  for (const Json& other : {Json{{"quant_method", "awq"}}, Json("regard"), Json(nullptr)}) {
    Json foreign{{"quantization_config", other}};
    EXPECT_FALSE(is_quantized(foreign)) << other;
    EXPECT_FALSE(set_quantization(foreign, false));
    EXPECT_EQ(foreign["quantization_config"], other);
  }
}

}  // namespace
}  // namespace regard::testing
