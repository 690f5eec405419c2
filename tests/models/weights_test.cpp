#include "models/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/parameter.h"
#include "support/namespaces.h"
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

}  // namespace
}  // namespace regard::testing
