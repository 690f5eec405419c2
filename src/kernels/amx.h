// Detection of AMX. A process must request this x86-64 extension from the operating system.
#pragma once

namespace regard::kernels {

enum class AmxFeature { int8, bf16 };

// Return true if the processor has AMX with this feature and the operating system permits its use.
bool has_amx(AmxFeature feature);

// Return a bit of register eax of cpuid leaf 7, subleaf 1. Return false on architectures other than x86-64.
bool has_bit_of_leaf_7_1(int bit);

}  // namespace regard::kernels
