#include "support/tiny_models.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/random.h"
#include "nn/cache.h"
#include "ops/ragged.h"

namespace regard::testing {

std::vector<std::string> tiny_model_names() {
  return {"translator", "postnorm", "gpt", "llama"};
}

TransformerConfig tiny_config(const std::string& name) {
  TransformerConfig config;
  config.vocabulary = 37;
  config.encoder_layers = 2, config.decoder_layers = 2, config.layers = 2;
  config.hidden_size = 32, config.heads = 4, config.feed_forward_size = 48;
  config.dropout = 0.2;
  if (name == "translator") return config;
  if (name == "postnorm") {
    config.norm = "post", config.positions = "learned", config.max_positions = 200;
    config.tie_embeddings = "none", config.activation = "gelu", config.source_vocabulary = 29;
    return config;
  }
  config.kind = "decoder";
  if (name == "gpt") {
    config.positions = "learned", config.max_positions = 200;
    config.bias = false, config.activation = "gelu", config.activation_dropout = 0.0;
    return config;
  }
  if (name == "llama") {
    config.norm_kind = "rms", config.positions = "rotary", config.gated = true;
    config.activation = "silu", config.kv_heads = 2, config.tie_embeddings = "none";
    return config;
  }
  throw std::invalid_argument(name);
}

std::unique_ptr<Network> tiny_model(const std::string& name, std::uint64_t seed) {
  std::unique_ptr<Network> model = make_transformer(tiny_config(name));
  initialise(*model, seed);
  return model;
}

std::vector<Tokens> random_tokens(const std::vector<std::int64_t>& lengths, std::int64_t vocabulary,
                                  std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("random tokens")});
  std::vector<Tokens> all;
  for (const std::int64_t length : lengths) {
    all.emplace_back();
    for (std::int64_t i = 0; i < length; ++i)
      all.back().push_back(
          static_cast<std::int32_t>(stream.next_below(static_cast<std::uint64_t>(vocabulary))));
  }
  return all;
}

Runner::Runner(Network& model, std::vector<Tokens> sources, std::vector<Tokens> targets, int threads)
    : model_(model), sources_(std::move(sources)), targets_(std::move(targets)), pool_(threads) {
  everyone_.resize(targets_.size());
  std::iota(everyone_.begin(), everyone_.end(), std::size_t{0});
}

void Runner::fill(Side& side, const std::vector<Tokens>& from, const std::vector<std::size_t>& order) {
  side.ids.clear();
  side.buffer.clear();
  for (const std::size_t i : order) {
    side.ids.insert(side.ids.end(), from[i].begin(), from[i].end());
    side.buffer.add(static_cast<std::int64_t>(from[i].size()), i);
  }
}

Var Runner::decode(const std::vector<std::size_t>& order) {
  fill(target_, targets_, order);
  if (model_.kind() == ModelKind::decoder) return model_.decode(tape_, target_.batch(), nullptr, nullptr);
  fill(source_, sources_, order);
  const Memory memory{model_.encode(tape_, source_.batch()), source_.buffer.view()};
  return model_.decode(tape_, target_.batch(), &memory, nullptr);
}

std::vector<std::vector<float>> Runner::full(const std::vector<std::size_t>& order, bool training) {
  tape_.begin({.record = false, .training = training, .seed = 3, .step = 4});
  const Tensor logits = model_.logits(tape_, decode(order))->value;
  std::vector<std::vector<float>> all;
  std::int64_t row = 0;
  for (const std::size_t i : order) {
    const auto count = static_cast<std::int64_t>(targets_[i].size());
    all.emplace_back(logits.row(row), logits.row(row) + count * logits.columns());
    row += count;
  }
  return all;
}

std::vector<std::vector<float>> Runner::cached(const std::vector<std::size_t>& order, std::int64_t step) {
  std::int64_t longest = 0;
  for (const std::size_t i : order) longest = std::max<std::int64_t>(longest, std::ssize(targets_[i]));
  Cache cache(model_.cache_shape(), static_cast<std::int64_t>(order.size()), longest);
  std::vector<std::vector<float>> all(order.size());

  Tape encoder_tape(pool_, encoder_arena_);
  encoder_tape.begin({});
  for (std::int64_t done = 0; done < longest; done += step) {
    Tokens slots;
    target_.ids.clear(), target_.buffer.clear(), source_.ids.clear(), source_.buffer.clear();
    for (std::size_t s = 0; s < order.size(); ++s) {
      const Tokens& target = targets_[order[s]];
      const std::int64_t count = std::min(step, std::ssize(target) - done);
      if (count <= 0) continue;
      slots.push_back(static_cast<std::int32_t>(s));
      target_.ids.insert(target_.ids.end(), target.begin() + done, target.begin() + done + count);
      target_.buffer.add(count, order[s], static_cast<std::int32_t>(done));
      if (model_.kind() == ModelKind::decoder || done > 0) continue;
      const Tokens& source = sources_[order[s]];
      source_.ids.insert(source_.ids.end(), source.begin(), source.end());
      source_.buffer.add(std::ssize(source), order[s]);
    }
    cache.select(slots);
    tape_.begin({});
    Memory memory;
    if (!source_.ids.empty()) memory = {model_.encode(encoder_tape, source_.batch()), source_.buffer.view()};
    const Tensor logits = model_.logits(tape_, model_.decode(tape_, target_.batch(), &memory, &cache))->value;
    const Ragged shape = target_.buffer.view();
    for (std::size_t s = 0; s < slots.size(); ++s)
      all[static_cast<std::size_t>(slots[s])].insert(all[static_cast<std::size_t>(slots[s])].end(),
                                                     logits.row(shape.offsets[s]),
                                                     logits.row(shape.offsets[s + 1]));
  }
  return all;
}

float Runner::loss(std::uint64_t step, bool backward) {
  tape_.begin({.record = backward, .training = true, .seed = 9, .step = step});
  Var hidden = decode(everyone_);
  labels_.clear();
  for (const Tokens& target : targets_) {
    labels_.insert(labels_.end(), target.begin() + 1, target.end());
    labels_.push_back(kIgnoredLabel);
  }
  Var loss = model_.loss(tape_, hidden, labels_, 0.1f, 1.0f / static_cast<float>(labels_.size()));
  if (backward) tape_.backward(loss);
  return loss->value.f32()[0];
}

}  // namespace regard::testing
