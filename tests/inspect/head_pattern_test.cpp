// Summaries of heads: patterns of hand-made maps, and the numbers of the capture format.
#include "inspect/head_pattern.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "inspect/capture_json.h"
#include "inspect/resolve.h"
#include "models/weights.h"
#include "support/hf_folder.h"

namespace regard::inspect {
namespace {

// Return weights whose row r has a high weight at the key that `target` gives, and the rest spread over the
// visible keys.
View view_of(Kind kind, std::int64_t rows, std::int64_t columns,
             const std::function<std::int64_t(std::int64_t row)>& target, float weight = 0.8f) {
  View view;
  for (std::int64_t i = 0; i < columns; ++i) view.tokens.source.push_back("s" + std::to_string(i));
  for (std::int64_t i = 0; i < (kind == Kind::decoder ? columns : rows); ++i)
    view.tokens.target.push_back("t" + std::to_string(i));
  view.tokens.written = view.tokens.target;
  Map map;
  map.head = {kind, 0, 0};
  map.rows = rows, map.columns = columns;
  map.weights.assign(static_cast<std::size_t>(rows * columns), 0.0f);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t visible = kind == Kind::decoder ? row + 1 : columns;
    for (std::int64_t column = 0; column < visible; ++column)
      map.weights[static_cast<std::size_t>(row * columns + column)] =
          (1 - weight) / static_cast<float>(visible) + (column == target(row) ? weight : 0.0f);
  }
  view.maps.push_back(map);
  return view;
}

Pattern pattern_of(const View& view) {
  return summarize(view, view.maps[0]).pattern;
}

TEST(HeadPattern, NamesThePositionThatTakesTheWeight) {
  const auto at = [](std::int64_t shift) { return [shift](std::int64_t row) { return row + shift; }; };
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, at(-1))), Pattern::previous);
  EXPECT_EQ(pattern_of(view_of(Kind::decoder, 12, 12, at(-1))), Pattern::previous);
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, at(1))), Pattern::next);
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, at(0))), Pattern::same);
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 0; })), Pattern::first);
  EXPECT_EQ(pattern_of(view_of(Kind::cross, 12, 12, at(0))), Pattern::diagonal);
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, at(5), 0.0f)), Pattern::spread);
  EXPECT_EQ(pattern_of(view_of(Kind::encoder, 12, 12, [](std::int64_t row) { return (5 * row + 3) % 12; })),
            Pattern::content);
}

// Equal weights for all keys that the query may attend to have the maximum entropy.
TEST(HeadPattern, EqualWeightsOfTheVisibleKeysAreSpread) {
  for (const bool causal : {false, true})
    for (const std::int64_t window : {0, 3}) {
      View view = view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 0; });
      Map& map = view.maps[0];
      map.range = {causal, window};
      map.weights.assign(map.weights.size(), 0.0f);
      for (std::int64_t row = 0; row < 12; ++row) {
        std::vector<std::size_t> keys;
        for (std::int64_t key = 0; key < 12; ++key)
          if ((!causal || key <= row) && (window == 0 || std::abs(row - key) < window))
            keys.push_back(static_cast<std::size_t>(row * 12 + key));
        for (const std::size_t key : keys) map.weights[key] = 1.0f / static_cast<float>(keys.size());
      }
      EXPECT_NEAR(summarize(view, map).spread, 1.0, 1e-6) << causal << " " << window;
      map.values.emplace();
      const auto json = nlohmann::json::parse(to_json(view, Precision::full));
      EXPECT_EQ(json["attention"][0]["values"]["causal"], causal);
    }
}

// A capture contains the window of the model.
TEST(HeadPattern, TheMaximumEntropyIsThatOfTheWindow) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("mistral").path));
  const auto edits = resolve(*model, pool, nullptr, {Intervention::parse("uniform 0.0")});
  Capture capture{Selection()};
  edits->set_observer(&capture);
  const std::vector<std::int32_t> ids{5, 9, 7, 3, 8, 4, 6, 2};
  run_with_probe(*model, pool, {}, ids, edits.get());
  View view;
  view.tokens.target.assign(ids.size(), "token");
  view.maps = maps_of(capture, false);
  EXPECT_EQ(view.maps[0].range.window, 4);
  EXPECT_NEAR(summarize(view, view.maps[0]).spread, 1.0, 1e-6);
}

TEST(HeadPattern, SeesRepeatedWordsAndSpecialTokens) {
  View words = view_of(Kind::encoder, 12, 12, [](std::int64_t row) { return (row + 6) % 12; });
  for (std::size_t i = 0; i < 12; ++i) words.tokens.source[i] = "w" + std::to_string(i % 6);
  EXPECT_EQ(pattern_of(words), Pattern::same_word);
  View special = view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 11; });
  special.tokens.special_source.assign(12, false);
  special.tokens.special_source[11] = true;
  EXPECT_EQ(pattern_of(special), Pattern::special);
}

TEST(HeadPattern, EntropyDistanceAndShareAreMeansOverTheQueries) {
  View view = view_of(
      Kind::encoder, 4, 4, [](std::int64_t row) { return row == 0 ? 1 : row - 1; }, 1.0f);
  HeadSummary summary = summarize(view, view.maps[0]);
  EXPECT_EQ(summary.entropy, 0.0);
  EXPECT_EQ(summary.distance, 1.0);
  EXPECT_EQ(summary.share, 0.75);
  view.maps[0].weights.assign(16, 0.25f);
  summary = summarize(view, view.maps[0]);
  EXPECT_EQ(summary.entropy, 2.0);
  EXPECT_EQ(summary.pattern, Pattern::spread);
  EXPECT_EQ(summary.share, 1.0);
}

// Special tokens as queries are left out, unless all queries are special tokens.
TEST(HeadPattern, SpecialTokensAreNotCountedAsQueries) {
  View view = view_of(
      Kind::encoder, 4, 4, [](std::int64_t row) { return row == 3 ? 3 : row + 1; }, 1.0f);
  for (std::size_t key = 0; key < 4; ++key) view.maps[0].weights[12 + key] = 0.25f;  // the last query
  EXPECT_EQ(summarize(view, view.maps[0]).entropy, 0.5);
  view.tokens.special_source = {false, false, false, true};
  HeadSummary summary = summarize(view, view.maps[0]);
  EXPECT_EQ(summary.entropy, 0.0);
  EXPECT_EQ(summary.distance, 1.0);
  EXPECT_EQ(summary.pattern, Pattern::next);
  EXPECT_EQ(summary.share, 1.0);
  view.tokens.special_source.assign(4, true);
  summary = summarize(view, view.maps[0]);
  EXPECT_EQ(summary.entropy, 0.5);
  EXPECT_EQ(summary.distance, (1 + 1 + 1 + 0.25 * (3 + 2 + 1)) / 4);
}

TEST(HeadPattern, HeadsThatLookElsewhereThanAtThemselvesTellMore) {
  const View sink = view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 0; });
  const View content = view_of(Kind::encoder, 12, 12, [](std::int64_t row) { return (5 * row + 3) % 12; });
  const View cross = view_of(
      Kind::cross, 12, 12, [](std::int64_t row) { return row; }, 0.1f);
  const double told = summarize(content, content.maps[0]).telling;
  EXPECT_GT(told, summarize(sink, sink.maps[0]).telling);
  const View stop = view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 10; });
  EXPECT_LT(summarize(stop, stop.maps[0]).telling, 0.1) << "every query attends to one token";
  EXPECT_GT(summarize(cross, cross.maps[0]).telling, told);
}

// The numbers are computed by hand from the 4 × 4 weights. Self-attention ignores the first column and the
// columns next to the query in its score.
TEST(HeadPattern, NumbersAreMeansOfTheRows) {
  View view = view_of(Kind::encoder, 4, 4, [](std::int64_t) { return 0; });
  Map& map = view.maps[0];
  map.weights = {0.1f,  0.3f,  0.5f,  0.1f,   //
                 0.25f, 0.25f, 0.25f, 0.25f,  //
                 0.4f,  0.2f,  0.2f,  0.2f,   //
                 0.0f,  0.6f,  0.2f,  0.2f};
  const auto expect = [&](const PatternShares& shares, double distance, double telling) {
    const HeadSummary summary = summarize(view, map);
    for (std::size_t i = 0; i < shares.size(); ++i)
      EXPECT_NEAR(summary.shares[i], shares[i], 1e-6) << name_of(static_cast<Pattern>(i));
    EXPECT_NEAR(summary.distance, distance, 1e-6);
    EXPECT_NEAR(summary.telling, telling, 1e-6);
  };
  expect({0.1625, 0.1875, 0.1875, 0, 0.1625, 0, 0}, 1.3, 0.134375);
  // A special token is ignored as a query, and as a key it has no score.
  view.tokens.special_source = {false, false, false, true};
  expect({0.45 / 3, 0.75 / 3, 0.55 / 3, 0, 0.65 / 3, 0.55 / 3, 0}, 3.8 / 3, 0.2125 / 3);
  // If all tokens are special, all are counted as queries.
  view.tokens.special_source.assign(4, true);
  expect({0.1625, 0.1875, 0.1875, 0, 0.1625, 1, 0}, 1.3, 0);
  map.head.kind = Kind::cross;
  view.tokens.special_source.clear();
  expect({0, 0, 0, 0, 0.1875, 0, 0.5375}, 0, 1.1875);
  map.rows = 1, map.weights.resize(4);
  expect({0, 0, 0, 0, 0.1, 0, 0}, 0, 1);  // one row has no diagonal
}

TEST(HeadPattern, CaptionsNameTheShare) {
  const auto at = [](std::int64_t shift) { return [shift](std::int64_t row) { return row + shift; }; };
  const auto first = [](std::int64_t) { return 0; };
  View words = view_of(Kind::encoder, 12, 12, [](std::int64_t row) { return (row + 6) % 12; });
  for (std::size_t i = 0; i < 12; ++i) words.tokens.source[i] = "w" + std::to_string(i % 6);
  View special = view_of(Kind::encoder, 12, 12, [](std::int64_t) { return 11; });
  special.tokens.special_source.assign(12, false);
  special.tokens.special_source[11] = true;
  const std::pair<View, std::string> cases[] = {
      {view_of(Kind::encoder, 12, 12, at(-1)),
       "Each token attends to the one before it: 75 % of the weight."},
      {view_of(Kind::encoder, 12, 12, at(1)), "Each token attends to the one after it: 75 % of the weight."},
      {view_of(Kind::encoder, 12, 12, at(0)), "Each token attends to itself: 82 % of the weight."},
      {words, "Tokens attend to other occurrences of themselves: 82 % of the weight."},
      {view_of(Kind::encoder, 12, 12, first),
       "Most weight is on the first token: 75 %. This is common where no token matches the head's pattern."},
      {special,
       "Most weight is on special tokens: 82 %. This is common where no token matches the head's pattern."},
      {view_of(Kind::cross, 12, 12, at(0)),
       "Attention follows the order of the source: 85 % of the weight is near the diagonal."},
      {view_of(Kind::encoder, 12, 12, at(0), 0.0f),
       "Attention is spread nearly evenly: 100 % of the largest possible entropy."},
      {view_of(Kind::encoder, 12, 12, [](std::int64_t row) { return (5 * row + 3) % 12; }),
       "No single position explains the weights: they depend on the tokens."},
  };
  for (const auto& [view, caption] : cases) EXPECT_EQ(summarize(view, view.maps[0]).caption, caption);
}

// A positional pattern covers at least 40 % of the weight; a spread head has at least 90 % of the entropy.
TEST(HeadPattern, ThePatternDependsOnTwoLimits) {
  const auto chosen = [](double share, double spread) {
    HeadSummary summary;
    summary.shares[2] = share, summary.shares[4] = 0.3, summary.spread = spread;
    choose_pattern(summary);
    return std::pair{summary.pattern, summary.share};
  };
  EXPECT_EQ(chosen(0.4, 1.0), (std::pair{Pattern::same, 0.4}));
  EXPECT_EQ(chosen(0.39, 0.9), (std::pair{Pattern::spread, 0.9}));
  EXPECT_EQ(chosen(0.39, 0.89), (std::pair{Pattern::content, 0.39}));
  EXPECT_EQ(chosen(0.2, 0.0), (std::pair{Pattern::content, 0.3}));
}

TEST(CaptureJson, HoldsSummariesAndVectors) {
  View view = view_of(Kind::decoder, 3, 3, [](std::int64_t row) { return row; });
  view.maps.push_back(view.maps[0]);
  view.maps[1].head.head = 1;
  view.maps[1].weights = {1, 0, 0, 0.5f, 0.5f, 0, 1, 0, 0};
  for (Map& map : view.maps)
    map.values = HeadValues{.size = 2,
                            .value_size = 1,
                            .query = std::vector<float>(6, 0.5f),
                            .key = std::vector<float>(6, 0.25f),
                            .value = std::vector<float>(3, 0.1f)};
  view.size = ModelSize{ModelKind::decoder, 8, 100, 12345};
  auto json = nlohmann::json::parse(to_json(view, Precision::full));
  EXPECT_EQ(json["format"], "regard-capture");
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["drawing"]["parameters"], 12345);
  EXPECT_EQ(json["attention"][0]["pattern"], "same");
  EXPECT_EQ(json["attention"][0]["values"]["query"],
            nlohmann::json::parse("[[0.5,0.5],[0.5,0.5],[0.5,0.5]]"));
  EXPECT_EQ(json["attention"][0]["values"]["value"].size(), 3u);
  EXPECT_EQ(json["attention"][0]["values"]["causal"], true);
  limit_values(view, 15);
  json = nlohmann::json::parse(to_json(view, Precision::full));
  EXPECT_EQ(json["attention"][0].contains("values") + json["attention"][1].contains("values"), 1);
  EXPECT_EQ(json["left_out"], "Query, key and value vectors are left out for 1 of 2 heads.");
}

}  // namespace
}  // namespace regard::inspect
