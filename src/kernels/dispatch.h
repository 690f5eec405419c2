// Run-time dispatch of kernels through a struct of function pointers, such as GemmTable. A file in
// src/kernels/simd/ is compiled once per instruction set and defines
//   namespace regard::kernels::REGARD_ISA { const GemmTable gemm_table; }
// A file in src/kernels/ contains REGARD_KERNEL_TABLE(GemmTable, gemm_table) once and calls
// dispatch_gemm_table(), which returns the table of the active instruction set.
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
