// Selection of the kernels' instruction set. src/kernels/simd/ is compiled once per instruction set.
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
// are none, lacking() returns the reason. Detection runs at the first call, in code that any processor of the
// architecture can run.
const std::vector<Isa>& available();

// Return the features that the narrowest instruction set requires and this processor lacks; "" if none.
const std::string& lacking();

// Return the widest instruction set of `all` that is not wider than `cap`, or the narrowest if all are wider.
// `cap` is a name as in REGARD_ISA; empty means no limit. Throws usage if the name is unknown, or if `all` is
// empty. In the second case, the error lists the missing features `lacks`.
Isa choose(std::span<const Isa> all, std::string_view cap, std::string_view lacks);

// Return the active instruction set: the widest available one that REGARD_ISA=neon|avx2|avx512|amx in the
// environment allows. `amx` means avx512 and, if the machine has it, AMX. Throws as choose() does, at the
// first use of a kernel. Results depend on the machine only through the active instruction set.
Isa active();

// Select the instruction set, for tests and benchmarks. No kernel may run during the call. Throws usage if
// `isa` is not available.
void set_active(Isa isa);

}  // namespace regard::kernels
