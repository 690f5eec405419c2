// Run-time dispatch of a family of kernels. The family's file in src/kernels/simd/ is compiled once per
// instruction set and defines
//   namespace regard::kernels::REGARD_ISA { const FamilyTable family_table; }
// where FamilyTable is a struct of function pointers. The family's file in src/kernels/ contains
// REGARD_KERNEL_TABLE(FamilyTable, family_table) once and calls dispatch_family_table().
#pragma once

#include "kernels/isa.h"

#if defined(__x86_64__)
#define REGARD_KERNEL_TABLE(Table, table)                         \
  namespace avx2 {                                                \
  extern const Table table;                                       \
  }                                                               \
  namespace avx512 {                                              \
  extern const Table table;                                       \
  }                                                               \
  static inline const Table& dispatch_##table() {                 \
    return active() == Isa::avx512 ? avx512::table : avx2::table; \
  }
#else
#define REGARD_KERNEL_TABLE(Table, table)         \
  namespace neon {                                \
  extern const Table table;                       \
  }                                               \
  static inline const Table& dispatch_##table() { \
    return neon::table;                           \
  }
#endif
