// Selection of the kernels' instruction set. Kernels are in src/kernels/simd/, compiled once per set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::kernels {

enum class Isa { neon, avx2, avx512 };

std::string_view name_of(Isa isa);

// The instruction sets that this machine supports and this build contains, narrowest first; if empty, see
// lacking(). Detected at the first use: code outside src/kernels/simd/ runs on any processor of its
// architecture.
const std::vector<Isa>& available();

// Names of the features of the narrowest instruction set that this processor lacks; empty if it lacks none.
const std::string& lacking();

// Return the widest of `all`, capped by a name as in REGARD_ISA (an empty name sets no cap); the narrowest
// if all are wider than the cap. Throws usage for an unknown name, and if `all` is empty, with the features
// `lacks`.
Isa choose(std::span<const Isa> all, std::string_view cap, std::string_view lacks);

// Return the widest available, capped by the environment variable REGARD_ISA=neon|avx2|avx512|amx. Throws as
// choose() does, at the first use of a kernel. amx means avx512 with AMX for int8 if the machine has it;
// avx512 excludes AMX. Result bits depend on the instruction set and on nothing else of the machine.
Isa active();

// Select the instruction set, for tests and benchmarks. No kernel may run meanwhile. Throws usage if `isa`
// is not available.
void set_active(Isa isa);

}  // namespace regard::kernels
