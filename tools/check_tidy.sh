#!/usr/bin/env bash
# Run clang-tidy (.clang-tidy) on the sources of src/ whose code differs from a commit, or on all of them. Sources with
# changed comments only are left out.
# Usage: tools/check_tidy.sh [--all | COMMIT]   COMMIT: default origin/main where it exists, else HEAD~1
set -euo pipefail
cd "$(dirname "$0")/.."

# Write the commands of a build without precompiled headers, which clang-tidy needs. Nothing is compiled.
configure() {  # PRESET FOLDER
  cmake --preset "$1" -B "$2" -DREGARD_PRECOMPILE=OFF -DREGARD_BUILD_TESTS=OFF -DREGARD_BUILD_EXAMPLES=OFF >/dev/null
}

# Run clang-tidy with the commands in FOLDER on the files on standard input.
run_tidy() {  # FOLDER
  xargs -n 1 -P "$(nproc)" clang-tidy-16 --quiet --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-unused-command-line-argument -p "$1" 2>"$1/errors" >"$1/warnings" || {
    cat "$1/warnings"; grep -v 'warnings\? generated' "$1/errors" || true
    exit 1
  }
}

base=${1:-}
if [ -z "$base" ]; then
  base=HEAD~1
  git rev-parse -q --verify origin/main >/dev/null && base=$(git merge-base HEAD origin/main)
fi
# src/kernels/simd is left out, because it is compiled once per instruction set with other options. The warnings of
# g++ and clang check it.
if [ "$base" = --all ]; then
  # A unity build has the same code in 30 files instead of 700, so that each header is parsed less often: minutes
  # instead of an hour. misc-unused-using-decls ignores included files, so only runs on changed sources apply it.
  configure release build/tidy-all
  files=$(sed -n 's/^ *"file": "\(.*\)".*$/\1/p' build/tidy-all/compile_commands.json | grep -v '/src/kernels/simd/')
  run_tidy build/tidy-all <<<"$files"
  echo "tidy: all sources, in $(wc -l <<<"$files") units"
  exit 0
fi
files=$( (git diff --name-only --diff-filter=d "$base"; git ls-files -o --exclude-standard) | grep -E '^src/.*[.]cpp$' || true)
code() { g++ -fpreprocessed -dD -E -P -x c++ - 2>/dev/null; }
files=$(while read -r file; do
  [ -z "$file" ] || cmp -s <(git show "$base:$file" 2>/dev/null | code) <(code <"$file") || echo "$file"
done <<<"$files")
files=$(grep -v '^src/kernels/simd/' <<<"$files" || true)
if [ -z "$files" ]; then
  echo "tidy: the code of no source in src/ differs from $base"
  exit 0
fi
configure edit build/tidy
# A source that is not compiled here has no command, such as mpi_transport.cpp without an MPI library.
files=$(while read -r file; do
  if grep -qF "/$file\"" build/tidy/compile_commands.json; then echo "$file"; else echo "tidy: $file is not compiled here" >&2; fi
done <<<"$files")
[ -n "$files" ] || exit 0
run_tidy build/tidy <<<"$files"
echo "tidy: $(wc -l <<<"$files") files"
