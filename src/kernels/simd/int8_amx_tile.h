// A block of int8 products in AMX tiles: 16 rows by up to three times 16 columns, 64 bytes of k per step.
// Include it inside a namespace with the target attributes set, after a type Tiles with these static
// functions:
//   configure(TileShapes), release()
//   zero<tile>(), load<tile>(address, stride), dot<sum, a, b>(), store<tile>(address, stride)
// The functions execute the AMX instructions; the tests use portable functions instead.

// Tile registers 0 to 2 contain sums. Registers 3 and 4 contain A and B of a full step of k; registers 5 and
// 6 contain A and B of a shorter last step.
template <class Tiles, int kVectors>
void multiply_tile_rows(const Int8Block& block, const std::int8_t* a, std::int32_t* sums) {
  constexpr std::int64_t kStepBytes = 64, kStepGroups = 16, kRowBytes = kVectors * 64;
  const std::int64_t steps = block.groups / kStepGroups;
  const auto vectors = [](auto&& body) {
    body(std::integral_constant<int, 0>());
    if constexpr (kVectors > 1) body(std::integral_constant<int, 1>());
    if constexpr (kVectors > 2) body(std::integral_constant<int, 2>());
  };
  vectors([](auto vector) { Tiles::template zero<vector>(); });
  const std::int8_t* b = block.b;
  for (std::int64_t step = 0; step < steps; ++step, a += kStepBytes, b += kStepGroups * kRowBytes) {
    Tiles::template load<3>(a, block.a_stride);
    vectors([b](auto vector) {
      Tiles::template load<4>(b + vector * kStepBytes, kRowBytes);
      Tiles::template dot<vector, 3, 4>();
    });
  }
  if (block.groups % kStepGroups != 0) {
    Tiles::template load<5>(a, block.a_stride);
    vectors([b](auto vector) {
      Tiles::template load<6>(b + vector * kStepBytes, kRowBytes);
      Tiles::template dot<vector, 5, 6>();
    });
  }
  vectors([sums](auto vector) { Tiles::template store<vector>(sums + vector * 16, kRowBytes); });
}

template <class Tiles>
void multiply_in_tiles(const Int8Block& block) {
  constexpr std::int64_t kRows = 16;
  const auto rest = static_cast<int>(block.groups % 16);
  std::int64_t configured = 0;
  for (std::int64_t row = 0; row < block.rows; row += kRows) {
    const std::int64_t rows = block.rows - row < kRows ? block.rows - row : kRows;
    if (rows != configured) {
      TileShapes shapes;
      for (int tile = 0; tile < 4; ++tile) shapes.set(tile, static_cast<int>(rows), 64);
      shapes.set(4, 16, 64);
      if (rest > 0) shapes.set(5, static_cast<int>(rows), 4 * rest), shapes.set(6, rest, 64);
      Tiles::configure(shapes);
      configured = rows;
    }
    const std::int8_t* a = block.a + row * block.a_stride;
    std::int32_t* sums = block.sums + row * block.vectors * 16;
    if (block.vectors == 3)
      multiply_tile_rows<Tiles, 3>(block, a, sums);
    else if (block.vectors == 2)
      multiply_tile_rows<Tiles, 2>(block, a, sums);
    else
      multiply_tile_rows<Tiles, 1>(block, a, sums);
  }
  Tiles::release();
}
