// Random affine maps: each option changes only its part of the map, within its limits.
#include "data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace regard::data {
namespace {

constexpr double kDegrees = std::numbers::pi / 180.0;

std::vector<AffineMap> maps_of(const Augmentation& how) {
  std::vector<AffineMap> maps;
  for (std::uint64_t i = 0; i < 500; ++i) maps.push_back(random_map(how, 20, 40, {3, i, 7}));
  return maps;
}

// Expect that all values are within [low, high], and that the values fill more than nine tenths of it.
template <class Value>
void expect_range(const std::vector<AffineMap>& maps, double low, double high, const Value& value) {
  double least = value(maps[0]), most = least;
  for (const AffineMap& map : maps) {
    ASSERT_GE(value(map), low - 1e-12);
    ASSERT_LE(value(map), high + 1e-12);
    least = std::min(least, value(map)), most = std::max(most, value(map));
  }
  EXPECT_GE(most - least, 0.9 * (high - low));
}

// Expect that the map has this matrix and does not shift the image.
void expect_matrix(const AffineMap& map, double xx, double xy, double yx, double yy) {
  EXPECT_NEAR(map.xx, xx, 1e-12);
  EXPECT_NEAR(map.xy, xy, 1e-12);
  EXPECT_NEAR(map.yx, yx, 1e-12);
  EXPECT_NEAR(map.yy, yy, 1e-12);
  EXPECT_EQ(map.x0, 0.0);
  EXPECT_EQ(map.y0, 0.0);
}

TEST(RandomMaps, WithoutOptionsChangeNothing) {
  EXPECT_FALSE(Augmentation{}.used());
  for (const AffineMap& map : maps_of({})) expect_matrix(map, 1.0, 0.0, 0.0, 1.0);
}

TEST(RandomMaps, EachOptionIsUsedAlone) {
  for (const Augmentation& how :
       {Augmentation{.smallest_crop = 0.9}, Augmentation{.flip = 0.1}, Augmentation{.rotation = 1.0},
        Augmentation{.zoom = 0.1}, Augmentation{.shift = 0.1}, Augmentation{.shear = 1.0}})
    EXPECT_TRUE(how.used());
}

// A shift is a fraction of the image, whose coordinates run from -1 to 1.
TEST(RandomMaps, ShiftInBothDirections) {
  const std::vector<AffineMap> maps = maps_of({.shift = 0.25});
  expect_range(maps, -0.5, 0.5, [](const AffineMap& map) { return map.x0; });
  expect_range(maps, -0.5, 0.5, [](const AffineMap& map) { return map.y0; });
  for (AffineMap map : maps) {
    map.x0 = map.y0 = 0.0;
    expect_matrix(map, 1.0, 0.0, 0.0, 1.0);
  }
}

TEST(RandomMaps, RotateByEqualAnglesInPixels) {
  const std::vector<AffineMap> maps = maps_of({.rotation = 30.0});
  const auto angle = [](const AffineMap& map) { return std::asin(2.0 * map.xy); };  // height / width = 1 / 2
  expect_range(maps, -30.0 * kDegrees, 30.0 * kDegrees, angle);
  for (const AffineMap& map : maps)
    expect_matrix(map, std::cos(angle(map)), map.xy, -4.0 * map.xy, std::cos(angle(map)));
}

TEST(RandomMaps, ZoomAndShear) {
  const std::vector<AffineMap> zoomed = maps_of({.zoom = 0.25});
  expect_range(zoomed, 0.75, 1.25, [](const AffineMap& map) { return 1.0 / map.xx; });
  for (const AffineMap& map : zoomed) expect_matrix(map, map.xx, 0.0, 0.0, map.xx);
  const std::vector<AffineMap> leaning = maps_of({.shear = 20.0});
  expect_range(leaning, -20.0, 20.0, [](const AffineMap& map) { return std::atan(2.0 * map.xy) / kDegrees; });
  for (const AffineMap& map : leaning) expect_matrix(map, 1.0, map.xy, 0.0, 1.0);
}

TEST(RandomMaps, FlipWithTheirProbability) {
  const std::vector<AffineMap> maps = maps_of({.flip = 0.25});
  const auto flipped = std::ranges::count_if(maps, [](const AffineMap& map) { return map.xx < 0.0; });
  EXPECT_NEAR(static_cast<double>(flipped), 125.0, 40.0);
  for (const AffineMap& map : maps) expect_matrix(map, map.xx < 0.0 ? -1.0 : 1.0, 0.0, 0.0, 1.0);
}

// A crop has sides whose ratio is from 3 / 4 to 4 / 3, and no point outside of the image. If no side is as
// long as the image's, its area is at least the smallest one.
TEST(RandomMaps, CropWithinTheImage) {
  const std::vector<AffineMap> maps = maps_of({.smallest_crop = 0.25});
  expect_range(maps, 0.25, 1.0, [](const AffineMap& map) { return map.xx * map.yy; });
  expect_range(maps, 0.75, 4.0 / 3.0, [](const AffineMap& map) { return map.xx / map.yy; });
  double left = 0.0, right = 0.0, up = 0.0, down = 0.0;
  for (const AffineMap& map : maps) {
    EXPECT_EQ(map.xy, 0.0);
    EXPECT_EQ(map.yx, 0.0);
    ASSERT_LE(std::abs(map.x0) + map.xx, 1.0 + 1e-12);
    ASSERT_LE(std::abs(map.y0) + map.yy, 1.0 + 1e-12);
    left = std::min(left, map.x0 - map.xx), right = std::max(right, map.x0 + map.xx);
    up = std::min(up, map.y0 - map.yy), down = std::max(down, map.y0 + map.yy);
  }
  for (const double edge : {-left, right, -up, down}) EXPECT_NEAR(edge, 1.0, 0.01);
}

}  // namespace
}  // namespace regard::data
