// Limits of a capture: maps without weights, thumbnails, activations, parts of layers and long sounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "inspect/capture_json.h"
#include "inspect/packed.h"
#include "inspect/resolve.h"
#include "inspect/sound_view.h"
#include "inspect/weight_parts.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "support/tiny_models.h"
#include "text/base64.h"

namespace regard::testing {
namespace {

using inspect::Kind;
using inspect::Map;
using inspect::Selection;
using inspect::View;
using nlohmann::json;

std::vector<int> bytes_of(const json& packed) {
  const std::string bytes = text::decode_base64(packed["data"].get<std::string>()).value();
  const std::span all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return {all.begin(), all.end()};
}

json parsed(const inspect::FloatJson& value) {
  return json::parse(value.dump());
}

TEST(CaptureLimits, BytesAreSharesOfTheLargestWeightOfTheirRow) {
  const json found =
      parsed(inspect::packed_bytes(std::vector<float>{0.5f, 0.25f, 0.0f, 0.0f, -1.0f, 0.0f}, 3));
  EXPECT_EQ(found["rows"], 2);
  EXPECT_EQ(found["columns"], 3);
  EXPECT_EQ(found["bits"], 8);
  EXPECT_EQ(found["scale"], json::array({0.5, 0.0}));
  EXPECT_EQ(bytes_of(found), (std::vector<int>{255, 128, 0, 0, 0, 0}));
  const json words = parsed(inspect::packed_int16(std::vector<float>{-2.0f, 1.0f, 0.0f, 0.0f}, 2));
  EXPECT_EQ(words["rows"], 2);
  EXPECT_EQ(words["columns"], 2);
  EXPECT_EQ(words["bits"], 16);
  EXPECT_EQ(words["scale"], json::array({2.0, 0.0}));
  // −32767 and 16384, the lower byte first
  EXPECT_EQ(bytes_of(words), (std::vector<int>{0x01, 0x80, 0x00, 0x40, 0, 0, 0, 0}));
  EXPECT_EQ(parsed(inspect::packed_bytes({}, 0))["rows"], 0);
  EXPECT_EQ(parsed(inspect::rows_json(std::vector<float>{1, 2, 3, 4}, 2)),
            json::parse("[[1.0, 2.0], [3.0, 4.0]]"));
}

// The page shows the values of a row without a scale as unknown. With a scale, it would show NaN as 0.
TEST(CaptureLimits, RowsThatAreNotFiniteHaveNoScale) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> rows{nan, 0.5f, 0.25f, infinity, 0.5f, 0.25f, 0.5f, -infinity, 0.5f, 0.25f};
  const json words = parsed(inspect::packed_int16(rows, 2)), bytes = parsed(inspect::packed_bytes(rows, 2));
  EXPECT_EQ(words["scale"], json::array({nullptr, nullptr, 0.5, nullptr, 0.5}));
  EXPECT_EQ(bytes["scale"], words["scale"]);
  EXPECT_EQ(bytes_of(bytes), (std::vector<int>{0, 0, 0, 0, 255, 128, 0, 0, 255, 128}));
  const std::vector<int> integers = bytes_of(words);
  EXPECT_EQ(std::vector<int>(integers.begin(), integers.begin() + 8), std::vector<int>(8, 0));
}

// A cell of a thumbnail is the largest weight of the rows and columns that it covers.
TEST(CaptureLimits, ThumbnailsHaveAtMost32RowsAndColumns) {
  Map map;
  map.rows = 70, map.columns = 33;
  map.weights.resize(70 * 33);
  for (std::size_t i = 0; i < map.weights.size(); ++i)
    map.weights[i] = static_cast<float>(i * 7919 % 1009) / 1009;
  const json found = parsed(inspect::thumbnail(map));
  EXPECT_EQ(found["rows"], 32);
  EXPECT_EQ(found["columns"], 32);
  const float scale = *std::max_element(map.weights.begin(), map.weights.end());
  EXPECT_EQ(found["scale"][0].get<float>(), scale);
  const std::vector<int> bytes = bytes_of(found);
  ASSERT_EQ(bytes.size(), 32u * 32u);
  for (std::int64_t row = 0; row < 32; ++row)
    for (std::int64_t column = 0; column < 32; ++column) {
      float most = 0;
      for (std::int64_t r = row * 70 / 32; r < (row + 1) * 70 / 32; ++r)
        for (std::int64_t c = column * 33 / 32; c < (column + 1) * 33 / 32; ++c)
          most = std::max(most, map.at(r, c));
      EXPECT_EQ(bytes[static_cast<std::size_t>(row * 32 + column)], std::lround(most / scale * 255));
    }
  map.rows = 1, map.columns = 2, map.weights = {0.25f, 0.75f};
  const json small = parsed(inspect::thumbnail(map));
  EXPECT_EQ(small["rows"], 1);
  EXPECT_EQ(small["columns"], 2);
  EXPECT_EQ(bytes_of(small), (std::vector<int>{85, 255}));
}

// At most 900,000 weights are written. Of the other encoder maps of a sound, the mean over the queries and
// the rows of special tokens are written.
TEST(CaptureLimits, ALongSoundHasTheMeanOverItsQueries) {
  constexpr std::int64_t kRows = 901, kColumns = 1000;
  View view;
  view.sound.emplace();
  view.sound->spectrogram = {1, 1, {0.5f}};
  view.size.emplace();
  view.size->input.kind = InputKind::features;
  view.size->input.specials = 2;
  for (const Kind kind : {Kind::encoder, Kind::decoder}) {
    Map& map = view.maps.emplace_back();
    map.head = {kind, 0, 0};
    map.rows = kRows, map.columns = kColumns;
    map.weights.assign(kRows * kColumns, 0.125f);
    map.summary.emplace();
  }
  Map& map = view.maps[0];
  for (std::size_t i = 0; i < map.weights.size(); i += 3) map.weights[i] = static_cast<float>(i % 7) / 8;
  const json capture = json::parse(to_json(view));
  EXPECT_EQ(capture["left_out"],
            "The weights of 2 of 2 heads are left out: these heads have a thumbnail only.");
  EXPECT_EQ(capture["sound"]["specials"], 2);
  for (const json& head : capture["attention"]) {
    EXPECT_FALSE(head.contains("weights"));
    EXPECT_EQ(head.contains("received"), head["kind"] == "encoder");
  }
  const json& received = capture["attention"][0]["received"];
  EXPECT_EQ(received["rows"], 3);
  EXPECT_EQ(received["columns"], kColumns);
  const std::vector<int> bytes = bytes_of(received);
  ASSERT_EQ(bytes.size(), 3u * kColumns);
  std::vector<double> means(kColumns);
  for (std::size_t i = 0; i < map.weights.size(); ++i)
    means[i % kColumns] += static_cast<double>(map.weights[i]) / kRows;
  double worst = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double scale = received["scale"][i / kColumns].get<double>();
    const double expected =
        i < kColumns ? means[i] : static_cast<double>(map.weights[i - static_cast<std::size_t>(kColumns)]);
    worst = std::max(worst, std::abs(bytes[i] / 255.0 * scale - expected));
  }
  EXPECT_LT(worst, 1.0 / 500);
  view.maps.resize(1);
  view.maps[0].rows = 900;
  view.maps[0].weights.resize(900 * kColumns);
  EXPECT_NE(to_json(view).find("\"weights\":{"), std::string::npos) << "exactly 900,000 weights";
}

// Needed activations come first, then those of a whole side, then the others.
TEST(CaptureLimits, TheMostUsefulActivationsAreKept) {
  const std::vector<std::string> points{
      "encoder.0.self.input", "encoder.embedding", "encoder.0.feed_forward.inner",
      "encoder.0.residual",   "encoder.output",    "encoder.0.self.output"};
  const auto kept = [&](std::size_t numbers, const std::set<std::string>& needed) {
    View view;
    view.left_out = "Before.";
    for (const std::string& point : points) view.activations.push_back({point, 1, 4, std::vector<float>(4)});
    inspect::limit_activations(view, numbers, needed);
    std::vector<std::string> names;
    for (const inspect::Activation& one : view.activations) names.push_back(one.point);
    const std::size_t dropped = points.size() - names.size();
    EXPECT_EQ(view.left_out, dropped == 0
                                 ? std::string("Before.")
                                 : "Before. " + std::to_string(dropped) + " of 6 activations are left out.");
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(kept(24, {}), points);
  EXPECT_EQ(kept(23, {}).size(), 5u);
  EXPECT_EQ(kept(12, {}), (Names{points[1], points[3], points[4]}));
  EXPECT_EQ(kept(16, {}), (Names{points[0], points[1], points[3], points[4]}));
  EXPECT_EQ(kept(8, {points[5], points[2]}), (Names{points[2], points[5]}));
  EXPECT_EQ(kept(12, {points[5], points[2]}), (Names{points[1], points[2], points[5]}));
  EXPECT_EQ(kept(3, {}), Names());
}

// Layers of an encoder have 4 · 3² = 36 weights, of the decoder 4 · 5² = 100, of the cross-attention 60.
TEST(CaptureLimits, PartsOfLayersFitIntoTheLimit) {
  ThreadPool pool(1);
  const auto model = tiny_model("translator");
  const auto points = inspect::ModelPoints::of(*model, pool);
  ASSERT_EQ(points.heads.size(), 6u);
  inspect::PassInput input;
  input.source.ids = {5, 6, 7}, input.target = {1, 2, 3, 4, 5};
  const auto parts = [&](std::int64_t numbers, const std::set<Kind>& kinds = {}) {
    std::string all;
    for (const Selection& part : inspect::weight_parts(*model, points, input, kinds, numbers)) {
      for (const Kind kind : part.kinds) all += inspect::name_of(kind);
      for (const std::int64_t layer : part.layers) all += " " + std::to_string(layer);
      all += ";";
    }
    return all;
  };
  EXPECT_EQ(parts(392), ";") << "one part with everything";
  EXPECT_EQ(parts(391), "encoder 0 1;decoder 0 1;cross 0 1;");
  EXPECT_EQ(parts(199), "encoder 0 1;decoder 0;decoder 1;cross 0 1;");
  EXPECT_EQ(parts(120), "encoder 0 1;decoder 0;decoder 1;cross 0 1;");
  EXPECT_EQ(parts(119), "encoder 0 1;decoder 0;decoder 1;cross 0;cross 1;");
  EXPECT_EQ(parts(72), "encoder 0 1;decoder 0;decoder 1;cross 0;cross 1;");
  EXPECT_EQ(parts(71), "encoder 0;encoder 1;decoder 0;decoder 1;cross 0;cross 1;");
  EXPECT_EQ(parts(72, {Kind::encoder}), "encoder;");
  EXPECT_EQ(parts(71, {Kind::encoder}), "encoder 0;encoder 1;");
}

// The last layers of an encoder are kept; of an encoder–decoder, all but the encoder's own attention.
TEST(CaptureLimits, LongSoundsKeepTheLastLayers) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(HfFolder("wav2vec2-stable").path));
  ModelInput input;
  input.values = Tensor::zeros({400, 1});
  const auto points = inspect::ModelPoints::of(*model, pool);
  const std::int64_t frames = model->input_spec().length_of(input), layers = std::ssize(points.heads),
                     heads = points.heads.begin()->second, layer = heads * frames * frames;
  ASSERT_GE(layers, 2);
  const auto limited = [&](std::int64_t numbers, Selection selection = {}) {
    const std::string said = inspect::limit_weights(*model, pool, input, 0, numbers, selection);
    return std::pair{said, selection.layers};
  };
  EXPECT_EQ(limited(layers * layer), (std::pair{std::string(), std::set<std::int64_t>()}));
  std::set<std::int64_t> rest;
  for (std::int64_t one = 1; one < layers; ++one) rest.insert(one);
  EXPECT_EQ(
      limited(layers * layer - 1),
      (std::pair{std::string("The attention of layers 0 to 0 is left out, because it would take too much "
                             "memory; select one of them to show it."),
                 rest}));
  EXPECT_EQ(limited(layer).second, std::set<std::int64_t>{layers - 1});
  EXPECT_NE(limited(layer).first.find("layers 0 to " + std::to_string(layers - 2) + " is left out"),
            std::string::npos);
  EXPECT_REGARD_ERROR(limited(layer - 1), ErrorKind::invalid_input,
                      "the attention weights of this sound take too much memory (expected at most " +
                          std::to_string(layer - 1) + " numbers, found " + std::to_string(layer) +
                          " numbers). Select fewer layers or heads, or give a shorter sound");
  Selection one;
  one.layers = {0}, one.heads = {0};
  EXPECT_EQ(limited(layer / heads, one), (std::pair{std::string(), std::set<std::int64_t>{0}}));
  EXPECT_REGARD_ERROR(limited(layer / heads - 1, one), ErrorKind::invalid_input, "too much memory");
}

// 900,000 weights are written: those of the maps with the highest scores. A map that exceeds the rest of the
// limit is left out, and a smaller one after it is written.
TEST(CaptureLimits, WeightsAreThoseOfTheHighestScores) {
  for (const std::int64_t last : {299, 300, 301}) {
    View view;
    double score = 0;
    for (const std::int64_t rows : {last, std::int64_t{301}, std::int64_t{600}}) {
      Map& map = view.maps.emplace_back();
      map.head = {Kind::decoder, 0, std::ssize(view.maps) - 1};
      map.rows = rows, map.columns = 1000;
      map.weights.assign(static_cast<std::size_t>(rows * 1000), 0.25f);
      map.summary.emplace().telling = ++score;
    }
    const json capture = json::parse(to_json(view));
    std::vector<bool> written;
    for (const json& head : capture["attention"]) written.push_back(head.contains("weights"));
    EXPECT_EQ(written, (std::vector<bool>{last <= 300, false, true})) << last;
    EXPECT_EQ(capture.value("left_out", ""),
              fmt::format("The weights of {} of 3 heads are left out: these heads have a thumbnail only.",
                          last <= 300 ? 1 : 2));
  }
}

// If the text of one candidate is an incomplete UTF-8 sequence, the JSON of the step contains the bytes of
// all candidates.
TEST(CaptureLimits, StepsHaveTheBytesOfIncompleteCharacters) {
  View view;
  view.steps = {{.candidates = {{.id = 4, .text = "a", .logit = 1, .bytes = ""},
                                {.id = 5, .text = "x", .logit = 0.5f, .bytes = "\xe0\xa4"}},
                 .log_sum_exp = 2,
                 .written_logit = 0.5f},
                {.candidates = {{.id = 7, .text = "b", .logit = 3, .bytes = ""}},
                 .log_sum_exp = 3.5,
                 .written_logit = 3}};
  EXPECT_EQ(json::parse(to_json(view))["steps"], json::parse(R"([
      {"log_sum_exp": 2, "written_logit": 0.5, "ids": [4, 5], "text": ["a", "x"], "logits": [1, 0.5],
       "bytes": ["", "e0a4"]},
      {"log_sum_exp": 3.5, "written_logit": 3, "ids": [7], "text": ["b"], "logits": [3]}])"));
}

TEST(CaptureLimits, LongSoundsOfAnEncoderDecoderKeepTheDecoder) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(HfFolder("whisper").path));
  const ModelInput input = model->input_spec().blank();
  const auto points = inspect::ModelPoints::of(*model, pool);
  const std::int64_t frames = model->input_spec().length_of(input), written = 5;
  std::int64_t all = 0, decoder = 0;
  for (const auto& [place, heads] : points.heads) {
    const std::int64_t rows = place.first == Kind::encoder ? frames : written,
                       columns = place.first == Kind::decoder ? written : frames;
    all += heads * rows * columns;
    if (place.first != Kind::encoder) decoder += heads * rows * columns;
  }
  Selection selection;
  EXPECT_EQ(inspect::limit_weights(*model, pool, input, written, all, selection), "");
  EXPECT_TRUE(selection.kinds.empty());
  EXPECT_EQ(inspect::limit_weights(*model, pool, input, written, all - 1, selection),
            "The encoder's attention is left out, because it would take too much memory; select the kind "
            "encoder and a layer to show it.");
  EXPECT_EQ(selection.kinds, (std::set<Kind>{Kind::decoder, Kind::cross}));
  EXPECT_EQ(inspect::limit_weights(*model, pool, input, written, decoder, selection), "");
  EXPECT_REGARD_ERROR(inspect::limit_weights(*model, pool, input, written, decoder - 1, selection),
                      ErrorKind::invalid_input, "too much memory");
}

// Frames are averaged into at most 600 columns, and levels are scaled to 0 … 1.
TEST(CaptureLimits, SpectrogramsHaveAtMost600Columns) {
  Tensor frames = Tensor::empty({1300, 2});
  for (std::int64_t i = 0; i < 1300; ++i)
    frames.row(i)[0] = static_cast<float>(i), frames.row(i)[1] = static_cast<float>(-i);
  const inspect::Spectrogram found = inspect::display_spectrogram(frames, 0.01, 12.001);
  EXPECT_EQ(found.bands, 2);
  ASSERT_EQ(found.columns, 600);
  ASSERT_EQ(found.levels.size(), 1200u);
  // 1201 frames: column c covers the frames from c · 1201 / 600, and the last column the last three
  const double low = -1199.0, high = 1199.0;
  for (std::int64_t column = 0; column < 600; ++column) {
    const std::int64_t begin = column * 1201 / 600, end = (column + 1) * 1201 / 600;
    const double mean = static_cast<double>(begin + end - 1) / 2;
    EXPECT_NEAR(found.levels[static_cast<std::size_t>(column)], (mean - low) / (high - low), 1e-6);
    EXPECT_NEAR(found.levels[static_cast<std::size_t>(600 + column)], (-mean - low) / (high - low), 1e-6);
  }
  const inspect::Spectrogram brief = inspect::display_spectrogram(frames, 0.01, 0.031);
  EXPECT_EQ(brief.columns, 4);
  EXPECT_EQ(brief.levels,
            (std::vector<float>{0.5f, 4.0f / 6, 5.0f / 6, 1.0f, 0.5f, 2.0f / 6, 1.0f / 6, 0.0f}));
  EXPECT_EQ(inspect::display_spectrogram(frames, 0.01, 0).columns, 1);
  EXPECT_EQ(inspect::display_spectrogram(frames.slice_rows(0, 9), 0.01, 99).columns, 9);
  const Tensor silence = Tensor::zeros({2, 1});
  EXPECT_EQ(inspect::display_spectrogram(silence, 0.01, 1).levels, (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace regard::testing
