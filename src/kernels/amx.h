// Detection of AMX, a feature of x86-64 processors that the operating system grants on request.
#pragma once

namespace regard::kernels {

enum class AmxFeature { int8, bf16 };

// True if the processor has AMX tiles with this feature and the operating system lets this process use them.
bool has_amx(AmxFeature feature);

// Return a bit of register eax of cpuid's leaf 7, subleaf 1; false on other architectures.
bool has_bit_of_leaf_7_1(int bit);

}  // namespace regard::kernels
