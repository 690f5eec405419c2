// Detection of AMX and of bf16 instructions. A process must request AMX from the operating system.
#pragma once

namespace regard::kernels {

enum class AmxFeature { int8, bf16 };

// Return true if the processor supports AMX with `feature` and the operating system permits this process to
// use AMX.
bool has_amx(AmxFeature feature);

// Return true if the processor is AMD's. On these processors, VDPBF16PS was measured to be faster than f32:
// it executes at the rate of the f32 instruction VFMADD.
bool has_fast_bf16_instructions();

// Return bit number `bit` of register eax of cpuid leaf 7, subleaf 1. Return false on architectures other
// than x86-64.
bool has_bit_of_leaf_7_1(int bit);

}  // namespace regard::kernels
