// An encoder–decoder with image input decodes through the same scheduler as one with text input. Greedy
// search, beam search and sessions give the results of handwritten loops without a cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "kernels/rows.h"
#include "models/families/families.h"
#include "ops/parameter.h"
#include "session_case.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using infer::Hypothesis;
using infer::SearchOptions;
using testing::Tokens;

constexpr std::int64_t kVocabulary = 110, kStart = 2, kNew = 12;

// Create a model with the encoder of a ViT and the decoder of a BART.
std::unique_ptr<Network> captioner() {
  const auto part = [](const char* name) {
    return families::read(read_json(testing::golden(std::string("hf-tiny/") + name + "/config.json")), name);
  };
  Architecture all = part("bart");
  all.encoder = part("vit").encoder;
  std::unique_ptr<Network> model = make_network(std::move(all));
  initialise(*model, 3);
  for (Parameter* parameter : model->parameters())
    if (parameter->value().shape().rank() == 2)
      for (std::int64_t i = 0; i < parameter->value().elements(); ++i) parameter->value().f32()[i] *= 20.0f;
  return model;
}

ModelInput picture(const Network& model, std::uint64_t seed) {
  const Tensor pixels = Tensor::zeros(model.input_spec().shape);
  RandomStream stream({seed, 0, place_of("picture")});
  for (std::int64_t i = 0; i < pixels.elements(); ++i)
    pixels.f32()[i] = static_cast<float>(stream.next_normal());
  return ModelInput(pixels);
}

SearchOptions search(std::int64_t beam) {
  SearchOptions options;
  options.start_token = kStart, options.max_new = kNew, options.beam = options.n_best = beam;
  return options;
}

// Return the log-probabilities of the token after `target`, computed from the whole target without a cache.
std::vector<float> next_token(Network& model, ThreadPool& pool, const ModelInput& source,
                              const Tokens& target) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  InputBuffer sources, targets;
  sources.add(source, model.input_spec().length_of(source), 0);
  targets.add(target, std::ssize(target), 0);
  const Memory memory{model.encode(tape, sources.batch()), sources.batch().shape};
  const Tensor logits = model.logits(tape, model.decode(tape, targets.batch(), &memory, nullptr))->value;
  const float* last = logits.row(logits.rows() - 1);
  float lse = 0.0f;
  kernels::log_sum_exp(pool, last, &lse, 1, kVocabulary);
  std::vector<float> found(last, last + kVocabulary);
  for (float& one : found) one -= lse;
  return found;
}

TEST(PixelSource, GreedySearchEqualsTheLoopWithoutACacheBitForBit) {
  const auto model = captioner();
  ThreadPool pool(2);
  EXPECT_EQ(model->input_spec().kind, InputKind::pixels);
  std::vector<Tokens> all;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const ModelInput source = picture(*model, seed);
    Tokens target{kStart};
    std::vector<float> expected;
    for (int step = 0; step < kNew; ++step) {
      const std::vector<float> next = next_token(*model, pool, source, target);
      const auto best = std::max_element(next.begin(), next.end());
      target.push_back(static_cast<std::int32_t>(best - next.begin()));
      expected.push_back(*best);
    }
    const Hypothesis found = infer::decode(*model, pool, {&source, 1}, search(1))[0][0];
    EXPECT_EQ(found.tokens, Tokens(target.begin() + 1, target.end())) << seed;
    EXPECT_EQ(found.token_log_probabilities, expected) << seed;
    all.push_back(found.tokens);
  }
  EXPECT_NE(all[0], all[1]) << "the image has no effect";
}

TEST(PixelSource, BeamSearchEqualsTheLoopWithoutACache) {
  const auto model = captioner();
  ThreadPool pool(2);
  const ModelInput source = picture(*model, 7);
  struct Partial {
    Tokens tokens;
    double score = 0.0;
  };
  std::vector<Partial> beam{{}};
  for (int step = 0; step < kNew; ++step) {
    std::vector<Partial> longer;
    for (const Partial& one : beam) {
      Tokens target{kStart};
      target.insert(target.end(), one.tokens.begin(), one.tokens.end());
      const std::vector<float> next = next_token(*model, pool, source, target);
      for (std::size_t token = 0; token < next.size(); ++token) {
        longer.push_back({one.tokens, one.score + static_cast<double>(next[token])});
        longer.back().tokens.push_back(static_cast<std::int32_t>(token));
      }
    }
    std::stable_sort(longer.begin(), longer.end(),
                     [](const Partial& a, const Partial& b) { return a.score > b.score; });
    longer.resize(3);
    beam = std::move(longer);
  }
  const std::vector<Hypothesis> found = infer::decode(*model, pool, {&source, 1}, search(3))[0];
  ASSERT_EQ(found.size(), beam.size());
  for (std::size_t i = 0; i < beam.size(); ++i) {
    EXPECT_EQ(found[i].tokens, beam[i].tokens) << i;
    EXPECT_NEAR(static_cast<double>(found[i].log_probability), beam[i].score, 1e-4) << i;
  }
}

TEST(PixelSource, SessionsGiveTheBitsOfEachRequestAlone) {
  const auto model = captioner();
  ThreadPool pool(2);
  testing::SessionRecord record;
  const SearchOptions defaults = search(1);
  // With few rows, requests must wait for each other. Two requests have the same picture and share its
  // encoder output.
  infer::Sessions sessions(*model, pool, defaults, record, {.rows = 4, .tokens_at_once = 20});
  std::map<std::uint64_t, infer::Request> asked;
  for (const std::uint64_t seed : {1, 2, 1, 3, 1, 4}) {
    infer::Request request = infer::request_of(*model, picture(*model, seed));
    request.options = std::make_shared<const SearchOptions>(search(asked.size() % 3 + 1));
    asked[sessions.join(request)] = request;
    sessions.step();
  }
  while (sessions.step()) {
  }
  ASSERT_EQ(record.results.size(), asked.size());
  for (const auto& [id, request] : asked)
    EXPECT_TRUE(testing::same_bits(record.results[id], testing::alone(*model, request))) << id;
  EXPECT_EQ(sessions.cache().free_pages(), sessions.cache().pages());
}

TEST(PixelSource, AnotherKindOrShapeIsRefused) {
  const auto model = captioner(), text = testing::opinionated_model("translator");
  ThreadPool pool(1);
  const auto decode = [&](Network& network, const ModelInput& source) {
    infer::decode(network, pool, {&source, 1}, search(1));
  };
  EXPECT_REGARD_ERROR(decode(*model, Tokens{1, 2}), ErrorKind::usage, "expected image input, found text");
  EXPECT_REGARD_ERROR(decode(*model, ModelInput(Tensor::zeros({1, 3, 16, 8}))), ErrorKind::invalid_input,
                      "expected [1, 3, 16, 16], found [1, 3, 16, 8]");
  EXPECT_REGARD_ERROR(decode(*model, ModelInput(Tensor::zeros({16, 16}))), ErrorKind::usage, "feature input");
  EXPECT_REGARD_ERROR(decode(*model, {}), ErrorKind::invalid_input, "tokens");
  EXPECT_REGARD_ERROR(decode(*text, picture(*model, 1)), ErrorKind::usage,
                      "expected text, found image input");
}

}  // namespace
}  // namespace regard::testing
