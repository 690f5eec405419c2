// A word's vectors in several sentences: hidden states compared with transformers, silhouettes and
// projections with scikit-learn (tools/make_context_goldens.py).
#include "inspect/word_context.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "inspect/silhouette.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::ContextSentence;
using testing::golden;

Json read(const std::string& name) {
  return read_json(golden("context/" + name).string());
}

TEST(WordContext, SilhouetteAndPlaneAreThoseOfScikitLearn) {
  for (const Json& wanted : read("golden.json")) {
    const auto x = wanted["x"].get<std::vector<std::vector<float>>>();
    const auto groups = wanted["groups"].get<std::vector<std::int32_t>>();
    Tensor rows = Tensor::zeros({std::ssize(x), std::ssize(x[0])});
    for (std::size_t r = 0; r < x.size(); ++r)
      std::copy(x[r].begin(), x[r].end(), rows.row(static_cast<std::int64_t>(r)));
    std::vector<double> distances;
    for (const auto& a : x)
      for (const auto& b : x) {
        double product = 0, first = 0, second = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double p = static_cast<double>(a[i]), q = static_cast<double>(b[i]);
          product += p * q, first += p * p, second += q * q;
        }
        distances.push_back(1 - product / std::sqrt(first * second));
      }
    EXPECT_NEAR(inspect::silhouette(distances, groups), wanted["silhouette"].get<double>(), 1e-10);
    const inspect::PlaneProjection plane = inspect::principal_plane(rows);
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_NEAR(plane.explained[d], wanted["explained"][d].get<double>(), 1e-9);
      for (std::size_t r = 0; r < x.size(); ++r)
        EXPECT_NEAR(plane.points[r][d], wanted["plane"][r][d].get<double>(), 1e-6);
    }
  }
}

// The first item is alone in its group and counts as 0. The second and third have the distance 1 to each
// other, and the distances 3 and 2 to the first.
TEST(WordContext, ItemsAloneInTheirGroupCountAsZero) {
  const std::vector<double> distances{0, 3, 2, 3, 0, 1, 2, 1, 0};
  const std::vector<std::int32_t> groups{7, 4, 4};
  EXPECT_DOUBLE_EQ(inspect::silhouette(distances, groups), (0 + (3.0 - 1) / 3 + (2.0 - 1) / 2) / 3);
}

TEST(WordContext, NoSilhouetteWithoutTwoGroups) {
  const std::vector<double> distances(9, 0.5);
  EXPECT_TRUE(std::isnan(inspect::silhouette(distances, std::vector<std::int32_t>{1, 1, 1})));
  EXPECT_TRUE(std::isnan(inspect::silhouette(distances, std::vector<std::int32_t>{1, 2, 3})));
  EXPECT_REGARD_ERROR(inspect::silhouette(distances, std::vector<std::int32_t>{1, 2}), ErrorKind::usage,
                      "distance");
}

TEST(WordContext, EqualRowsAreAtTheOrigin) {
  Tensor rows = Tensor::zeros({3, 4});
  std::fill_n(rows.f32(), 12, 0.3f);
  for (const auto& point : inspect::principal_plane(rows).points) {
    EXPECT_EQ(point[0], 0.0);
    EXPECT_EQ(point[1], 0.0);
  }
}

// Most of the variance is along an axis on which many rows with small norms lie. The two rows with the
// largest norms are orthogonal to this axis.
TEST(WordContext, LongRowsDoNotHideTheMainAxis) {
  Tensor rows = Tensor::zeros({202, 2});
  rows.f32()[0] = 10;
  rows.f32()[2] = -10;
  for (std::size_t row = 2; row < 202; ++row) rows.f32()[2 * row + 1] = row % 2 == 0 ? 5.0f : -5.0f;
  const inspect::PlaneProjection plane = inspect::principal_plane(rows);
  EXPECT_NEAR(plane.explained[0], 5000.0 / 5200.0, 1e-9);
  EXPECT_NEAR(plane.explained[1], 200.0 / 5200.0, 1e-9);
  EXPECT_NEAR(std::abs(plane.points[5][0]), 5.0, 1e-9);
}

class WordInBert : public ::testing::Test {
 protected:
  inspect::WordContext context(const std::string& word, std::vector<ContextSentence> sentences) {
    return inspect::word_context(loaded_, pool_, word, std::move(sentences));
  }
  ThreadPool pool_{1};
  infer::LoadedModel loaded_ = infer::LoadedModel::open(golden("hf-more/st-mean"));
};

TEST_F(WordInBert, VectorsAreTheHiddenStatesOfTransformers) {
  const Json wanted = read("bert.json");
  std::vector<ContextSentence> sentences;
  const char* senses[] = {"money", "river", "money"};
  for (const Json& sentence : wanted["sentences"])
    sentences.push_back({sentence["text"].get<std::string>(), senses[sentences.size()]});
  const inspect::WordContext found = context("bank", sentences);
  ASSERT_EQ(found.layers.size(), 5u);  // "static", "input", two layers, "output"
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    EXPECT_EQ(found.places[s].tokens.size(), wanted["sentences"][s]["tokens"].get<std::size_t>());
    for (std::size_t layer = 0; layer < 4; ++layer) {
      const auto vector = wanted["sentences"][s]["vectors"][layer].get<std::vector<float>>();
      for (std::size_t f = 0; f < vector.size(); ++f)
        ASSERT_NEAR(found.layers[layer].vectors.row(static_cast<std::int64_t>(s))[f], vector[f], 1e-5f)
            << found.layers[layer].name << ", sentence " << s;
    }
  }
  EXPECT_EQ(found.layers[0].name, "static");
  EXPECT_EQ(found.layers[1].name, "input");
  EXPECT_EQ(found.layers[2].name, "layer 0");
  EXPECT_NEAR(found.layers[0].mean_cosine, 1.0, 1e-12) << "a static vector does not depend on the sentence";
  EXPECT_LT(found.layers[3].mean_cosine, 1.0 - 1e-6);
  EXPECT_TRUE(found.has_senses);
  EXPECT_TRUE(std::isfinite(found.layers[3].silhouette));
  for (const inspect::ContextLayer& layer : found.layers)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(layer.nearest[i], static_cast<std::int64_t>(i));
  const Json layers = parse_json(inspect::context_json(found, false), "context")["layers"];
  for (std::size_t at = 0; at < found.layers.size(); ++at) {
    ASSERT_EQ(layers[at]["cosine"].size(), 3u) << found.layers[at].name;
    std::vector<double> cosines;
    for (const Json& row : layers[at]["cosine"])
      for (const Json& value : row) cosines.push_back(value.get<double>());
    EXPECT_EQ(cosines, found.layers[at].cosine) << found.layers[at].name;
    EXPECT_FALSE(layers[at].contains("vectors"));
    EXPECT_TRUE(layers[at].contains("silhouette"));
  }
}

TEST_F(WordInBert, SentencesWithoutASenseAreNotCounted) {
  std::vector<ContextSentence> sentences{
      {"The bank lends money.", "money"}, {"The river bank.", "river"}, {"A bank, a money bank.", "money"}};
  const inspect::WordContext known = context("bank", sentences);
  sentences.push_back({"The bank.", ""}), sentences.push_back({"A bank.", ""});
  const inspect::WordContext found = context("bank", sentences);
  for (std::size_t layer = 0; layer < known.layers.size(); ++layer) {
    const inspect::ContextLayer &a = found.layers[layer], &b = known.layers[layer];
    EXPECT_EQ(a.same_sense, b.same_sense) << a.name;
    EXPECT_EQ(a.other_sense, b.other_sense) << a.name;
    EXPECT_EQ(a.silhouette, b.silhouette) << a.name;
  }
  const inspect::WordContext none = context("bank", {{"The bank.", ""}, {"A bank.", ""}});
  EXPECT_TRUE(std::isnan(none.layers[0].same_sense));
  EXPECT_TRUE(std::isfinite(none.layers[0].mean_cosine));
}

TEST_F(WordInBert, WordsAreFoundWhole) {
  EXPECT_REGARD_ERROR(context("bank", {{"The banks lend money.", ""}}), ErrorKind::invalid_input, "bank");
  EXPECT_REGARD_ERROR(context("bank", {{"The embankment.", ""}}), ErrorKind::invalid_input, "bank");
  EXPECT_REGARD_ERROR(context("", {{"The bank.", ""}}), ErrorKind::invalid_input, "word");
  EXPECT_REGARD_ERROR(context("bank", {}), ErrorKind::invalid_input, "at least one sentence");
  EXPECT_EQ(context("BANK", {{"A bank, a bank.", ""}}).places[0].sentence, 0u);
}

TEST_F(WordInBert, OneSentenceHasNoNeighbour) {
  const inspect::WordContext one = context("bank", {{"The bank.", ""}});
  EXPECT_EQ(one.layers[0].nearest[0], -1);
  EXPECT_TRUE(std::isnan(one.layers[0].mean_cosine));
  const Json json = parse_json(inspect::context_json(one, true), "context");
  EXPECT_TRUE(json["layers"][0]["mean_cosine"].is_null());
  EXPECT_EQ(json["layers"][0]["vectors"].size(), 1u);
}

TEST_F(WordInBert, TheDrawingEscapesItsText) {
  const std::string svg =
      inspect::context_svg(context("bank", {{"A <b> & bank.", "x"}, {"The bank.", "\"y\""}}));
  EXPECT_NE(svg.find("A &lt;b&gt; &amp; bank."), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("&quot;y&quot;"), std::string::npos);
}

// The largest absolute coordinate of a layer is drawn 90 units from the middle of its panel. Panels have a
// width of 220 units, and three are in a row.
TEST(ContextSvg, DrawsThePointsOfEachLayer) {
  inspect::WordContext context;
  context.word = "bank";
  context.sentences = {{"A bank.", ""}, {"The bank.", ""}, {"Banks: bank.", ""}};
  context.places.resize(3);
  context.layers.resize(4);
  for (inspect::ContextLayer& layer : context.layers) layer.plane.points = {{4, 1}, {-2, -3}, {0, 2}};
  const std::string svg = inspect::context_svg(context);
  std::vector<std::string> circles;
  for (std::size_t at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1))
    circles.push_back(svg.substr(at, svg.find(" r=", at) - at));
  std::vector<std::string> expected;
  for (const auto& [x, y] : {std::pair(128.0, 194.0), {366.0, 194.0}, {604.0, 194.0}, {128.0, 460.0}})
    for (const auto& point : context.layers[0].plane.points)
      expected.push_back(
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\"", x + 90 * point[0] / 4, y - 90 * point[1] / 4));
  EXPECT_EQ(circles, expected);
}

// Test a decoder, and the encoder of an encoder–decoder.
TEST(WordContextModels, DecodersAndEncoderDecoders) {
  ThreadPool pool(1);
  for (const char* name : {"gpt", "translator"}) {
    const testing::TemporaryFolder folder;
    testing::write_text_model(folder.path(), name);
    const infer::LoadedModel loaded = infer::LoadedModel::open(folder.path());
    const inspect::WordContext found =
        inspect::word_context(loaded, pool, "a", {{"b a c", ""}, {"a d a", ""}});
    ASSERT_GE(found.layers.size(), 3u) << name;
    EXPECT_EQ(found.layers[0].name, "static");
    EXPECT_NEAR(found.layers[0].mean_cosine, 1.0, 1e-12) << name;
    EXPECT_LT(found.layers.back().mean_cosine, 1.0 - 1e-6) << name;
  }
}

}  // namespace
}  // namespace regard::testing
