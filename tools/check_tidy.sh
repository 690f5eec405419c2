#!/usr/bin/env bash
# Run clang-tidy (.clang-tidy) on the sources of src/ whose code differs from a commit, or on all of them. Sources with
# changed comments only are left out.
# Usage: tools/check_tidy.sh [--all | COMMIT]   COMMIT: default origin/main where it exists, else HEAD~1
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-}
if [ -z "$base" ]; then
  base=HEAD~1
  git rev-parse -q --verify origin/main >/dev/null && base=$(git merge-base HEAD origin/main)
fi
if [ "$base" = --all ]; then
  files=$(git ls-files 'src/*.cpp')
else
  files=$( (git diff --name-only --diff-filter=d "$base"; git ls-files -o --exclude-standard) | grep -E '^src/.*[.]cpp$' || true)
fi
code() { g++ -fpreprocessed -dD -E -P -x c++ - 2>/dev/null; }
if [ "$base" != --all ]; then
  files=$(while read -r file; do
    [ -z "$file" ] || cmp -s <(git show "$base:$file" 2>/dev/null | code) <(code <"$file") || echo "$file"
  done <<<"$files")
fi
# src/kernels/simd is left out, because it is compiled once per instruction set with other options. The warnings of
# g++ and clang check it.
files=$(grep -v '^src/kernels/simd/' <<<"$files" || true)
if [ -z "$files" ]; then
  echo "tidy: the code of no source in src/ differs from $base"
  exit 0
fi
# clang-tidy needs the commands of a build without precompiled headers and unity files. Nothing is compiled.
cmake --preset edit -B build/tidy -DREGARD_PRECOMPILE=OFF -DREGARD_BUILD_TESTS=OFF -DREGARD_BUILD_EXAMPLES=OFF >/dev/null
# A source that is not compiled here has no command, such as mpi_transport.cpp without an MPI library.
files=$(while read -r file; do
  if grep -qF "/$file\"" build/tidy/compile_commands.json; then echo "$file"; else echo "tidy: $file is not compiled here" >&2; fi
done <<<"$files")
[ -n "$files" ] || exit 0
echo "$files" | xargs -n 1 -P "$(nproc)" clang-tidy-16 --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument -p build/tidy 2>build/tidy/errors >build/tidy/warnings || {
  cat build/tidy/warnings; grep -v 'warnings\? generated' build/tidy/errors || true
  exit 1
}
echo "tidy: $(wc -l <<<"$files") files"
