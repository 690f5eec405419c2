// Attention rollout, attention flow and induction scores, compared with direct computation from the captured
// weights; and linear probes of layers.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "inspect/attention_view.h"
#include "inspect/gradients.h"
#include "inspect/head_kinds.h"
#include "inspect/linear_probe.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::Map;

class TokenPaths : public ::testing::Test {
 protected:
  TokenPaths() : pool_(2), model_(load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path))) {}

  std::vector<Map> maps(const std::vector<std::int32_t>& ids) {
    inspect::Capture capture{inspect::Selection()};
    inspect::run_with_probe(*model_, pool_, {}, ids, &capture);
    return maps_of(capture, false);
  }

  // Return ½ · (mean of the heads) + ½ · I, one matrix [tokens, tokens] per layer.
  std::vector<std::vector<double>> mixed_layers(const std::vector<std::int32_t>& ids) {
    const std::size_t tokens = ids.size();
    std::vector<std::vector<double>> layers;
    const std::vector<Map> all = maps(ids);
    const double heads = static_cast<double>(
        std::count_if(all.begin(), all.end(), [](const Map& map) { return map.head.layer == 0; }));
    for (const Map& map : all) {
      const auto layer = static_cast<std::size_t>(map.head.layer);
      if (layers.size() <= layer) {
        layers.emplace_back(tokens * tokens);
        for (std::size_t i = 0; i < tokens; ++i) layers[layer][i * tokens + i] = 0.5;
      }
      for (std::size_t i = 0; i < tokens * tokens; ++i)
        layers[layer][i] += 0.5 * static_cast<double>(map.weights[i]) / heads;
    }
    return layers;
  }

  ThreadPool pool_;
  std::unique_ptr<Network> model_;
};

// Return the sum of the values of all paths from the position `from` to the token `to`. The value of a path
// is the product of its weights.
double paths(const std::vector<std::vector<double>>& layers, std::size_t tokens, std::size_t layer,
             std::size_t from, std::size_t to) {
  if (layer == 0) return from == to ? 1.0 : 0.0;
  double sum = 0;
  for (std::size_t next = 0; next < tokens; ++next)
    sum += layers[layer - 1][from * tokens + next] * paths(layers, tokens, layer - 1, next, to);
  return sum;
}

TEST_F(TokenPaths, RolloutIsTheSumOverAllPaths) {
  const std::vector<std::int32_t> ids{5, 9, 7, 5};
  const auto layers = mixed_layers(ids);
  ASSERT_EQ(layers.size(), 3u);
  inspect::PassInput input;
  input.target = ids;
  const std::vector<double> rolled = inspect::attention_rollout(*model_, pool_, input);
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      EXPECT_NEAR(rolled[from * 4 + to], paths(layers, 4, 3, from, to), 1e-6) << from << " " << to;
}

// Return the minimum cut between the last position's state in the last layer and a token's embedding. It
// equals the maximum flow (Ford and Fulkerson 1956).
double smallest_cut(const std::vector<std::vector<double>>& layers, std::size_t tokens, std::size_t target) {
  const std::size_t nodes = (layers.size() + 1) * tokens, source = nodes - 1;
  double best = 1e9;
  for (std::size_t side = 0; side < std::size_t{1} << nodes; ++side) {
    if ((side >> source & 1) == 0 || (side >> target & 1) == 1) continue;
    double cut = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      for (std::size_t to = 0; to < tokens; ++to)
        for (std::size_t from = 0; from < tokens; ++from)
          if ((side >> ((layer + 1) * tokens + to) & 1) == 1 && (side >> (layer * tokens + from) & 1) == 0)
            cut += layers[layer][to * tokens + from];
    best = std::min(best, cut);
  }
  return best;
}

TEST_F(TokenPaths, FlowIsTheSmallestCut) {
  const std::vector<std::int32_t> ids{5, 9, 7};
  const auto layers = mixed_layers(ids);
  inspect::PassInput input;
  input.target = ids;
  const std::vector<double> flows = inspect::attention_flow(*model_, pool_, input, 2);
  ASSERT_EQ(flows.size(), 3u);
  for (std::size_t target = 0; target < 3; ++target)
    EXPECT_NEAR(flows[target], smallest_cut(layers, 3, target), 1e-6) << target;
  EXPECT_REGARD_ERROR(inspect::attention_flow(*model_, pool_, input, 3), ErrorKind::usage, "position");
  int calls = 0;
  const auto stop = [&calls] {
    if (++calls == 2) throw cancelled_error("the study was stopped");
  };
  EXPECT_REGARD_ERROR(inspect::attention_flow(*model_, pool_, input, 2, nullptr, stop), ErrorKind::cancelled,
                      "stopped");
}

// The score has the definition of Olsson et al. 2022, computed here from the weights of a pass over the same
// sequence.
TEST_F(TokenPaths, InductionIsTheWeightAfterTheEarlierOccurrence) {
  inspect::InductionOptions options;
  options.length = 5, options.sequences = 1, options.seed = 9;
  options.first = {3}, options.choices = {4, 8, 15, 16, 23};
  RandomStream stream({9, 0, place_of("repeated sequences")});
  std::vector<std::int32_t> ids{3};
  for (std::int64_t i = 0; i < 5; ++i) ids.push_back(options.choices[stream.next_below(5)]);
  for (std::size_t i = 1; i < 6; ++i) ids.push_back(ids[i]);
  const std::vector<inspect::InductionScore> scores = inspect::induction_scores(*model_, pool_, options);
  const std::vector<Map> all = maps(ids);
  ASSERT_EQ(scores.size(), all.size());
  for (const Map& map : all) {
    double induction = 0, duplicate = 0, previous = 0;
    for (std::int64_t query = 6; query < 11; ++query) {
      induction += static_cast<double>(map.at(query, query - 4)) / 5;
      duplicate += static_cast<double>(map.at(query, query - 5)) / 5;
    }
    for (std::int64_t query = 1; query < 11; ++query)
      previous += static_cast<double>(map.at(query, query - 1)) / 10;
    const auto found = std::ranges::find_if(scores, [&](const auto& one) { return one.head == map.head; });
    ASSERT_NE(found, scores.end());
    EXPECT_NEAR(found->induction, induction, 1e-12) << map.title();
    EXPECT_NEAR(found->duplicate, duplicate, 1e-12) << map.title();
    EXPECT_NEAR(found->previous, previous, 1e-12) << map.title();
  }
}

// The label says whether a letter occurs in the text, so the mean of the embeddings is sufficient to predict
// it. Labels that do not depend on the text cannot be predicted.
TEST(LinearProbe, FindsWhatAMeanContainsAndNothingElse) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt", 64);
  const infer::LoadedModel loaded = infer::LoadedModel::open(folder / "gpt", WeightMode::stored);
  ThreadPool pool(2);
  RandomStream stream({1, 0, place_of("texts")});
  std::vector<inspect::LabeledInput> with_letter, random;
  const auto input_of = [&](const std::string& text) {
    return [&loaded, text] {
      return inspect::PassInput{.source = {}, .target = loaded.read(text).ids, .written = {}};
    };
  };
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (int letter = 0; letter < 8; ++letter) text += "aebcdghi"[stream.next_below(8)];
    const bool has = i % 2 == 0;
    std::erase(text, 'g');
    if (has) text += "gg";
    text += "o";
    with_letter.push_back({has ? "yes" : "no", input_of(text)});
    random.push_back({stream.next_below(2) == 0 ? "yes" : "no", input_of(text)});
  }
  const inspect::LinearProbeResult found = inspect::probe_layers(*loaded.model, pool, with_letter, 1);
  ASSERT_EQ(found.layers.size(), 3u);
  EXPECT_EQ(found.layers[0].layer, "embedding");
  EXPECT_EQ(found.fitted, 48);
  EXPECT_EQ(found.held_out, 12);
  EXPECT_EQ(found.layers[0].train, 1.0);
  EXPECT_GE(found.layers[0].held_out, 11.0 / 12);
  const inspect::LinearProbeResult none = inspect::probe_layers(*loaded.model, pool, random, 1);
  EXPECT_LE(none.layers[0].held_out, 9.0 / 12) << "the held-out texts are not held out";
  with_letter.resize(9);
  EXPECT_REGARD_ERROR(inspect::probe_layers(*loaded.model, pool, with_letter, 1), ErrorKind::usage,
                      "10 texts");
}

}  // namespace
}  // namespace regard::testing
