// One training step of a task compared with the loss and gradients of transformers' class.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "train/task.h"

namespace regard::train {

// Copy the model folder tests/data/NAME to `to`, with all dropout rates in config.json set to 0.
inline void write_without_dropout(const std::string& name, const std::filesystem::path& to) {
  const std::filesystem::path from = regard::testing::golden(name);
  for (const auto& item : std::filesystem::directory_iterator(from))
    if (item.is_directory())
      for (const auto& inner : std::filesystem::directory_iterator(item))
        regard::testing::write_file(to / item.path().filename(), inner.path().filename().string(),
                                    read_file(inner.path()));
    else if (item.path().filename() != "golden.safetensors" && item.path().filename() != "case.json")
      regard::testing::write_file(to, item.path().filename().string(), read_file(item.path()));
  Json config = read_json((from / "config.json").string());
  for (const char* key :
       {"hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"})
    if (config.contains(key)) config[key] = 0.0;
  regard::testing::write_file(to, "config.json", config.dump());
}

// Return the inputs of the golden file as a batch, without padding and without labels.
inline Batch batch_of(const regard::testing::Golden& golden) {
  Batch batch;
  const Tensor ids = golden.tensor("input_ids");
  const std::int64_t length = ids.shape()[1];
  for (std::int64_t row = 0; row < ids.shape()[0]; ++row) {
    std::vector<std::int32_t> tokens, types;
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (golden.has("attention_mask") && golden.tensor("attention_mask").i64()[i] == 0) continue;
      tokens.push_back(static_cast<std::int32_t>(ids.i64()[i]));
      types.push_back(static_cast<std::int32_t>(
          golden.has("token_type_ids") ? golden.tensor("token_type_ids").i64()[i] : 0));
    }
    batch.add_text(tokens, types, static_cast<std::uint64_t>(row));
  }
  return batch;
}

// Add the labels of all tokens of the golden file except padding.
inline void add_token_labels(const regard::testing::Golden& golden, Batch& batch) {
  const Tensor labels = golden.tensor("labels");
  for (std::int64_t i = 0; i < labels.elements(); ++i)
    if (!golden.has("attention_mask") || golden.tensor("attention_mask").i64()[i] != 0)
      batch.labels.push_back(static_cast<std::int32_t>(labels.i64()[i]));
}

// Compare every gradient of the golden file, with tolerance 1e-5.
inline void expect_gradients(Network& model, const regard::testing::Golden& golden) {
  std::map<std::string, const Parameter*> parameters;
  for (const Parameter* parameter : model.parameters()) parameters[parameter->name] = parameter;
  std::size_t compared = 0;
  for (const auto& entry : golden.entries()) {
    if (!entry.name.starts_with("grad.")) continue;
    const auto found = parameters.find(entry.name.substr(5));
    ASSERT_NE(found, parameters.end()) << entry.name;
    regard::testing::expect_close(found->second->gradient(), golden.tensor(entry.name), 1e-5, 1.0,
                                  entry.name);
    ++compared;
  }
  EXPECT_GE(compared, 30u);
}

// Compare the task's loss of the batch, and its gradients, with the golden file.
inline void expect_step(const Objective& task, Network& model, const regard::testing::Golden& golden,
                        const Batch& batch) {
  model.set_trainable(true);
  model.clear_gradients();
  ThreadPool pool(2);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  Var loss = task.loss(model, tape, batch, {.factor = static_cast<float>(1.0 / batch.weight())});
  EXPECT_NEAR(loss->value.f32()[0], golden.tensor("loss").f32()[0], 1e-5);
  tape.backward(loss);
  expect_gradients(model, golden);
}

// Compare loss and gradients of the model in tests/data/FOLDER/NAME with its golden file.
inline void expect_step(const Objective& task, const std::string& folder, const std::string& name,
                        const Batch& batch) {
  const auto model = load_model(formats::ModelFolder::open(regard::testing::golden(folder + "/" + name)));
  expect_step(task, *model, regard::testing::Golden(folder, name), batch);
}

}  // namespace regard::train
