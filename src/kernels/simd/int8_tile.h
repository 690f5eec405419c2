// A block of int8 products in register tiles. Include it once per path, inside the path's namespace and with
// its target attributes set, after these definitions:
//   Vector             type of kLanes 32-bit sums, or of four bytes of A for each column
//   Weights            type of four bytes of B for each column, prepared for dot()
//   kTileRows, kTileVectors    size of a register tile
//   load(bytes)        load Weights from memory
//   zero()             return sums of zero
//   broadcast(bytes)   copy four bytes of A to every column
//   dot(sum, a, weights)       return `sum` plus the products of a and weights
//   store(sum, to)     store the sums to memory

constexpr std::int64_t kLineBytes = 64;

// Compute one register tile. `next` is memory to prefetch, one cache line per step of k; may be null.
template <int kRowCount, int kVectorCount>
void multiply_tile(const Int8Block& block, const std::int8_t* a, const std::int8_t* next,
                   std::int32_t* sums) {
  Vector sum[kRowCount][kVectorCount];
#pragma GCC unroll 8
  for (int row = 0; row < kRowCount; ++row)
#pragma GCC unroll 8
    for (int vector = 0; vector < kVectorCount; ++vector) sum[row][vector] = zero();
  const std::int8_t* b = block.b;
  const std::int64_t line = next == nullptr ? 0 : kLineBytes;
  if (next == nullptr) next = b;
  for (std::int64_t group = 0; group < block.groups; ++group, next += line) {
    __builtin_prefetch(next, 0, 2);
    Weights weights[kVectorCount];
#pragma GCC unroll 8
    for (int vector = 0; vector < kVectorCount; ++vector)
      weights[vector] = load(b + static_cast<std::int64_t>(vector) * 4 * kLanes);
#pragma GCC unroll 8
    for (int row = 0; row < kRowCount; ++row) {
      const Vector factor = broadcast(a + row * block.a_stride + group * 4);
#pragma GCC unroll 8
      for (int vector = 0; vector < kVectorCount; ++vector)
        sum[row][vector] = dot(sum[row][vector], factor, weights[vector]);
    }
    b += static_cast<std::int64_t>(kVectorCount) * 4 * kLanes;
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRowCount; ++row)
#pragma GCC unroll 8
    for (int vector = 0; vector < kVectorCount; ++vector)
      store(sum[row][vector], sums + (static_cast<std::int64_t>(row) * kVectorCount + vector) * kLanes);
}

using TileFunction = void (*)(const Int8Block&, const std::int8_t*, const std::int8_t*, std::int32_t*);

struct TileFunctions {
  TileFunction of[kTileVectors][kTileRows];
};

template <int... kRow>
constexpr TileFunctions tile_functions(std::integer_sequence<int, kRow...>) {
  TileFunctions table{};
  ((table.of[0][kRow] = multiply_tile<kRow + 1, 1>), ...);
  ((table.of[1][kRow] = multiply_tile<kRow + 1, 2>), ...);
  if constexpr (kTileVectors > 2)
    ((table.of[kTileVectors - 1][kRow] = multiply_tile<kRow + 1, kTileVectors>), ...);
  return table;
}

constexpr TileFunctions kTiles = tile_functions(std::make_integer_sequence<int, kTileRows>());

// The first tile reads the panel from memory sequentially, so the hardware prefetches it. The other tiles
// read the panel from cache and prefetch the next panel.
void multiply(const Int8Block& block) {
  const std::int64_t width = block.vectors * kLanes, bytes = block.groups * width * 4;
  std::int64_t fetched = 0;
  for (std::int64_t row = 0; row < block.rows; row += kTileRows) {
    const std::int64_t rows = block.rows - row < kTileRows ? block.rows - row : kTileRows;
    const bool fetches = block.next != nullptr && row > 0 && fetched < bytes;
    kTiles.of[block.vectors - 1][rows - 1](block, block.a + row * block.a_stride,
                                           fetches ? block.next + fetched : nullptr,
                                           block.sums + row * width);
    if (fetches) fetched += block.groups * kLineBytes;
  }
}
