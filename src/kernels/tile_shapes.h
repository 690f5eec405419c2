// The AMX tile configuration, in the memory layout that LDTILECFG reads (Intel's manual, volume 1, 18.3.2).
#pragma once

#include <cstdint>

namespace regard::kernels {

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void set(int tile, int row_count, int bytes) {
    rows[tile] = static_cast<std::uint8_t>(row_count);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace regard::kernels
