// Pictures that a tiny model learns to distinguish in a second: a bright disc in one of four corners of 12 ×
// 12 pixels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/random.h"
#include "support/program.h"

namespace regard::train::testing_task {

inline const char* const kCorners[] = {"upper left", "upper right", "lower left", "lower right"};
constexpr int kPictureSide = 12;

// Return the grey pixels of a picture with a bright disc in the given corner, row by row.
inline std::string corner_pixels(int corner, RandomStream& random) {
  std::string pixels;
  const double x = (corner % 2 == 0 ? 3.0 : 9.0) + random.next_uniform();
  const double y = (corner / 2 == 0 ? 3.0 : 9.0) + random.next_uniform();
  for (int row = 0; row < kPictureSide; ++row)
    for (int column = 0; column < kPictureSide; ++column) {
      const bool inside = (row - y) * (row - y) + (column - x) * (column - x) < 8.0;
      pixels += static_cast<char>(random.next_below(40) + (inside ? 180 : 20));
    }
  return pixels;
}

// Write the pictures as PGM files NAME/<n>.pgm, and NAME.tsv with their paths and corners.
inline void write_pictures(const std::filesystem::path& folder, const std::string& name, std::uint64_t seed,
                           int count) {
  RandomStream random({seed, 0, 0});
  std::string rows;
  for (int i = 0; i < count; ++i) {
    const int corner = static_cast<int>(random.next_below(4));
    const std::string file = name + "/" + std::to_string(i) + ".pgm";
    regard::testing::write_file(folder, file, "P5 12 12 255\n" + corner_pixels(corner, random));
    rows += file + "\t" + kCorners[corner] + "\n";
  }
  regard::testing::write_file(folder, name + ".tsv", rows);
}

}  // namespace regard::train::testing_task
