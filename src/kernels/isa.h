// Selection of the kernels' instruction set. Kernels are in src/kernels/simd/, compiled once per set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::kernels {

enum class Isa { neon, avx2, avx512 };

std::string_view name_of(Isa isa);

// Those that this machine has and this build contains, narrowest first; empty: see lacking(). Found at the
// first use, as everything outside of src/kernels/simd/ runs on any processor of its architecture.
const std::vector<Isa>& available();

// Names of what this processor lacks of the narrowest instruction set; empty: it has one.
const std::string& lacking();

// The widest of `all`, capped by a name as in REGARD_ISA (empty: not capped). Throws usage for an unknown
// name, and if `all` is empty, with what the processor lacks.
Isa choose(std::span<const Isa> all, std::string_view cap, std::string_view lacks);

// The widest available, capped by the environment's REGARD_ISA=avx2|avx512|amx (throws as choose() does, at
// the first use of a kernel). amx: avx512, and AMX for int8 where the machine has it, which avx512 leaves
// out. Bits are the same for everything but the instruction set.
Isa active();

// For tests and benchmarks, with no kernel running: throws usage if `isa` is not available.
void set_active(Isa isa);

}  // namespace regard::kernels
