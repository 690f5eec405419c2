// Detection of AMX, which a process must request from the operating system, and of bf16 instructions.
#pragma once

namespace regard::kernels {

enum class AmxFeature { int8, bf16 };

// Return true if the processor has AMX with this feature and the operating system permits its use.
bool has_amx(AmxFeature feature);

// Return true if the processor is AMD's. There, VDPBF16PS was measured faster than f32: it executes at the
// rate of the f32 instruction VFMADD.
bool has_fast_bf16_instructions();

// Return a bit of register eax of cpuid leaf 7, subleaf 1. Return false on architectures other than x86-64.
bool has_bit_of_leaf_7_1(int bit);

}  // namespace regard::kernels
