// The JSON and the drawing of a word's vectors, for a context that this test makes.
#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "inspect/principal_components.h"
#include "inspect/word_context.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::ContextLayer;
using inspect::WordContext;

WordContext small_context() {
  WordContext context;
  context.model = "m", context.word = "bank", context.has_senses = true;
  context.sentences = {{"A <bank>.", "money"}, {"The bank.", "river"}, {"Bank!", ""}};
  for (std::size_t i = 0; i < 3; ++i) context.places.push_back({i, {"b", "ank"}});
  for (const char* name : {"static", "input", "layer 0", "output"}) {
    ContextLayer& layer = context.layers.emplace_back();
    layer.name = name;
    layer.vectors = Tensor::of({3, 2}, {0.5f, 0.25f, 1.0f, 2.0f, 3.0f, -4.0f});
    layer.cosine = {1, 0.5, 0.25, 0.5, 1, -0.5, 0.25, -0.5, 1};
    layer.nearest = {1, 0, 0};
    layer.mean_cosine = 0.125, layer.same_sense = 0.75, layer.other_sense = -0.25;
    layer.silhouette = std::numeric_limits<double>::quiet_NaN();
    layer.plane.points = {{2, -1}, {-0.5, 1}, {0, 0}};
    layer.plane.explained = {0.75, 0.25};
  }
  context.layers[3].silhouette = 0.125;
  return context;
}

TEST(WordContextOutput, JsonHasEveryNumber) {
  WordContext context = small_context();
  context.layers.erase(context.layers.begin(), context.layers.begin() + 2);
  const Json expected = Json::parse(R"({"model": "m", "word": "bank",
      "sentences": [{"text": "A <bank>.", "tokens": ["b", "ank"], "sense": "money"},
                    {"text": "The bank.", "tokens": ["b", "ank"], "sense": "river"},
                    {"text": "Bank!", "tokens": ["b", "ank"], "sense": ""}],
      "layers": [
        {"layer": "layer 0", "cosine": [[1.0, 0.5, 0.25], [0.5, 1.0, -0.5], [0.25, -0.5, 1.0]],
         "nearest": [1, 0, 0], "mean_cosine": 0.125, "same_sense": 0.75, "other_sense": -0.25,
         "silhouette": null, "plane": [[2.0, -1.0], [-0.5, 1.0], [0.0, 0.0]], "explained": [0.75, 0.25],
         "vectors": [[0.5, 0.25], [1.0, 2.0], [3.0, -4.0]]},
        {"layer": "output", "cosine": [[1.0, 0.5, 0.25], [0.5, 1.0, -0.5], [0.25, -0.5, 1.0]],
         "nearest": [1, 0, 0], "mean_cosine": 0.125, "same_sense": 0.75, "other_sense": -0.25,
         "silhouette": 0.125, "plane": [[2.0, -1.0], [-0.5, 1.0], [0.0, 0.0]], "explained": [0.75, 0.25],
         "vectors": [[0.5, 0.25], [1.0, 2.0], [3.0, -4.0]]}]})");
  EXPECT_EQ(parse_json(inspect::context_json(context, true), "json"), expected);
  context.has_senses = false;
  Json plain = expected;
  for (Json& sentence : plain["sentences"]) sentence.erase("sense");
  for (Json& layer : plain["layers"])
    for (const char* name : {"same_sense", "other_sense", "silhouette", "vectors"}) layer.erase(name);
  EXPECT_EQ(parse_json(inspect::context_json(context, false), "json"), plain);
}

// Panels are squares of 220 pixels, three in a row. The largest coordinate is 20 pixels from the border.
TEST(WordContextOutput, PanelsAreInRowsOfThree) {
  const std::string svg = inspect::context_svg(small_context());
  const auto point = [](const char* x, const char* y, const char* colour, const char* tooltip,
                        const char* text_x, const char* text_y, int number) {
    return std::string("<g><title>") + tooltip + "</title><circle cx=\"" + x + "\" cy=\"" + y +
           "\" r=\"5\" fill=\"" + colour + "\" fill-opacity=\"0.8\"/><text class=\"quiet\" x=\"" + text_x +
           "\" y=\"" + text_y + "\">" + std::to_string(number) + "</text></g>\n";
  };
  const auto panel = [](const char* x, const char* title_y, const char* y, const char* title) {
    return std::string("<text class=\"title\" x=\"") + x + "\" y=\"" + title_y + "\">" + title +
           "</text>\n<rect class=\"frame\" x=\"" + x + "\" y=\"" + y + "\" width=\"220\" height=\"220\"/>\n";
  };
  for (const std::string& part :
       {std::string("width=\"732\" height=\"614\" viewBox=\"0 0 732 614\" role=\"img\">\n<title>bank in "
                    "context</title>"),
        std::string("<rect width=\"732\" height=\"614\" fill=\"#fff\"/>\n<text class=\"title\" x=\"18\" "
                    "y=\"28\">bank in 3 sentences</text>\n"
                    "<text x=\"18.0\" y=\"48\" style=\"fill:#1f5fbf\">● money</text>\n"
                    "<text x=\"93.0\" y=\"48\" style=\"fill:#c2410c\">● river</text>\n"
                    "<text x=\"168.0\" y=\"48\" style=\"fill:#15803d\">● </text>\n"),
        panel("18.0", "76.0", "84.0", "static") +
            point("218.0", "239.0", "#1f5fbf", "money: A &lt;bank&gt;.", "225.0", "243.0", 1) +
            point("105.5", "149.0", "#c2410c", "river: The bank.", "112.5", "153.0", 2) +
            point("128.0", "194.0", "#15803d", "Bank!", "135.0", "198.0", 3),
        panel("256.0", "76.0", "84.0", "input"), panel("494.0", "76.0", "84.0", "layer 0"),
        panel("18.0", "342.0", "350.0", "output, silhouette 0.12") +
            point("218.0", "505.0", "#1f5fbf", "money: A &lt;bank&gt;.", "225.0", "509.0", 1)})
    EXPECT_NE(svg.find(part), svg.npos) << part << "\n" << svg;
  WordContext small = small_context();
  small.layers.resize(2);
  small.has_senses = false;
  const std::string less = inspect::context_svg(small);
  EXPECT_NE(less.find("width=\"494\" height=\"348\""), less.npos) << less.substr(0, 200);
  EXPECT_EQ(less.find("●"), less.npos);
}

// The sign of an axis makes the first of the largest coordinates positive.
TEST(WordContextOutput, TheFirstOfTheFarthestRowsIsPositive) {
  for (const float first : {-3.0f, 5.0f}) {
    const inspect::PlaneProjection plane = inspect::principal_plane(Tensor::of({2, 1}, {first, 1.0f}));
    const double half = std::abs(static_cast<double>(first) - 1.0) / 2;
    EXPECT_NEAR(plane.points[0][0], half, 1e-9);
    EXPECT_NEAR(plane.points[1][0], -half, 1e-9);
    EXPECT_NEAR(plane.explained[0], 1.0, 1e-12);
    EXPECT_EQ(plane.explained[1], 0.0);
    EXPECT_EQ(plane.points[0][1], 0.0);
  }
}

TEST(WordContextOutput, AtMost1000SentencesAreCompared) {
  ThreadPool pool(1);
  const infer::LoadedModel loaded = infer::LoadedModel::open(golden("hf-more/st-mean"));
  const std::vector<inspect::ContextSentence> sentences(1001, {"no such word", ""});
  EXPECT_REGARD_ERROR(inspect::word_context(loaded, pool, "bank", sentences), ErrorKind::usage,
                      "too many sentences (expected at most 1000 sentences, found 1001 sentences)");
  EXPECT_REGARD_ERROR(
      inspect::word_context(loaded, pool, "bank", {sentences.begin(), sentences.end() - 1}),
      ErrorKind::invalid_input,
      "the sentence does not contain the word (expected 'bank' as a whole word, found 'no such word')");
}

}  // namespace
}  // namespace regard::testing
