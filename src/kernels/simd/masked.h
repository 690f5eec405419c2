// Loads and stores of the first `count` lanes of a vector, used if an array does not end with a whole vector.
// Memory beyond `count` elements is not read or written; lanes beyond them are loaded as zero.
#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace regard::kernels::REGARD_ISA {

namespace hn = hwy::HWY_NAMESPACE;

// Highway chooses the vector size from the compiler's flags; check that it is the expected size.
static_assert(hn::MaxLanes(hn::ScalableTag<float>()) * sizeof(float) == REGARD_VECTOR_BYTES);

// Return the mask of the first `count` lanes; all lanes if count is larger.
template <class D>
HWY_INLINE hn::Mask<D> first_lanes(D d, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  return hn::FirstN(d, static_cast<std::size_t>(count < lanes ? count : lanes));
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, std::int64_t count) {
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  return hn::MaskedLoad(first_lanes(d, count), d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
  for (std::int64_t lane = 0; lane < count; ++lane) lanes[lane] = from[lane];
  return hn::Load(d, lanes);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> value, D d, T* to, std::int64_t count) {
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) return hn::StoreU(value, d, to);
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  hn::BlendedStore(value, first_lanes(d, count), d, to);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(D())];
  hn::Store(value, d, lanes);
  for (std::int64_t lane = 0; lane < count; ++lane) to[lane] = lanes[lane];
#endif
}

}  // namespace regard::kernels::REGARD_ISA
