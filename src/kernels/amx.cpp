#include "kernels/amx.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace regard::kernels {

#if defined(__x86_64__)
bool has_amx(AmxFeature feature) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const int bit = feature == AmxFeature::int8 ? 25 : 22;
  if ((d >> 24 & 1) == 0 || (d >> bit & 1) == 0) return false;
  // kAskPermission is the request ARCH_REQ_XCOMP_PERM of arch_prctl(). kTileData is the number of the state
  // component that holds the AMX tiles.
  constexpr long kAskPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kAskPermission, kTileData) == 0;
}

bool has_fast_bf16_instructions() {
  unsigned highest = 0, b = 0, c = 0, d = 0;
  // Compare the vendor string in the registers ebx, edx and ecx with "AuthenticAMD".
  return __get_cpuid(0, &highest, &b, &c, &d) != 0 && b == signature_AMD_ebx && d == signature_AMD_edx &&
         c == signature_AMD_ecx;
}

bool has_bit_of_leaf_7_1(int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> bit & 1) != 0;
}
#else
bool has_amx(AmxFeature) {
  return false;
}

bool has_fast_bf16_instructions() {
  return false;
}

bool has_bit_of_leaf_7_1(int) {
  return false;
}
#endif

}  // namespace regard::kernels
