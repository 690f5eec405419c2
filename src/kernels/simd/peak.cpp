#include <hwy/highway.h>

#include "kernels/peak_table.h"

namespace regard::kernels::REGARD_ISA {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
constexpr std::int64_t kLanes = hn::MaxLanes(Floats());

// Number of independent chains of fused multiply-adds: enough for two execution units with a latency of five
// cycles, and few enough for 16 registers.
constexpr int kChains = 12;

std::int64_t multiply_add_in_registers(std::int64_t rounds) {
  const Floats d;
  hn::Vec<Floats> sum[kChains];
  for (auto& chain : sum) chain = hn::Set(d, 1.0f);
  auto factor = hn::Set(d, 0.999f);
  const auto term = hn::Set(d, 0.001f);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (auto& chain : sum) chain = hn::MulAdd(chain, factor, term);
  auto total = sum[0];
  for (int chain = 1; chain < kChains; ++chain) total = hn::Add(total, sum[chain]);
  volatile float used = hn::GetLane(total);
  static_cast<void>(used);
  return rounds * kChains * kLanes * 2;
}

float sum_of(const float* x, std::int64_t count) {
  const Floats d;
  constexpr int kStreams = 8;
  hn::Vec<Floats> sum[kStreams];
  for (auto& stream : sum) stream = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kStreams * kLanes)
    for (int stream = 0; stream < kStreams; ++stream)
      sum[stream] = hn::Add(sum[stream], hn::LoadU(d, x + i + stream * kLanes));
  auto total = sum[0];
  for (int stream = 1; stream < kStreams; ++stream) total = hn::Add(total, sum[stream]);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace

extern const PeakTable peak_table;
constinit const PeakTable peak_table{multiply_add_in_registers, sum_of};

}  // namespace regard::kernels::REGARD_ISA
