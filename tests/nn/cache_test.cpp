// The cache's book-keeping: what a search does to it leaves every hypothesis with its own past.
#include <gtest/gtest.h>

#include "nn/cache.h"
#include "regard/error.h"
#include "support/tiny_models.h"

namespace regard {
namespace {

using testing::Tokens;

// One step of decoding for each selected slot; the logits' rows.
class Decoder {
 public:
  explicit Decoder(Network& model) : model_(model), cache(model.cache_shape(), 4, 40) {}

  std::vector<std::vector<float>> step(const std::vector<std::int32_t>& slots, const Tokens& tokens,
                                       const Memory* memory = nullptr) {
    RaggedBuffer buffer;
    for (const std::int32_t slot : slots) buffer.add(1, 0, static_cast<std::int32_t>(cache.length(slot)));
    cache.select(slots);
    tape.begin({});
    const Tensor logits =
        model_.logits(tape, model_.decode(tape, {tokens, buffer.view()}, memory, &cache))->value;
    std::vector<std::vector<float>> rows;
    for (std::int64_t row = 0; row < logits.rows(); ++row)
      rows.emplace_back(logits.row(row), logits.row(row) + logits.columns());
    return rows;
  }

 private:
  Network& model_;
  ThreadPool pool_{2};
  Arena arena_;

 public:
  Tape tape{pool_, arena_};
  Cache cache;
};

// The last row of a full pass over these tokens.
std::vector<float> full(Network& model, const Tokens& source, const Tokens& target) {
  testing::Runner runner(model, {source}, {target}, 1);
  const std::vector<float> logits = runner.full({0})[0];
  return {logits.end() - model.vocabulary(), logits.end()};
}

TEST(Cache, ForkedHypothesesKeepTheirOwnPast) {
  for (const std::string& name : testing::tiny_model_names()) {
    const std::unique_ptr<Network> model = testing::tiny_model(name);
    Decoder decoder(*model);
    const Tokens source{3, 1, 4, 1, 5};
    ThreadPool pool(1);
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({});
    RaggedBuffer buffer;
    buffer.add(5, 0);
    Memory memory;
    if (model->kind() == ModelKind::encoder_decoder)
      memory = {model->encode(tape, {source, buffer.view()}), buffer.view()};
    decoder.step({0}, {7}, &memory);
    const std::vector<std::int32_t> fork{0, 0, 0};
    decoder.cache.reorder(fork);
    EXPECT_EQ(decoder.cache.length(2), 1);
    EXPECT_EQ(decoder.cache.length(3), 0);
    decoder.step({0, 1, 2}, {8, 9, 10});
    const std::vector<std::int32_t> swap{2, 0, 2, 1};
    decoder.cache.reorder(swap);
    const auto rows = decoder.step({0, 1, 2, 3}, {11, 12, 13, 14});
    EXPECT_EQ(rows[0], full(*model, source, {7, 10, 11})) << name;
    EXPECT_EQ(rows[1], full(*model, source, {7, 8, 12})) << name;
    EXPECT_EQ(rows[2], full(*model, source, {7, 10, 13})) << name;
    EXPECT_EQ(rows[3], full(*model, source, {7, 9, 14})) << name;
    // A cleared slot starts again, beside one that goes on and after the cache has grown.
    decoder.cache.clear(1);
    decoder.cache.reserve(300);
    const auto mixed = decoder.step({3, 1}, {15, 16}, &memory);
    EXPECT_EQ(mixed[0], full(*model, source, {7, 9, 14, 15})) << name;
    EXPECT_EQ(mixed[1], full(*model, source, {16})) << name;
  }
}

TEST(Cache, WrongUseIsRefused) {
  const std::unique_ptr<Network> model = testing::tiny_model("llama");
  Decoder decoder(*model);
  Cache& cache = decoder.cache;
  const std::vector<std::int32_t> twice{1, 1}, outside{4};
  EXPECT_THROW(cache.select(twice), Error);
  EXPECT_THROW(cache.select(outside), Error);
  EXPECT_THROW(cache.reorder(outside), Error);
  EXPECT_THROW(cache.length(-1), Error);
  EXPECT_THROW(Cache(model->cache_shape(), 0, 5), Error);
  for (std::int64_t i = 0; i < cache.capacity(); ++i) decoder.step({0}, {1});
  try {
    decoder.step({0}, {1});
    ADD_FAILURE() << "a full slot took a token";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("slot 0 has no room"), std::string::npos) << error.what();
  }
  const std::unique_ptr<Network> translator = testing::tiny_model("translator");
  Decoder without(*translator);
  EXPECT_THROW(without.step({0}, {1}), Error) << "no memory was given";
}

}  // namespace
}  // namespace regard
