// The recurrent encoder–decoder, "model_type": "regard-rnn-search".
#include <algorithm>
#include <mutex>

#include "base/json.h"
#include "models/check_memory.h"
#include "models/pass_locks.h"
#include "models/search_decoder.h"
#include "models/state_cache.h"
#include "nn/branch.h"
#include "nn/embedding.h"
#include "ops/check.h"
#include "ops/replacing_probe.h"
#include "regard/error.h"

namespace regard::models {
namespace {

constexpr Initialisation kEmbedding{Initialisation::Kind::normal, 0.1};

nn::RecurrentConfig encoder_config(const SequenceConfig& config) {
  nn::RecurrentConfig layers;
  layers.cell = config.cell, layers.input = config.embedding, layers.layers = config.encoder_layers;
  layers.hidden = config.bidirectional ? config.hidden / 2 : config.hidden;
  layers.bidirectional = config.bidirectional, layers.dropout = config.dropout;
  return layers;
}

class SearchModel : public Network {
 public:
  SearchModel(const SequenceConfig& config, const Json& json)
      : config_(config),
        json_(json),
        target_(config.shared_vocabulary ? "embedding" : "decoder.embedding", config.vocabulary,
                config.embedding, kEmbedding),
        encoder_("encoder.rnn.", "encoder", encoder_config(config)),
        decoder_(config) {
    if (!config.shared_vocabulary)
      source_ = std::make_unique<nn::Embedding>("encoder.embedding", config.source_vocabulary,
                                                config.embedding, kEmbedding);
    if (!config.tied)
      projection_ = std::make_unique<nn::Embedding>("head", config.vocabulary, config.hidden, kXavier);
  }

  ModelKind kind() const override { return ModelKind::encoder_decoder; }
  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t source_vocabulary() const override { return config_.source_vocabulary; }
  const InputSpec& input_spec() const override { return input_; }
  std::int64_t hidden_size() const override { return config_.hidden; }
  std::int64_t max_positions() const override { return 0; }
  Json config() const override { return json_; }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    if (source_) source_->collect(all);
    target_.collect(all);
    encoder_.collect(all);
    decoder_.collect(all);
    if (projection_) projection_->collect(all);
    return all;
  }

  Var encode(Tape& tape, const InputBatch& source) override {
    const PassLocks locks(one_pass_, tape);
    require_unmasked_text(source, "a recurrent network");
    Var x = embed(tape, source_ ? *source_ : target_, source, "encoder");
    x = encoder_.forward(tape, x, source.shape);
    return nn::show(tape, "encoder", "output", x);
  }

  Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) override {
    const PassLocks locks(one_pass_, tape);
    require_unmasked_text(target, "a recurrent network");
    if (cache != nullptr) return decode_cached(tape, target, memory, *cache);
    check_memory(memory, target.shape.sequences());
    const std::vector<Var> states = decoder_.first_states(tape, memory->hidden, memory->shape);
    return run(tape, target, decoder_.source(tape, memory->hidden, memory->shape), {states, {}});
  }

  Var head(Tape& tape, Var hidden, const InputBatch&) override { return logits(tape, hidden); }
  Var logits(Tape& tape, Var hidden) override {
    const PassLocks locks(one_pass_, tape);
    return projection().logits(tape, hidden);
  }
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
           float factor) override {
    const PassLocks locks(one_pass_, tape);
    return projection().loss(tape, hidden, labels, {label_smoothing, kIgnoredLabel, factor});
  }

  // Key rows of the cache contain the decoder's states or, for cross-attention, the source's keys. Value rows
  // contain the encoder's states.
  CacheShape cache_shape() const override {
    const std::int64_t keys = decoder_.has_keys() ? config_.hidden : 0;
    return {config_.layers,
            std::max(decoder_.state_size(), keys),
            decoder_.attends() ? config_.hidden : 0,
            true,
            0,
            kStateWindow};
  }

  void prepare_for_inference(const nn::Preparation& how) override {
    const std::lock_guard lock(one_pass_);
    if (source_) source_->prepare_for_inference(how);
    target_.prepare_for_inference(how);
    encoder_.prepare_for_inference(how);
    decoder_.prepare_for_inference(how);
    if (projection_) projection_->prepare_for_inference(how);
  }

 private:
  const nn::Embedding& projection() const { return projection_ ? *projection_ : target_; }

  Var embed(Tape& tape, const nn::Embedding& table, const InputBatch& batch, const std::string& point) const {
    if (ReplacingProbe* probe = replacing_probe(tape)) probe->begin(point, batch.shape);
    Var x = nn::show(tape, point, "embedding", table.forward(tape, batch.ids));
    return ops::dropout(tape, x, batch.shape, {config_.dropout, place_of(point + ".embedding.dropout")});
  }

  Var run(Tape& tape, const TokenBatch& target, const SearchSource& source,
          const nn::RecurrentStates& states) const {
    Var x = embed(tape, target_, target, "decoder");
    x = decoder_.forward(tape, x, target.shape, source, states);
    x = nn::show(tape, "decoder", "output", x);
    return nn::dropped_copy(tape, x, target.shape, {config_.dropout, place_of("decoder.output.dropout")});
  }

  Var decode_cached(Tape& tape, const TokenBatch& target, const Memory* memory, Cache& cache) const {
    reserve_states(tape, cache, target);
    const std::vector<Var> first = start_sources(tape, memory, cache);
    const std::size_t layers = static_cast<std::size_t>(config_.layers);
    const std::span<Var> initial = tape.arena().array<Var>(layers);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Tensor state = tape.arena().zeros({target.shape.sequences(), decoder_.state_size()});
      std::int64_t fresh = 0;
      for (std::size_t s = 0; s < cache.slots().size(); ++s) {
        const std::int32_t slot = cache.slots()[s];
        float* const row = state.row(static_cast<std::int64_t>(s));
        if (cache.cross_is_new(slot))
          std::copy_n(first[layer]->value.row(fresh++), decoder_.state_size(), row);
        else
          read_state(cache, static_cast<std::int64_t>(layer), slot, decoder_.state_size(), row);
      }
      initial[layer] = tape.constant(state);
    }
    const std::span<ops::Recurrence> after = tape.arena().array<ops::Recurrence>(layers);
    Var hidden = run(tape, target, cached_source(tape, cache), {initial, after});
    write_states(tape, cache, target, after);
    return hidden;
  }

  // Store the encoded source of each selected slot that has none yet. Return the decoder's initial states for
  // these slots, one variable per layer.
  std::vector<Var> start_sources(Tape& tape, const Memory* memory, Cache& cache) const {
    const std::span<const std::int32_t> slots = cache.slots();
    const auto lacks = [&](std::int32_t slot) { return !cache.has_cross(slot); };
    const std::int64_t lacking = std::count_if(slots.begin(), slots.end(), lacks);
    if (lacking == 0) return {};
    check_memory(memory, lacking);
    const SearchSource source = decoder_.source(tape, memory->hidden, memory->shape);
    const Tensor keys = tape.arena().zeros({memory->hidden->value.rows(), cache.shape().key_width});
    for (std::int64_t t = 0; source.keys != nullptr && t < keys.rows(); ++t)
      std::copy_n(source.keys->value.row(t), config_.hidden, keys.row(t));
    std::size_t next = 0;
    for (const std::int32_t slot : slots) {
      if (!lacks(slot)) continue;
      const std::int64_t begin = memory->shape.offsets[next], count = memory->shape.offsets[next + 1] - begin;
      ++next;
      cache.start_cross(slot, count);
      cache.set_cross(
          0, slot,
          {keys.row(begin), memory->hidden->value.row(begin), keys.columns(), config_.hidden, count});
    }
    return decoder_.first_states(tape, memory->hidden, memory->shape);
  }

  // Return the encoded sources of all selected slots, copied from the cache.
  SearchSource cached_source(Tape& tape, const Cache& cache) const {
    const std::span<const std::int32_t> slots = cache.slots();
    const std::span<std::int32_t> offsets = tape.arena().array<std::int32_t>(slots.size() + 1);
    offsets[0] = 0;
    for (std::size_t s = 0; s < slots.size(); ++s)
      offsets[s + 1] = offsets[s] + static_cast<std::int32_t>(cache.cross_length(slots[s]));
    const auto tokens = static_cast<std::size_t>(offsets.back());
    const std::span<std::int32_t> positions = tape.arena().array<std::int32_t>(tokens);
    const std::span<std::uint64_t> indices = tape.arena().array<std::uint64_t>(tokens);
    std::fill(positions.begin(), positions.end(), 0), std::fill(indices.begin(), indices.end(), 0u);
    SearchSource source;
    source.shape = {offsets, positions, indices};
    if (!decoder_.attends()) return source;
    const Tensor keys = tape.arena().zeros({offsets.back(), config_.hidden}),
                 values = tape.arena().zeros({offsets.back(), config_.hidden});
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const ops::CachedKeys rows = cache.cross_keys(0, slots[s]);
      for (std::int64_t t = 0; t < cache.cross_length(slots[s]); ++t) {
        const std::int64_t to = offsets[s] + t;
        std::copy_n(cached_row(rows, t, cache.shape().key_width, false), config_.hidden, keys.row(to));
        std::copy_n(cached_row(rows, t, cache.shape().value_width, true), config_.hidden, values.row(to));
      }
    }
    if (decoder_.has_keys()) source.keys = tape.constant(keys);
    source.values = tape.constant(values);
    return source;
  }

  std::mutex one_pass_;
  SequenceConfig config_;
  Json json_;
  InputSpec input_;
  nn::Embedding target_;
  // source embedding and output projection; null if target_ is used instead
  std::unique_ptr<nn::Embedding> source_, projection_;
  nn::Recurrent encoder_;
  SearchDecoder decoder_;
};

}  // namespace

std::unique_ptr<Network> make_search_model(const SequenceConfig& config, const Json& json) {
  return std::make_unique<SearchModel>(config, json);
}

}  // namespace regard::models
