#include "models/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::TemporaryFolder;

const char* const kConfig =
    R"({"model_type": "regard-transformer", "kind": "encoder-decoder", "vocabulary": 17,
  "encoder_layers": 2, "decoder_layers": 1, "hidden_size": 16, "heads": 2, "feed_forward_size": 24})";

std::unique_ptr<Network> small_model(std::uint64_t seed) {
  auto model = make_model(parse_json(kConfig, "config.json"));
  initialise(*model, seed);
  return model;
}

void save(Network& model, const std::filesystem::path& folder,
          const std::vector<formats::NamedTensor>& tensors) {
  write_file_atomically(folder / "config.json", model.config().dump());
  formats::write_safetensors(folder / "model.safetensors", tensors);
}

TEST(Weights, WhatIsSavedIsLoadedBitForBit) {
  const TemporaryFolder folder;
  const auto saved = small_model(3);
  save(*saved, folder.path(), weights_of(*saved));
  const auto loaded = load_model(formats::ModelFolder::open(folder.path()));
  const auto before = saved->parameters(), after = loaded->parameters();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i]->name, after[i]->name);
    EXPECT_EQ(std::memcmp(before[i]->value().data(), after[i]->value().data(), before[i]->value().bytes()), 0)
        << before[i]->name;
  }
}

TEST(Weights, HalfPrecisionIsWidened) {
  const TemporaryFolder folder;
  const auto saved = small_model(3);
  std::vector<formats::NamedTensor> halves;
  for (const auto& item : weights_of(*saved)) halves.push_back({item.name, item.tensor.to(DType::bf16)});
  save(*saved, folder.path(), halves);
  const auto loaded = load_model(formats::ModelFolder::open(folder.path()));
  const Parameter& before = *saved->parameters()[0];
  const Parameter& after = *loaded->parameters()[0];
  EXPECT_EQ(after.value().f32()[3], from_bf16(to_bf16(before.value().f32()[3])));
}

TEST(Weights, ThatDoNotFitAreNamed) {
  const auto model = small_model(1);
  const auto good = weights_of(*model);
  const auto expect = [&](const std::vector<formats::NamedTensor>& tensors, const std::string& part) {
    const TemporaryFolder folder;
    save(*model, folder.path(), tensors);
    EXPECT_REGARD_ERROR(load_model(formats::ModelFolder::open(folder.path())), ErrorKind::bad_file, part);
  };
  expect({good.begin() + 1, good.end()}, "\"" + good[0].name + "\" is missing");
  auto more = good;
  more.push_back({"stray", Tensor::of({1})});
  expect(more, "\"stray\" is not part of the model");
  auto other = good;
  other[0].tensor = Tensor::zeros(Shape{3, 3});
  expect(other, "\"" + good[0].name + "\" does not match the config (expected");
}

// GPT-2 ties its output layer to the embedding. A file may contain both, if they are equal.
TEST(Weights, CopiesOfATiedWeightMustBeEqual) {
  const auto original = testing::golden("hf-tiny/gpt2");
  const auto file = formats::SafetensorsFile::open(original / "model.safetensors");
  std::vector<formats::NamedTensor> tensors;
  for (const formats::TensorEntry& entry : file->entries())
    tensors.push_back({entry.name, file->tensor(entry.name)});
  const Tensor embedding = file->tensor("transformer.wte.weight");
  const TemporaryFolder folder;
  std::filesystem::copy_file(original / "config.json", folder / "config.json");
  const auto load_with = [&](const Tensor& copy) {
    auto all = tensors;
    all.push_back({"lm_head.weight", copy});
    formats::write_safetensors(folder / "model.safetensors", all);
    return load_model(formats::ModelFolder::open(folder.path()));
  };
  const auto model = load_with(embedding);
  const auto saved = weights_of(*model);
  EXPECT_EQ(saved.size(), tensors.size() + 1);
  std::size_t found = 0;
  for (const auto& [name, tensor] : saved) {
    if (name != "lm_head.weight") continue;
    ++found;
    ASSERT_EQ(tensor.shape(), embedding.shape());
    EXPECT_EQ(std::memcmp(tensor.data(), embedding.data(), embedding.bytes()), 0);
  }
  EXPECT_EQ(found, 1u);

  Tensor changed = embedding.clone();
  changed.f32()[changed.elements() - 1] += 1.0f;
  const Tensor zeros = Tensor::zeros(embedding.shape());
  for (const Tensor& copy : {changed, zeros.to(DType::bf16), embedding.reshape({32, 120})})
    EXPECT_REGARD_ERROR(load_with(copy), ErrorKind::bad_file,
                        "\"lm_head.weight\" differs from \"transformer.wte.weight\"");
}

}  // namespace
}  // namespace regard::testing
