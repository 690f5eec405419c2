#include "base/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace regard::base {
namespace {

// Return the first 32 bits of the fractional part of a root of the n-th prime (n from 0). The standard
// defines its constants this way: square roots for the initial state, cube roots for the rounds.
std::uint32_t constant(int n, bool cube) {
  int prime = 2;
  for (int found = 0;; ++prime) {
    bool divisible = false;
    for (int d = 2; d * d <= prime; ++d) divisible = divisible || prime % d == 0;
    if (!divisible && found++ == n) break;
  }
  const long double root = cube ? cbrtl(prime) : sqrtl(prime);
  return static_cast<std::uint32_t>((root - floorl(root)) * 4294967296.0L);
}

void compress(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) {
  static const auto kRounds = [] {
    std::array<std::uint32_t, 64> table{};
    for (int i = 0; i < 64; ++i) table[static_cast<std::size_t>(i)] = constant(i, true);
    return table;
  }();
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block[4 * i + j];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += sum[i];
}

}  // namespace

std::string sha256_digest(std::span<const std::byte> bytes) {
  std::array<std::uint32_t, 8> state{};
  for (int i = 0; i < 8; ++i) state[static_cast<std::size_t>(i)] = constant(i, false);
  std::vector<std::uint8_t> padded(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) padded[i] = std::to_integer<std::uint8_t>(bytes[i]);
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8)
    padded.push_back(static_cast<std::uint8_t>(std::uint64_t{bytes.size()} * 8 >> shift));
  for (std::size_t i = 0; i < padded.size(); i += 64) compress(state, padded.data() + i);
  std::string digest;
  for (const std::uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 255u);
  return digest;
}

std::string sha256(std::span<const std::byte> bytes) {
  std::string text;
  for (const char byte : sha256_digest(bytes)) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

}  // namespace regard::base
