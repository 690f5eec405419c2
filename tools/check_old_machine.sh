#!/usr/bin/env bash
# tools/check_old_machine.sh PROGRAM: run PROGRAM under qemu on a processor of 2008 (SSE4.2, no AVX). Check that
# commands without kernels work, and that commands with kernels print an error and exit with code 2 instead of
# crashing on an illegal instruction.
set -euo pipefail
program=${1:?usage: tools/check_old_machine.sh PROGRAM}
data=$(cd "$(dirname "$0")/../tests/data" && pwd)
[ "$(uname -m)" = x86_64 ] || { echo "old machine: this is not an x86-64 machine"; exit 0; }
command -v qemu-x86_64 >/dev/null || { echo "old machine: qemu-x86_64 is missing (package qemu-user)" >&2; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

# expect CODE TEXT ARGUMENT…: run the program with the arguments; check the exit code, and that the output contains TEXT.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  echo "a line of text" | timeout 120 qemu-x86_64 -cpu Nehalem "$program" "$@" >"$out/log" 2>&1 || got=$?
  if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" "$out/log"; then
    echo "old machine: regard $*: exit code $got, wanted $code and \"$text\"; it wrote:"
    cat "$out/log"
    bad=1
  fi
}

sentence="expected an x86-64-v3 processor: AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE"
expect 0 "regard" --version
expect 0 "Subcommands" --help
expect 0 "none: the processor does not have AVX, AVX2" info
expect 0 "tensor" info "$data/tasks/roberta-fill"
expect 0 "" tokenizer encode -T "$data/tasks/roberta-fill"
expect 2 "$sentence" fill "$data/tasks/roberta-fill"
expect 2 "$sentence" embed "$data/hf-more/st-mean"
expect 2 "$sentence" bench peak
[ "$bad" -eq 0 ] && echo "old machine: the program starts and says what the processor lacks"
exit "$bad"
