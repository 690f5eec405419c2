// Probes do not change results, and they show the values that were used.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "inspect/attention_view.h"
#include "inspect/capture_json.h"
#include "models/transformer.h"
#include "ops/parameter.h"

namespace regard::inspect {
namespace {

constexpr std::int64_t kHidden = 24, kHeads = 3, kHeadDim = kHidden / kHeads;
const std::vector<std::int32_t> kSource{5, 9, 4, 11, 7, 3}, kTarget{2, 6, 8, 10};

std::unique_ptr<Network> small_model(const char* kind, const char* norm) {
  TransformerConfig config;
  config.kind = kind;
  config.vocabulary = 16;
  config.encoder_layers = config.decoder_layers = 2;
  config.hidden_size = kHidden;
  config.heads = kHeads;
  config.feed_forward_size = 32;
  config.norm = norm;
  auto model = make_transformer(config);
  initialise(*model, 11);
  return model;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST(Looking, ChangesNoBit) {
  ThreadPool pool(2);
  for (const char* kind : {"encoder-decoder", "decoder"}) {
    const auto model = small_model(kind, "pre");
    const Tensor before = run_with_probe(*model, pool, kSource, kTarget, nullptr);
    Capture everything({true, {}, {}, {}, true});
    EXPECT_TRUE(same_bits(before, run_with_probe(*model, pool, kSource, kTarget, &everything))) << kind;
    EXPECT_FALSE(everything.weights().empty());
    EXPECT_FALSE(everything.hidden_states().empty());
    Capture nothing({false, {}, {}, {}, false});
    EXPECT_TRUE(same_bits(before, run_with_probe(*model, pool, kSource, kTarget, &nothing))) << kind;
    EXPECT_TRUE(nothing.weights().empty());
    Capture ablation({false, {}, {}, {}, false}, {{Kind::decoder, 1, 2}});
    EXPECT_FALSE(same_bits(before, run_with_probe(*model, pool, kSource, kTarget, &ablation))) << kind;
  }
}

TEST(Looking, ShowsEveryHeadAndRowsThatSumToOne) {
  ThreadPool pool(1);
  const auto model = small_model("encoder-decoder", "pre");
  Capture capture({});
  run_with_probe(*model, pool, kSource, kTarget, &capture);
  capture.check();
  const std::vector<Map> maps = maps_of(capture, false);
  ASSERT_EQ(maps.size(), 3u * 2u * static_cast<std::size_t>(kHeads));
  for (const Map& map : maps) {
    EXPECT_EQ(map.rows,
              static_cast<std::int64_t>(map.head.kind == Kind::encoder ? kSource.size() : kTarget.size()));
    for (std::int64_t r = 0; r < map.rows; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < map.columns; ++c) {
        sum += static_cast<double>(map.at(r, c));
        if (map.head.kind == Kind::decoder && c > r) {
          EXPECT_EQ(map.at(r, c), 0.0f);
        }
      }
      EXPECT_NEAR(sum, 1.0, 1e-5) << map.title();
    }
  }
  EXPECT_TRUE(capture.weights().empty()) << "the maps must not double the memory";
  run_with_probe(*model, pool, kSource, kTarget, &capture);
  for (const Map& average : maps_of(capture, true)) {
    EXPECT_TRUE(average.average);
    double expected = 0;
    for (const Map& map : maps)
      if (map.head.kind == average.head.kind && map.head.layer == average.head.layer)
        expected += static_cast<double>(map.at(1, 0)) / static_cast<double>(kHeads);
    EXPECT_NEAR(average.at(1, 0), expected, 1e-6);
  }
}

// softmax(q kᵀ / √d) in double, from the layer's input and the model's weights. In a post-norm model the
// input of the first layer is the embeddings.
TEST(Looking, ShowsTheWeightsOfPlainAttention) {
  ThreadPool pool(1);
  const auto model = small_model("encoder-decoder", "post");
  Capture capture({true, {Kind::encoder}, {0}, {}, true});
  run_with_probe(*model, pool, kSource, kTarget, &capture);
  const Tensor& x = capture.hidden_states().at("encoder.embedding");
  const auto parameter = [&](const std::string& name) -> const Tensor& {
    for (Parameter* one : model->parameters())
      if (one->name == "encoder.layers.0.self_attention." + name) return one->value();
    throw std::runtime_error("no parameter " + name);
  };
  const auto project = [&](const char* name, std::int64_t row, std::int64_t column) {
    double sum = parameter(std::string(name) + ".bias").at({column});
    for (std::int64_t i = 0; i < kHidden; ++i)
      sum += parameter(std::string(name) + ".weight").at({column, i}) * x.at({row, i});
    return sum;
  };
  const auto length = static_cast<std::int64_t>(kSource.size());
  ASSERT_EQ(capture.weights().size(), 1u);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (std::int64_t q = 0; q < length; ++q) {
      std::vector<double> weights(kSource.size());
      double total = 0;
      for (std::int64_t k = 0; k < length; ++k) {
        double score = 0;
        for (std::int64_t d = head * kHeadDim; d < (head + 1) * kHeadDim; ++d)
          score += project("query", q, d) * project("key", k, d);
        total += weights[static_cast<std::size_t>(k)] = std::exp(score / std::sqrt(double{kHeadDim}));
      }
      for (std::int64_t k = 0; k < length; ++k)
        EXPECT_NEAR(capture.weights()[0].weights.at({head, q, k}),
                    weights[static_cast<std::size_t>(k)] / total, 1e-6);
    }
  }
}

TEST(Looking, WritesJsonThatReadsBackToTheSameNumbers) {
  ThreadPool pool(1);
  const auto model = small_model("encoder-decoder", "pre");
  Capture capture({true, {Kind::cross}, {1}, {2}, false});
  run_with_probe(*model, pool, kSource, kTarget, &capture);
  View view;
  view.model = "m", view.text = "t", view.translation = "परीक्षा";
  view.tokens = {{"a", "b", "c", "d", "e", "f"}, {"<s>", "x", "y", "z"}, {"x", "y", "z", "</s>"}};
  view.maps = maps_of(capture, false);
  view.ablated = {{Kind::cross, 0, 1}};
  const auto json = nlohmann::json::parse(to_json(view, Precision::full));
  EXPECT_EQ(json["ablated"][0], "cross.0.1");
  ASSERT_EQ(json["attention"].size(), 1u);
  EXPECT_EQ(json["attention"][0]["kind"], "cross");
  EXPECT_EQ(json["attention"][0]["layer"], 1);
  EXPECT_EQ(json["attention"][0]["head"], 2);
  for (std::int64_t r = 0; r < 4; ++r)
    for (std::int64_t c = 0; c < 6; ++c)
      EXPECT_EQ(json["attention"][0]["weights"][static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]
                    .get<float>(),
                view.maps[0].at(r, c));
}

}  // namespace
}  // namespace regard::inspect
