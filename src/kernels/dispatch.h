// Run-time dispatch of a kernel family. Its file in src/kernels/simd/ is compiled once per instruction set
// and defines
//   namespace regard::kernels::REGARD_ISA { const FamilyTable& family_table(); }
// which returns a struct of function pointers. Its file in src/kernels/ contains
// REGARD_KERNEL_TABLE(FamilyTable, family_table) once and calls dispatch_family_table().
#pragma once

#include "kernels/isa.h"

#if defined(__x86_64__)
#define REGARD_KERNEL_TABLE(Table, function)                                \
  namespace avx2 {                                                          \
  const Table& function();                                                  \
  }                                                                         \
  namespace avx512 {                                                        \
  const Table& function();                                                  \
  }                                                                         \
  static inline const Table& dispatch_##function() {                        \
    return active() == Isa::avx512 ? avx512::function() : avx2::function(); \
  }
#else
#define REGARD_KERNEL_TABLE(Table, function)         \
  namespace neon {                                   \
  const Table& function();                           \
  }                                                  \
  static inline const Table& dispatch_##function() { \
    return neon::function();                         \
  }
#endif
