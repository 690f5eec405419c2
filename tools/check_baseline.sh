#!/usr/bin/env bash
# tools/check_baseline.sh BUILD: on x86-64, all code except the kernels is compiled for plain x86-64 (SSE2), so that the
# program starts on an old processor and reports the missing features. Fails if an object of the library or the program
# contains a later instruction, or if an object of the kernels runs code before main().
set -euo pipefail
build=${1:?usage: tools/check_baseline.sh BUILD_FOLDER}
[ -d "$build/CMakeFiles/regard.dir" ] || { echo "baseline: nothing built in $build yet"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "baseline: not an x86-64 machine"; exit 0; }
bad=0

# VEX and EVEX (v…), BMI, LZCNT, MOVBE, POPCNT, SSE3 to SSE4.2, AES. tzcnt is not listed: older processors run it as bsf.
later='v[a-z0-9]+|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|popcnt|movbe|crc32[a-z]?'
later+='|addsubp[sd]|h(add|sub)p[sd]|lddqu|movddup|movs[hl]dup|fisttp[a-z]*|pshufb|pabs[bwd]|palignr|ph(add|sub)s?[wd]+'
later+='|pmaddubsw|pmulhrsw|psign[bwd]|p?blend[a-z]+|dpp[sd]|extractps|insertps|mpsadbw|packusdw|pcmp(eq|gt)q'
later+='|pcmp[ei]str[im]|pextr[bdq]|pinsr[bdq]|phminposuw|p(max|min)(sb|sd|ud|uw)|pmov[sz]x[a-z]+|pmul(dq|ld)|ptest'
later+='|round[ps][sd]|movntdqa|aes[a-z0-9]+|pclmul[a-z]+'
# Each process filters its own output: longer outputs of parallel processes would be mixed within lines.
export later
found=$(find "$build/CMakeFiles/regard.dir" "$build/CMakeFiles/regard_program.dir" -name '*.o' -print0 2>/dev/null |
  xargs -0 -r -n 16 -P "$(nproc)" sh -c 'objdump -d --no-show-raw-insn "$@" |
    awk "/file format/ { file = \$1 } /^ .*:\t/ { print \$2, file }" FS=" *:?\t|: +file" |
    grep -E "^($later)( |\$)" | head -20' objdump | head -20 || true)
if [ -n "$found" ]; then
  echo "baseline: instructions that plain x86-64 lacks:"
  echo "$found"
  bad=1
fi

while read -r object; do
  if objdump -h "$object" | grep -qE '\.(init_array|ctors)'; then
    echo "baseline: $object runs code before main"
    bad=1
  fi
done < <(find "$build" -path '*regard_simd_*' -name '*.o')
[ "$bad" -eq 0 ] && echo "baseline: nothing but the kernels needs more than SSE2"
exit "$bad"
