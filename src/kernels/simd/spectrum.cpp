// The inner loops of kernels/spectrum.h. Each lane of a vector is one transform.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd/masked.h"
#include "kernels/spectrum_table.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using Doubles = hn::CappedTag<double, kSpectrumLanes>;
using DoubleVector = hn::Vec<Doubles>;
constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));

struct Complex {
  DoubleVector real, imaginary;
};

HWY_INLINE Complex add(const Complex& a, const Complex& b) {
  return {hn::Add(a.real, b.real), hn::Add(a.imaginary, b.imaginary)};
}
HWY_INLINE Complex subtract(const Complex& a, const Complex& b) {
  return {hn::Sub(a.real, b.real), hn::Sub(a.imaginary, b.imaginary)};
}
// add_turned() returns a + i b; subtract_turned() returns a − i b.
HWY_INLINE Complex add_turned(const Complex& a, const Complex& b) {
  return {hn::Sub(a.real, b.imaginary), hn::Add(a.imaginary, b.real)};
}
HWY_INLINE Complex subtract_turned(const Complex& a, const Complex& b) {
  return {hn::Add(a.real, b.imaginary), hn::Sub(a.imaginary, b.real)};
}
// Return a + f b for real f.
HWY_INLINE Complex add_scaled(const Complex& a, const Complex& b, double f) {
  const DoubleVector factor = hn::Set(Doubles(), f);
  return {hn::MulAdd(factor, b.real, a.real), hn::MulAdd(factor, b.imaginary, a.imaginary)};
}
HWY_INLINE Complex scale(const Complex& a, double f) {
  const DoubleVector factor = hn::Set(Doubles(), f);
  return {hn::Mul(factor, a.real), hn::Mul(factor, a.imaginary)};
}
HWY_INLINE Complex rotate(const Complex& a, double cosine, double sine) {
  const DoubleVector c = hn::Set(Doubles(), cosine), s = hn::Set(Doubles(), sine);
  return {hn::NegMulAdd(a.imaginary, s, hn::Mul(a.real, c)), hn::MulAdd(a.real, s, hn::Mul(a.imaginary, c))};
}

template <int kRadix>
HWY_INLINE void butterfly(Complex* a) {
  if constexpr (kRadix == 2) {
    const Complex first = a[0];
    a[0] = add(first, a[1]), a[1] = subtract(first, a[1]);
  } else if constexpr (kRadix == 4) {
    const Complex even = add(a[0], a[2]), odd = subtract(a[0], a[2]);
    const Complex plus = add(a[1], a[3]), minus = subtract(a[1], a[3]);
    a[0] = add(even, plus), a[1] = subtract_turned(odd, minus);
    a[2] = subtract(even, plus), a[3] = add_turned(odd, minus);
  } else {
    static_assert(kRadix == 5);
    constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
    constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    const Complex outer = add(a[1], a[4]), inner = add(a[2], a[3]);
    const Complex outer_difference = subtract(a[1], a[4]), inner_difference = subtract(a[2], a[3]);
    const Complex near = add_scaled(add_scaled(a[0], outer, c1), inner, c2);
    const Complex far = add_scaled(add_scaled(a[0], outer, c2), inner, c1);
    const Complex near_turn = add_scaled(scale(outer_difference, s1), inner_difference, s2);
    const Complex far_turn = add_scaled(scale(outer_difference, s2), inner_difference, -s1);
    a[0] = add(add(a[0], outer), inner);
    a[1] = subtract_turned(near, near_turn), a[4] = add_turned(near, near_turn);
    a[2] = subtract_turned(far, far_turn), a[3] = add_turned(far, far_turn);
  }
}

HWY_INLINE Complex load(const FourierStage& stage, std::int64_t at) {
  const Doubles d;
  return {hn::LoadU(d, stage.from_real + at), hn::LoadU(d, stage.from_imaginary + at)};
}

HWY_INLINE void store(const FourierStage& stage, std::int64_t at, const Complex& value) {
  const Doubles d;
  hn::StoreU(value.real, d, stage.to_real + at);
  hn::StoreU(value.imaginary, d, stage.to_imaginary + at);
}

template <int kRadix>
void small_radix(const FourierStage& stage) {
  for (std::int64_t q = 0; q < stage.groups; ++q) {
    const double* cosine = stage.cosine + q * kRadix;
    const double* sine = stage.sine + q * kRadix;
    const std::int64_t lanes = stage.stride * kSpectrumLanes;  // number of doubles per input index and group
    const std::int64_t first = q * lanes, apart = stage.groups * lanes, to = q * kRadix * lanes;
    for (std::int64_t k = 0; k < lanes; k += kStep) {
      Complex a[kRadix];
      for (int j = 0; j < kRadix; ++j) a[j] = load(stage, first + k + j * apart);
      butterfly<kRadix>(a);
      store(stage, to + k, a[0]);  // the twiddle factor of result 0 is 1
      for (int r = 1; r < kRadix; ++r) store(stage, to + k + r * lanes, rotate(a[r], cosine[r], sine[r]));
    }
  }
}

void any_radix(const FourierStage& stage) {
  const Doubles d;
  const std::int64_t radix = stage.radix, lanes = stage.stride * kSpectrumLanes;
  double* const real = stage.points;
  double* const imaginary = real + radix * kSpectrumLanes;
  for (std::int64_t q = 0; q < stage.groups; ++q)
    for (std::int64_t k = 0; k < lanes; k += kStep) {
      for (std::int64_t j = 0; j < radix; ++j) {
        const Complex a = load(stage, q * lanes + k + j * stage.groups * lanes);
        hn::StoreU(a.real, d, real + j * kSpectrumLanes);
        hn::StoreU(a.imaginary, d, imaginary + j * kSpectrumLanes);
      }
      for (std::int64_t r = 0; r < radix; ++r) {
        Complex sum{hn::Zero(d), hn::Zero(d)};
        for (std::int64_t j = 0; j < radix; ++j) {
          const Complex a{hn::LoadU(d, real + j * kSpectrumLanes),
                          hn::LoadU(d, imaginary + j * kSpectrumLanes)};
          sum = add(sum, rotate(a, stage.root_cos[j * r % radix], stage.root_sin[j * r % radix]));
        }
        const std::int64_t factor = q * radix + r;
        store(stage, factor * lanes + k, rotate(sum, stage.cosine[factor], stage.sine[factor]));
      }
    }
}

void fourier_stage(const FourierStage& stage) {
  if (stage.radix == 2) return small_radix<2>(stage);
  if (stage.radix == 4) return small_radix<4>(stage);
  if (stage.radix == 5) return small_radix<5>(stage);
  any_radix(stage);
}

HWY_INLINE DoubleVector rounded_if(bool rounds, DoubleVector x) {
  const Doubles d;
  const hn::Rebind<float, Doubles> narrow;
  return rounds ? hn::PromoteTo(d, hn::DemoteTo(narrow, x)) : x;
}

// The transform X of a + i b determines the transforms A and B of the real frames a and b: A[k] = (X[k] +
// conj X[−k]) / 2 and B[k] = (X[k] − conj X[−k]) / 2i.
void powers(const MelEnergies& e) {
  const Doubles d;
  const DoubleVector half = hn::Set(d, 0.5);
  for (std::int64_t k = 0; k <= e.size / 2; ++k)
    for (std::int64_t lane = 0; lane < kSpectrumLanes; lane += kStep) {
      const std::int64_t at = k * kSpectrumLanes + lane;
      const std::int64_t mirror = (e.size - k) % e.size * kSpectrumLanes + lane;
      const Complex x{hn::LoadU(d, e.real + at), hn::LoadU(d, e.imaginary + at)};
      const Complex y{hn::LoadU(d, e.real + mirror), hn::LoadU(d, e.imaginary + mirror)};
      const auto stored = [&](DoubleVector v) { return rounded_if(e.rounds, hn::Mul(v, half)); };
      const auto power = [](DoubleVector re, DoubleVector im) { return hn::MulAdd(re, re, hn::Mul(im, im)); };
      double* to = e.power + 2 * k * kSpectrumLanes + lane;
      hn::StoreU(power(stored(hn::Add(x.real, y.real)), stored(hn::Sub(x.imaginary, y.imaginary))), d, to);
      hn::StoreU(power(stored(hn::Sub(x.real, y.real)), stored(hn::Add(x.imaginary, y.imaginary))), d,
                 to + kSpectrumLanes);
    }
}

void mel_energies(const MelEnergies& e) {
  const Doubles d;
  const hn::Rebind<float, Doubles> narrow;
  constexpr std::int64_t kFrames = 2 * kSpectrumLanes, kVectors = kFrames / kStep;
  powers(e);
  for (std::int64_t m = 0; m < e.filters; ++m) {
    const std::int64_t begin = e.offsets[m], count = e.offsets[m + 1] - begin;
    const double* power = e.power + e.first[m] * kFrames;
    DoubleVector sums[kVectors];
    for (DoubleVector& sum : sums) sum = hn::Zero(d);
    for (std::int64_t i = 0; i < count; ++i) {
      const DoubleVector weight = hn::Set(d, e.weights[begin + i]);
      for (std::int64_t v = 0; v < kVectors; ++v)
        sums[v] = hn::MulAdd(weight, hn::LoadU(d, power + i * kFrames + v * kStep), sums[v]);
    }
    HWY_ALIGN float logarithms[kFrames];  // logarithms of frames 0, 2, 4, …, then of frames 1, 3, 5, …
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const DoubleVector log = hn::Log(d, hn::Max(sums[v], hn::Set(d, e.floor)));
      hn::StoreU(hn::DemoteTo(narrow, hn::Mul(log, hn::Set(d, e.log_factor))), narrow,
                 logarithms + v * kStep);
    }
    for (std::int64_t f = 0; f < e.frames; ++f)
      e.to[f * e.filters + m] = logarithms[f % 2 * kSpectrumLanes + f / 2];
  }
}

}  // namespace

extern const SpectrumTable spectrum_table;
constinit const SpectrumTable spectrum_table{fourier_stage, mel_energies};

}  // namespace regard::kernels::REGARD_ISA
