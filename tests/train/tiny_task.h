// A translation task that a tiny model learns in a second: English number words to German ones in reverse
// order.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "data/token_store.h"
#include "models/network.h"
#include "models/transformer.h"
#include "support/program.h"
#include "train/objective.h"

namespace regard::train::testing_task {

struct NextToken : Objective {
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return next_token_loss(model, tape, batch, options);
  }
};
inline const NextToken next_token;

inline void write_corpora(const std::filesystem::path& folder, std::size_t pairs = 200) {
  const std::vector<std::string> english{"one", "two", "three", "four", "five", "six"};
  const std::vector<std::string> german{"eins", "zwei", "drei", "vier", "fünf", "sechs"};
  RandomStream random({5, 0, 0});
  for (const char* name : {"train", "valid"}) {
    std::string source, target;
    for (std::size_t i = 0; i < pairs; ++i) {
      std::string left, right;
      for (std::uint64_t word = 1 + random.next_below(5); word > 0; --word) {
        const std::size_t number = random.next_below(english.size());
        left = left.empty() ? english[number] : left + " " + english[number];
        right = right.empty() ? german[number] : german[number] + " " + right;
      }
      source += left + "\n";
      target += right + "\n";
    }
    regard::testing::write_file(folder, std::string(name) + ".en", source);
    regard::testing::write_file(folder, std::string(name) + ".de", target);
    pairs = 20;
  }
}

// Write FOLDER/run.toml and the corpora. Tests change settings with --set.
inline void write_run(const std::filesystem::path& folder) {
  write_corpora(folder);
  regard::testing::write_file(folder, "run.toml", R"(
task = "translation"
[data]
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
[tokenizer]
type = "char"
[model]
encoder_layers = 1
decoder_layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
dropout = 0.1
[training]
learning_rate = 1e-2
schedule = "inverse-sqrt"
warmup_steps = 10
batch_tokens = 120
accumulate = 2
max_steps = 40
average_last = 3
[validation]
every_steps = 10
[output]
folder = "run"
checkpoint_every_steps = 4
log_every_steps = 5
)");
}

inline std::unique_ptr<Network> tiny_model(double dropout = 0.1) {
  TransformerConfig config;
  config.vocabulary = 23;
  config.encoder_layers = config.decoder_layers = 2;
  config.hidden_size = 24;
  config.heads = 3;
  config.feed_forward_size = 40;
  config.dropout = dropout;
  auto model = make_transformer(config);
  initialise(*model, 3);
  return model;
}

inline data::PairStore tiny_pairs(std::size_t count = 300) {
  RandomStream random({9, 0, 0});
  data::PairStore pairs;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int32_t> ids;
    for (std::uint64_t left = 1 + random.next_below(12); left > 0; --left)
      ids.push_back(static_cast<std::int32_t>(4 + random.next_below(19)));
    pairs.source.add(ids);
    ids.push_back(3);
    pairs.target.add(ids);
  }
  return pairs;
}

}  // namespace regard::train::testing_task
