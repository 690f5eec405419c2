#!/usr/bin/env bash
# tools/check_symbols.sh BUILD: objects compiled for a wider instruction set must not define weak symbols of the
# standard library (or any other shared inline function): the linker may keep the wide copy for everyone, and the
# program would then die on a narrower machine. Those inside the set's own namespace are fine.
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
