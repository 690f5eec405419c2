// Attention over pictures: rollout compared with values calculated by hand, weights of patches, and the
// picture inside the SVG.
#include "inspect/picture_attention.h"

#include <gtest/gtest.h>

#include "data/encode_png.h"
#include "inspect/rollout.h"
#include "inspect/sound_view.h"
#include "models/weights.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "text/base64.h"

namespace regard::testing {
namespace {

using inspect::Map;
using inspect::View;

// Return a capture with a class token and two patches in one row, and two layers of two heads.
View small_view() {
  View view;
  view.tokens.source = {"[CLS]", "0,0", "0,1"};
  const std::vector<float> identity{1, 0, 0, 0, 1, 0, 0, 0, 1}, even(9, 1.0f / 3.0f);
  const std::vector<float> first{0, 1, 0, 0, 1, 0, 0, 1, 0};
  for (const auto& [layer, head, weights] : {std::tuple(0, 0, identity), std::tuple(0, 1, first),
                                             std::tuple(1, 0, even), std::tuple(1, 1, even)}) {
    Map map;
    map.head = {inspect::Kind::encoder, layer, head};
    map.rows = map.columns = 3;
    map.weights = weights;
    view.maps.push_back(map);
  }
  return view;
}

const InputSpec kSpec{
    .kind = InputKind::pixels, .shape = {1, 3, 4, 8}, .specials = 1, .patch_rows = 1, .patch_columns = 2};

TEST(Rollout, IsTheProductOfTheLayers) {
  // Layer 0: ½ mean + ½ I = [[.75 .25 0] [0 1 0] [0 .25 .75]]; layer 1: ½ · ⅓ everywhere + ½ I.
  // Row 0 of layer 1 · layer 0 = ⅔ · [.75 .25 0] + ⅙ · [0 1 0] + ⅙ · [0 .25 .75].
  const std::vector<float> rolled = inspect::attention_rollout(small_view().maps);
  ASSERT_EQ(rolled.size(), 9u);
  EXPECT_NEAR(rolled[0], 0.5f, 1e-6f);
  EXPECT_NEAR(rolled[1], 0.375f, 1e-6f);
  EXPECT_NEAR(rolled[2], 0.125f, 1e-6f);
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_NEAR(rolled[3 * row] + rolled[3 * row + 1] + rolled[3 * row + 2], 1.0f, 1e-6f);
  EXPECT_REGARD_ERROR(inspect::attention_rollout({}), ErrorKind::usage, "rollout");
}

TEST(PatchWeights, AreThoseOfTheClassToken) {
  const View view = small_view();
  const auto one = inspect::patch_weights(view, view.maps[1], kSpec);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].title, "encoder self-attention, layer 0, head 1");
  EXPECT_EQ(one[0].weights, (std::vector<float>{1, 0}));
  EXPECT_NEAR(inspect::rollout_weights(view, kSpec).weights[0], 0.375f, 1e-6f);
  // Without special tokens, the drawn weight is the mean over the queries.
  InputSpec plain = kSpec;
  plain.specials = 0, plain.patch_columns = 3;
  const auto mean = inspect::patch_weights(view, view.maps[1], plain);
  EXPECT_NEAR(mean[0].weights[1], 1.0f, 1e-6f);
}

TEST(PatchWeights, OfCrossAttentionAreOnePictureForEachWord) {
  View view = small_view();
  view.tokens.target = {"<s>", "a"}, view.tokens.written = {"a", "cat"};
  Map cross;
  cross.head = {inspect::Kind::cross, 0, 0};
  cross.rows = 2, cross.columns = 3;
  cross.weights = {0.5f, 0.25f, 0.25f, 0.0f, 0.1f, 0.9f};
  const auto words = inspect::patch_weights(view, cross, kSpec);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[1].title, "cat");
  EXPECT_EQ(words[1].weights, (std::vector<float>{0.1f, 0.9f}));
}

TEST(PictureSvg, HoldsThePictureOnceAndACellForEachPatch) {
  data::Image image = data::blank_image(4, 8, "");
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(2 * i);
  const View view = small_view();
  std::vector<inspect::PatchWeights> maps;
  for (const Map& map : view.maps)
    for (const auto& one : inspect::patch_weights(view, map, kSpec)) maps.push_back(one);
  const std::string svg = inspect::picture_svg(image, maps, kSpec, "a <picture>");
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(part); at != svg.npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<use href=\"#picture\""), 4u);
  EXPECT_EQ(count("fill-opacity"), 8u);
  EXPECT_NE(svg.find("a &lt;picture&gt;"), svg.npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  // The SVG contains the picture as a PNG with the same pixels.
  const std::size_t begin = svg.find("base64,") + 7;
  const auto png = text::decode_base64(svg.substr(begin, svg.find('"', begin) - begin));
  ASSERT_TRUE(png.has_value());
  const data::Image back = data::decode_png(*png, "inside");
  EXPECT_EQ(back.width, 8);
  EXPECT_EQ(back.pixels, image.pixels);
}

// Tiles are 272 pixels wide, with a title above and 16 pixels between them; at most four are in a row.
TEST(PictureSvg, TilesAreInRowsOfFour) {
  const data::Image image = data::blank_image(4, 8, "");
  std::vector<inspect::PatchWeights> maps(5, {"even", {0.25f, 0.25f}});
  maps[1] = {"first", {0.5f, 0.25f}};
  maps[4] = {"nothing", {0.0f, 0.0f}};
  const auto svg = [&](std::size_t count) {
    return inspect::picture_svg(image, {maps.begin(), maps.begin() + static_cast<std::ptrdiff_t>(count)},
                                kSpec, "title");
  };
  const auto patch = [](const char* x, const char* y, const char* opacity, const char* weight) {
    return std::string("<rect x=\"") + x + "\" y=\"" + y +
           "\" width=\"136.00\" height=\"272.00\" fill=\"#000\" fill-opacity=\"" + opacity + "\"><title>" +
           weight + "</title></rect>\n";
  };
  const auto picture = [](const char* x, const char* y) {
    return std::string("<use href=\"#picture\" x=\"") + x + "\" y=\"" + y + "\"/>\n";
  };
  const std::string all = svg(5);
  for (const std::string& part : {picture("16.0", "40.0") + patch("16.00", "40.00", "0.000", "0.2500") +
                                      patch("152.00", "40.00", "0.000", "0.2500") + picture("304.0", "40.0") +
                                      patch("304.00", "40.00", "0.000", "0.5000") +
                                      patch("440.00", "40.00", "0.425", "0.2500") + picture("592.0", "40.0"),
                                  picture("880.0", "40.0"),
                                  picture("16.0", "352.0") + patch("16.00", "352.00", "0.850", "0.0000") +
                                      patch("152.00", "352.00", "0.850", "0.0000"),
                                  std::string("x=\"304.0\" y=\"32.0\" text-anchor=\"start\">first<"),
                                  std::string("x=\"16.0\" y=\"344.0\" text-anchor=\"start\">nothing<")})
    EXPECT_NE(all.find(part), all.npos) << part;
  for (const auto& [count, size] : {std::pair{0u, "width=\"304\" height=\"16\""},
                                    {1u, "width=\"304\" height=\"328\""},
                                    {2u, "width=\"592\" height=\"328\""},
                                    {4u, "width=\"1168\" height=\"328\""},
                                    {5u, "width=\"1168\" height=\"640\""}})
    EXPECT_NE(svg(count).find(size), std::string::npos) << svg(count).substr(0, 120);
}

// The displayed picture has at most 224 pixels on its longest side. Its pixels are means of squares.
TEST(DisplayPicture, PixelsAreMeansOfSquares) {
  for (const auto& [height, width, step] : {std::tuple(4, 224, 1), {2, 225, 2}, {449, 3, 3}, {1, 448, 2}}) {
    data::Image image = data::blank_image(height, width, "");
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(i * 7 % 256);
    const inspect::Picture shown = inspect::display_picture(image);
    EXPECT_EQ(shown.width, std::max(1, width / step));
    EXPECT_EQ(shown.height, std::max(1, height / step));
    const data::Image back = data::decode_png(shown.png, "shown");
    for (std::int64_t y = 0; y < shown.height; ++y)
      for (std::int64_t x = 0; x < shown.width; ++x)
        for (std::int64_t colour = 0; colour < 3; ++colour) {
          int sum = 0, count = 0;
          for (std::int64_t dy = y * step; dy < std::min<std::int64_t>(height, (y + 1) * step); ++dy)
            for (std::int64_t dx = x * step; dx < std::min<std::int64_t>(width, (x + 1) * step);
                 ++dx, ++count)
              sum += image.at(dy, dx)[colour];
          ASSERT_EQ(back.at(y, x)[colour], sum / count) << height << "x" << width << ": " << y << ", " << x;
        }
  }
}

TEST(LimitWeights, NamesTheKindOfInputInItsError) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(golden("hf-tiny/vit")));
  inspect::Selection selection;
  selection.layers = {0};
  EXPECT_REGARD_ERROR(inspect::limit_weights(*model, pool, model->input_spec().blank(), 0, 1, selection),
                      ErrorKind::invalid_input, "weights of this image");
}

}  // namespace
}  // namespace regard::testing
