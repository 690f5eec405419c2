#include "kernels/isa.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "regard/error.h"

namespace regard::kernels {
namespace {

std::vector<Isa> find_available() {
#if defined(__x86_64__)
  std::vector<Isa> found{Isa::avx2};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    found.push_back(Isa::avx512);
  return found;
#else
  return {Isa::neon};
#endif
}

Isa choose() {
  const char* cap = std::getenv("REGARD_ISA");
  if (cap == nullptr || *cap == '\0') return available().back();
  // AMX multiplies int8 alone (int8.cpp); everything else is AVX-512's then.
  constexpr std::pair<std::string_view, Isa> kCaps[] = {
      {"neon", Isa::neon}, {"avx2", Isa::avx2}, {"avx512", Isa::avx512}, {"amx", Isa::avx512}};
  std::string names;
  for (const auto& [name, isa] : kCaps) {
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (name != cap) continue;
    Isa widest = available().front();
    for (Isa candidate : available())
      if (candidate <= isa) widest = candidate;
    return widest;
  }
  throw usage_error("REGARD_ISA names no instruction set").found(cap).expected("one of " + names);
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{choose()};
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::neon:
      return "neon";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "";
}

const std::vector<Isa>& available() {
  static const std::vector<Isa> found = find_available();
  return found;
}

Isa active() {
  return chosen().load(std::memory_order_relaxed);
}

void set_active(Isa isa) {
  const std::vector<Isa>& all = available();
  if (std::find(all.begin(), all.end(), isa) == all.end())
    throw usage_error("instruction set " + std::string(name_of(isa)) + " is not available here");
  chosen().store(isa, std::memory_order_relaxed);
}

}  // namespace regard::kernels
