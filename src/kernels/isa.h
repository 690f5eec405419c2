// Select the instruction set of the kernels. src/kernels/simd/ is compiled once per instruction set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::kernels {

enum class Isa { neon, avx2, avx512 };

std::string_view name_of(Isa isa);

// Return the names of `choices`, separated by commas. Choice is Isa or another type with name_of().
template <class Choice>
std::string names_of(const std::vector<Choice>& choices) {
  std::string names;
  for (const Choice choice : choices) names += (names.empty() ? "" : ", ") + std::string(name_of(choice));
  return names;
}

// Return the instruction sets that this machine supports and this build contains, narrowest first. If there
// are none, lacking() returns the reason. The first call detects them, with code that runs on any processor
// of the architecture.
const std::vector<Isa>& available();

// Return the features that the narrowest instruction set requires and this processor lacks; "" if none.
const std::string& lacking();

// Return the widest instruction set of `all` that is not wider than `cap`; if all are wider, return the
// narrowest. `cap` is a name as in REGARD_ISA; empty means no limit. Throws usage if the name is unknown or
// `all` is empty. The error for an empty `all` lists the missing features `lacks`.
Isa choose(std::span<const Isa> all, std::string_view cap, std::string_view lacks);

// Return the active instruction set. Default: the widest available one. The environment variable REGARD_ISA
// (neon, avx2, avx512 or amx) limits the width; `amx` means avx512 and, if available, AMX. Throws in the same
// cases as choose(), on the first call.
// Machines with the same active instruction set compute the same results, except for bf16 products (bf16.h).
Isa active();

// Select the instruction set, for tests and benchmarks. No kernel may run during the call. Throws usage if
// `isa` is not available.
void set_active(Isa isa);

}  // namespace regard::kernels
