#include "kernels/isa.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "regard/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace regard::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kNarrowest =
    "an x86-64-v3 processor: AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE";

// Return a bit of register ecx of a cpuid leaf, for features that some compilers' __builtin_cpu_supports()
// does not accept.
bool has_bit(unsigned leaf, int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1) != 0;
}

// Return the names of the missing features that the AVX2 kernels require. The test for AVX also checks that
// the operating system saves the AVX registers.
std::string find_lacking() {
  const bool avx = __builtin_cpu_supports("avx");
  const std::pair<std::string_view, bool> features[] = {{"AVX", avx},
                                                        {"AVX2", __builtin_cpu_supports("avx2")},
                                                        {"BMI1", __builtin_cpu_supports("bmi")},
                                                        {"BMI2", __builtin_cpu_supports("bmi2")},
                                                        {"F16C", avx && has_bit(1, 29)},
                                                        {"FMA", __builtin_cpu_supports("fma")},
                                                        {"LZCNT", has_bit(0x80000001, 5)},
                                                        {"MOVBE", has_bit(1, 22)}};
  std::string names;
  for (const auto& [name, present] : features)
    if (!present) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::vector<Isa> find_available() {
  if (!lacking().empty()) return {};
  std::vector<Isa> found{Isa::avx2};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    found.push_back(Isa::avx512);
  return found;
}
#else
constexpr std::string_view kNarrowest = "an arm64 processor";

std::string find_lacking() {
  return {};
}

std::vector<Isa> find_available() {
  return {Isa::neon};
}
#endif

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{[] {
    const char* cap = std::getenv("REGARD_ISA");
    return choose(available(), cap == nullptr ? "" : cap, lacking());
  }()};
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) {
  constexpr std::string_view kNames[] = {"neon", "avx2", "avx512"};
  return kNames[static_cast<std::size_t>(isa)];
}

const std::vector<Isa>& available() {
  static const std::vector<Isa> found = find_available();
  return found;
}

const std::string& lacking() {
  static const std::string names = find_lacking();
  return names;
}

Isa choose(std::span<const Isa> all, std::string_view cap, std::string_view lacks) {
  if (all.empty())
    throw usage_error("unsupported processor")
        .found("a processor without " + std::string(lacks))
        .expected(std::string(kNarrowest))
        .remedy("Use a processor with these features; most x86-64 processors since about 2015 have them");
  if (cap.empty()) return all.back();
  // Accepted values of REGARD_ISA. With "amx", int8 and bf16 products use AMX, and all other kernels use
  // AVX-512.
  constexpr std::pair<std::string_view, Isa> kCaps[] = {
      {"neon", Isa::neon}, {"avx2", Isa::avx2}, {"avx512", Isa::avx512}, {"amx", Isa::avx512}};
  std::string names;
  for (const auto& [name, isa] : kCaps) {
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (name != cap) continue;
    Isa widest = all.front();
    for (const Isa candidate : all)
      if (candidate <= isa) widest = candidate;
    return widest;
  }
  throw usage_error("REGARD_ISA does not name an instruction set")
      .found(std::string(cap))
      .expected("one of " + names);
}

Isa active() {
  return chosen().load(std::memory_order_relaxed);
}

void set_active(Isa isa) {
  const std::vector<Isa>& all = available();
  if (std::find(all.begin(), all.end(), isa) == all.end())
    throw usage_error("the instruction set is not available on this processor")
        .found(std::string(name_of(isa)))
        .expected(names_of(all));
  chosen().store(isa, std::memory_order_relaxed);
}

}  // namespace regard::kernels
