// Philox4x32-10 (see base/random.h) on vectors. Each lane computes one block of four 32-bit words.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace regard::kernels::REGARD_ISA {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using WordVector = hn::Vec<Words>;

struct PhiloxBlocks {
  WordVector word[4];
};

namespace detail {

// The high and low 32-bit words of the 64-bit product in each lane.
struct WideProduct {
  WordVector high, low;
};
HWY_INLINE WideProduct wide_multiply(WordVector a, std::uint32_t by) {
  const Words d;
  const hn::RepartitionToWide<Words> wide;
  const WordVector factor = hn::Set(d, by);
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

}  // namespace detail

HWY_INLINE PhiloxBlocks philox(PhiloxBlocks counter, std::uint32_t key0, std::uint32_t key1) {
  const Words d;
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = detail::wide_multiply(counter.word[0], 0xD2511F53u);
    const auto [high1, low1] = detail::wide_multiply(counter.word[2], 0xCD9E8D57u);
    counter = {{hn::Xor(hn::Xor(high1, counter.word[1]), hn::Set(d, key0)), low1,
                hn::Xor(hn::Xor(high0, counter.word[3]), hn::Set(d, key1)), low0}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace regard::kernels::REGARD_ISA
