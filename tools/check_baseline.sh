#!/usr/bin/env bash
# tools/check_baseline.sh BUILD: on x86-64, all code except the kernels is compiled for plain x86-64 (SSE2), so that the
# program starts on an old processor and reports the missing features. Fails if a function of the program outside the
# kernels contains a later instruction, or if an object of the kernels runs code before main().
set -euo pipefail
build=${1:?usage: tools/check_baseline.sh BUILD_FOLDER}
[ -x "$build/bin/regard" ] || { echo "baseline: nothing built in $build yet"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "baseline: not an x86-64 machine"; exit 0; }
bad=0

# VEX and EVEX (v…), BMI, LZCNT, MOVBE, POPCNT, SSE3 to SSE4.2, AES. tzcnt is not listed: older processors run it as bsf.
later='v[a-z0-9]+|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|popcnt|movbe|crc32[a-z]?'
later+='|addsubp[sd]|h(add|sub)p[sd]|lddqu|movddup|movs[hl]dup|fisttp[a-z]*|pshufb|pabs[bwd]|palignr|ph(add|sub)s?[wd]+'
later+='|pmaddubsw|pmulhrsw|psign[bwd]|p?blend[a-z]+|dpp[sd]|extractps|insertps|mpsadbw|packusdw|pcmp(eq|gt)q'
later+='|pcmp[ei]str[im]|pextr[bdq]|pinsr[bdq]|phminposuw|p(max|min)(sb|sd|ud|uw)|pmov[sz]x[a-z]+|pmul(dq|ld)|ptest'
later+='|round[ps][sd]|movntdqa|aes[a-z0-9]+|pclmul[a-z]+'
# The functions of the kernels have the name of their instruction set in their own. check_symbols.sh checks that no
# other function comes from their objects.
kernels='6regard7kernels(4avx2|6avx512)'
found=$(objdump -d --no-show-raw-insn "$build/bin/regard" |
  awk '/^[0-9a-f]+ <.*>:$/ { name = $2 } /^ .*:\t/ { sub(/^[^\t]*\t/, ""); print $1, name }' |
  grep -E "^($later) " || true)
if ! grep -qE "$kernels" <<<"$found"; then
  echo "baseline: the instructions of the kernels are not found in $build/bin/regard"
  bad=1
fi
found=$(grep -vE "$kernels" <<<"$found" | sort -u | head -20 || true)
if [ -n "$found" ]; then
  echo "baseline: instructions that plain x86-64 lacks:"
  c++filt <<<"$found"
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
