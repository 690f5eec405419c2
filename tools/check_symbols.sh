#!/usr/bin/env bash
# tools/check_symbols.sh BUILD: check that objects compiled for a wider instruction set define no weak symbols of the
# standard library or other shared inline functions. The linker may keep that copy for the whole program, which then
# crashes on an older processor. Weak symbols in the instruction set's own namespace are allowed.
set -euo pipefail
build=${1:?usage: tools/check_symbols.sh BUILD_FOLDER}
[ -d "$build" ] || { echo "symbols: nothing built in $build yet"; exit 0; }
bad=0
while read -r object; do
  weak=$(nm -C --defined-only "$object" | awk '$2 ~ /^[WVu]$/ { $1 = ""; print }' | grep -vE 'regard::kernels::(avx2|avx512|neon)::|hwy::N_' || true)
  if [ -n "$weak" ]; then
    echo "$object defines weak symbols:"
    head -20 <<<"$weak"
    bad=1
  fi
done < <(find "$build" -path '*regard_simd_*' -name '*.o')
[ "$bad" -eq 0 ] && echo "symbols: no weak ones in the instruction-set objects"
exit "$bad"
