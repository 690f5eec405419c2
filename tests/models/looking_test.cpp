// A probe does not change results; ablation of a head changes only values that depend on it.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using testing::Tokens;

// A probe that requests and records every point.
class Everything : public Probe {
 public:
  bool wants(std::string_view point) override {
    asked.insert(std::string(point));
    return true;
  }
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override {
    seen[std::string(point)].push_back(value.clone());
    EXPECT_EQ(sequence < 0, !point.ends_with(".weights")) << point;
  }
  float head_scale(std::string_view point, std::int64_t head) override {
    const auto found = silenced.find({std::string(point), head});
    return found == silenced.end() ? 1.0f : 0.0f;
  }
  std::set<std::string> asked;
  std::map<std::string, std::vector<Tensor>> seen;
  std::set<std::pair<std::string, std::int64_t>> silenced;
};

struct Looked {
  std::vector<float> logits;
  std::vector<float> gradient;  // gradient of the first weight
};

Looked run(Probe* probe) {
  const std::unique_ptr<Network> model = testing::tiny_model("translator");
  model->set_trainable(true);
  ThreadPool pool(2);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true, .training = true, .seed = 1, .step = 2});
  tape.probe = probe;
  testing::Side source, target;
  const std::vector<std::int64_t> lengths{4, 9};
  for (auto* side : {&source, &target}) {
    std::uint64_t index = 0;
    for (const Tokens& tokens : testing::random_tokens(lengths, 37, 3)) {
      side->ids.insert(side->ids.end(), tokens.begin(), tokens.end());
      side->buffer.add(std::ssize(tokens), index++);
    }
  }
  const Memory memory{model->encode(tape, source.batch()), source.buffer.view()};
  Var logits = model->logits(tape, model->decode(tape, target.batch(), &memory, nullptr));
  tape.backward(logits);
  const Tensor& gradient = model->parameters()[0]->gradient();
  return {{logits->value.f32(), logits->value.f32() + logits->value.elements()},
          {gradient.f32(), gradient.f32() + gradient.elements()}};
}

TEST(Looking, ChangesNoBitOfValueOrGradient) {
  const Looked unseen = run(nullptr);
  Everything probe;
  const Looked seen = run(&probe);
  EXPECT_EQ(unseen.logits, seen.logits);
  EXPECT_EQ(unseen.gradient, seen.gradient);
}

TEST(Looking, EveryPointIsThere) {
  Everything probe;
  run(&probe);
  for (const char* name :
       {"encoder.embedding", "encoder.0.self.weights", "encoder.0.self.context", "encoder.1.self.output",
        "encoder.1.feed_forward.inner", "encoder.1.feed_forward.output", "encoder.1.residual",
        "encoder.output", "decoder.embedding", "decoder.0.self.weights", "decoder.1.cross.weights",
        "decoder.1.cross.output", "decoder.1.residual", "decoder.output"})
    EXPECT_EQ(probe.seen.count(name), 1u) << name;
  // Rows of weights sum to one, and later keys have weight zero.
  for (const auto& [point, values] : probe.seen) {
    if (!point.ends_with(".weights")) continue;
    ASSERT_EQ(values.size(), 2u) << point;
    for (const Tensor& weights : values) {
      const std::int64_t queries = weights.shape()[1], keys = weights.shape()[2];
      for (std::int64_t row = 0; row < weights.rows(); ++row) {
        double sum = 0.0;
        for (std::int64_t key = 0; key < keys; ++key) {
          sum += static_cast<double>(weights.row(row)[key]);
          if (point.starts_with("decoder") && point.find("self") != std::string::npos &&
              key > row % queries) {
            EXPECT_EQ(weights.row(row)[key], 0.0f) << point;
          }
        }
        EXPECT_NEAR(sum, 1.0, 1e-5) << point;
      }
    }
  }
}

TEST(Looking, ASilencedHeadContributesNothingAndTheOthersAsBefore) {
  Everything before, after;
  run(&before);
  after.silenced.insert({"encoder.1.self", 2});
  run(&after);
  const Tensor whole = before.seen["encoder.1.self.context"][0],
               silenced = after.seen["encoder.1.self.context"][0];
  for (std::int64_t row = 0; row < whole.rows(); ++row)
    for (std::int64_t feature = 0; feature < 32; ++feature)
      EXPECT_EQ(silenced.row(row)[feature], feature / 8 == 2 ? 0.0f : whole.row(row)[feature]);
  const Tensor earlier = after.seen["encoder.0.residual"][0], same = before.seen["encoder.0.residual"][0];
  for (std::int64_t i = 0; i < same.elements(); ++i) ASSERT_EQ(earlier.f32()[i], same.f32()[i]);
  bool differs = false;
  const Tensor one = before.seen["encoder.1.residual"][0], other = after.seen["encoder.1.residual"][0];
  for (std::int64_t i = 0; i < one.elements(); ++i) differs = differs || one.f32()[i] != other.f32()[i];
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace regard::testing
