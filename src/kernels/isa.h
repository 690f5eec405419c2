// Selection of the kernels' instruction set. Kernels are in src/kernels/simd/, compiled once per set.
#pragma once

#include <string_view>
#include <vector>

namespace regard::kernels {

enum class Isa { neon, avx2, avx512 };

std::string_view name_of(Isa isa);

// Those that this machine has and this build contains, narrowest first.
const std::vector<Isa>& available();

// The widest available, capped by the environment's REGARD_ISA=avx2|avx512|amx (unknown names: throws usage
// at the first use). amx: avx512, and AMX for int8 where the machine has it, which avx512 leaves out. Bits
// are the same for everything but the instruction set.
Isa active();

// For tests and benchmarks, with no kernel running: throws usage if `isa` is not available.
void set_active(Isa isa);

}  // namespace regard::kernels
