// The networks without self-attention as whole models: bit-identical results, learning, attention weights,
// errors.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "inspect/attention_view.h"
#include "inspect/capture.h"
#include "models/sequence_config.h"
#include "ops/cross_entropy.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using testing::Runner;
using testing::Tokens;

Json base(const std::string& family, const std::string& architecture) {
  return {{"model_type", "regard-" + family},
          {"architectures", {architecture}},
          {"vocabulary", 40},
          {"hidden_size", 16},
          {"embedding_size", 12},
          {"layers", 2},
          {"dropout", 0.2}};
}

// Return the configurations of language models and encoder–decoders.
std::vector<Json> generating_models() {
  std::vector<Json> all{base("rnn", "RnnForCausalLM"), base("lstm", "LstmForCausalLM"),
                        base("gru", "GruForCausalLM")};
  for (const char* attention : {"additive", "multiplicative", "none"})
    for (const char* cell : {"gru", "lstm"}) {
      Json search = base("rnn-search", "RnnSearchForConditionalGeneration");
      search["attention"] = attention, search["cell"] = cell;
      search["bidirectional"] = std::string(cell) == "gru";
      search["shared_vocabulary"] = std::string(cell) == "lstm";
      all.push_back(search);
    }
  all.back()["tie_embeddings"] = true, all.back()["embedding_size"] = 16;
  return all;
}

std::unique_ptr<Network> made(const Json& config) {
  std::unique_ptr<Network> model = make_model(config);
  initialise(*model, 3);
  return model;
}

std::vector<Tokens> sources(const Network& model) {
  if (model.kind() == ModelKind::decoder) return {};
  return testing::random_tokens({3, 40, 1, 9}, model.source_vocabulary(), 21);
}

TEST(SequenceModel, ThreadsBatchAndCacheLeaveEveryBit) {
  const std::vector<std::size_t> together{0, 1, 2, 3}, shuffled{2, 0, 3, 1};
  for (const Json& config : generating_models()) {
    const std::unique_ptr<Network> model = made(config);
    const std::vector<Tokens> targets = testing::random_tokens({5, 1, 70, 33}, model->vocabulary(), 22);
    Runner alone(*model, sources(*model), targets, 1);
    std::vector<std::vector<float>> reference;
    for (const std::size_t i : together) reference.push_back(alone.full({i})[0]);
    for (const int threads : {1, 3})
      for (const bool packed : {false, true}) {
        Runner runner(*model, sources(*model), targets, threads);
        if (packed) model->prepare_for_inference(runner.pool());
        for (const auto& order : {together, shuffled, {1}}) {
          const auto full = runner.full(order);
          for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(full[i], reference[order[i]]) << config;
          for (const std::int64_t step : {1, 7, 1000}) {
            const auto cached = runner.cached(order, step);
            for (std::size_t i = 0; i < order.size(); ++i)
              ASSERT_EQ(cached[i], reference[order[i]]) << config << " in steps of " << step;
          }
        }
      }
    EXPECT_NE(alone.full({0}, true)[0], reference[0]) << config << ": dropout did nothing";
  }
}

TEST(SequenceModel, GeneratorsLearn) {
  for (const Json& config : generating_models()) {
    const std::unique_ptr<Network> model = made(config);
    model->set_trainable(true);
    Runner runner(*model, sources(*model), testing::random_tokens({5, 1, 12, 9}, model->vocabulary(), 24), 1);
    const float first = runner.loss(1, false);
    float last = first;
    for (std::uint64_t step = 1; step <= 60; ++step) {
      model->clear_gradients();
      last = runner.loss(step, true);
      for (Parameter* parameter : model->parameters())
        for (std::int64_t i = 0; i < parameter->value().elements(); ++i)
          parameter->value().f32()[i] -= 0.5f * parameter->gradient().f32()[i];
    }
    EXPECT_LT(last, 0.9f * first) << config;
  }
}

// In every classifier and tagger, each parameter has a gradient, and results have the same bits in any batch.
TEST(SequenceModel, ClassifiersAndTaggers) {
  for (const auto& [family, name] :
       {std::pair("mlp", "Mlp"), std::pair("cnn", "Cnn"), std::pair("rnn", "Rnn"), std::pair("lstm", "Lstm"),
        std::pair("gru", "Gru")})
    for (const bool tags : {false, true})
      for (const char* pooling : {"last", "mean", "max"}) {
        Json config =
            base(family, std::string(name) + (tags ? "ForTokenClassification" : "ForSequenceClassification"));
        config["num_labels"] = 3, config["pooling"] = pooling;
        config["bidirectional"] = std::string(family) == "lstm";
        const std::unique_ptr<Network> model = made(config);
        model->set_trainable(true);
        ThreadPool pool(2);
        Arena arena;
        Tape tape(pool, arena);
        const std::vector<Tokens> texts = testing::random_tokens({4, 1, 9}, 40, 5);
        const auto run = [&](std::size_t first, std::size_t last, bool record) {
          testing::Side side;
          for (std::size_t i = first; i < last; ++i) {
            side.ids.insert(side.ids.end(), texts[i].begin(), texts[i].end());
            side.buffer.add(std::ssize(texts[i]), i);
          }
          tape.begin({.record = record});
          Var logits = model->head(tape, model->encode(tape, side.batch()), side.batch());
          const Tensor value = logits->value.clone();
          std::vector<std::int32_t> labels(static_cast<std::size_t>(logits->value.rows()), 1);
          if (record) tape.backward(ops::cross_entropy(tape, logits, labels, {0.0f, -100, 1.0f}));
          return value;
        };
        const Tensor all = run(0, 3, true), second = run(1, 2, false);
        ASSERT_EQ(all.rows(), tags ? 14 : 3);
        ASSERT_EQ(all.columns(), 3);
        ASSERT_TRUE(std::equal(second.f32(), second.f32() + 3, all.row(tags ? 4 : 1))) << config;
        for (const Parameter* parameter : model->parameters()) {
          const float* const g = parameter->gradient().f32();
          EXPECT_TRUE(std::any_of(g, g + parameter->gradient().elements(), [](float x) { return x != 0.0f; }))
              << config << " " << parameter->name;
        }
      }
}

// The attention of the decoder is captured as one head whose rows sum to 1. Ablation of the head changes the
// logits.
TEST(SequenceModel, AttentionOfTheDecoderIsObserved) {
  for (const char* attention : {"additive", "multiplicative"}) {
    Json config = base("rnn-search", "RnnSearchForConditionalGeneration");
    config["attention"] = attention;
    const std::unique_ptr<Network> model = made(config);
    ThreadPool pool(1);
    const ModelInput source(Tokens{3, 5, 7, 9});
    const Tokens target{1, 4, 6};
    inspect::Capture capture({});
    const Tensor logits = inspect::run_with_probe(*model, pool, source, target, &capture);
    capture.check();
    const std::vector<inspect::Map> maps = inspect::maps_of(capture, false);
    ASSERT_EQ(maps.size(), 1u) << attention;
    ASSERT_EQ(maps[0].rows, 3);
    ASSERT_EQ(maps[0].columns, 4);
    for (std::int64_t row = 0; row < 3; ++row) {
      float sum = 0;
      for (std::int64_t column = 0; column < 4; ++column) sum += maps[0].at(row, column);
      EXPECT_NEAR(sum, 1.0f, 1e-5f);
    }
    const Tensor plain = inspect::run_with_probe(*model, pool, source, target, nullptr);
    EXPECT_TRUE(std::equal(plain.f32(), plain.f32() + plain.elements(), logits.f32()));
    inspect::Capture ablated({}, {maps[0].head});
    const Tensor without = inspect::run_with_probe(*model, pool, source, target, &ablated);
    ablated.check();
    EXPECT_FALSE(std::equal(plain.f32(), plain.f32() + plain.elements(), without.f32()));
  }
}

TEST(SequenceModel, WrongConfigurationsAreRefused) {
  const auto refused = [](const char* key, const Json& value, const char* part) {
    Json config = base("lstm", "LstmForCausalLM");
    config[key] = value;
    EXPECT_REGARD_ERROR(make_model(config), ErrorKind::bad_file, part);
  };
  refused("hidden_size", 0, "hidden_size");
  refused("layers", 5000, "layers");
  refused("bidirectional", true, "bidirectional");
  refused("pooling", "first", "pooling");
  refused("architectures", Json{"LstmForSpeech"}, "architectures");
  refused("architectures", 3, "architectures");
  refused("tie_embeddings", true, "embedding_size");
  refused("vocabulary", "many", "vocabulary");
  Json cnn = base("cnn", "CnnForTokenClassification");
  for (const Json& widths : {Json{0}, Json::array(), Json{3, 1000}, Json{3, 2, 3}}) {
    cnn["filter_widths"] = widths;
    EXPECT_REGARD_ERROR(make_model(cnn), ErrorKind::bad_file, "filter_widths");
  }
  for (const Json& widths :
       {Json{1, 256}, Json{257}, Json{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        Json{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}) {
    cnn["filter_widths"] = widths;
    if (widths.size() == 2 || widths.size() == 16) {
      EXPECT_NO_THROW(make_model(cnn)) << widths;
    } else {
      EXPECT_REGARD_ERROR(make_model(cnn), ErrorKind::bad_file,
                          "1 to 16 different widths of 1 to 256 tokens");
    }
  }
  Json search = base("rnn-search", "RnnSearchForConditionalGeneration");
  search["bidirectional"] = true, search["hidden_size"] = 15;
  EXPECT_REGARD_ERROR(make_model(search), ErrorKind::bad_file, "hidden_size");
}

TEST(SequenceModel, PaddingWithinASequenceIsRefused) {
  Json config = base("gru", "GruForSequenceClassification");
  const std::unique_ptr<Network> model = made(config);
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  testing::Side side;
  side.ids = {1, 2};
  side.buffer.add(2, 0);
  TokenBatch batch = side.batch();
  const std::uint8_t attended[] = {1, 0};
  batch.attended = attended;
  EXPECT_REGARD_ERROR(model->encode(tape, batch), ErrorKind::usage, "padding");
}

}  // namespace
}  // namespace regard::testing
