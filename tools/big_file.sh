#!/usr/bin/env bash
# tools/big_file.sh REGARD [MEGABYTES [FOLDER]]: train on a text file larger than the memory that the program may use.
# Makes a file of MEGABYTES (default: 3072) in FOLDER (default: build/big-file), trains a small language model on it for a few
# steps under a memory limit of 1 GiB, stops it, resumes it, and compares the result with a run that was not stopped. The
# limit is a memory control group if one can be made (root), else the limit of data segments (ulimit -d), which does not
# count mapped files. Prints the peak of private memory (not of mapped files) of each run.
set -euo pipefail
program=$(realpath "${1:?usage: tools/big_file.sh REGARD [MEGABYTES [FOLDER]]}")
megabytes=${2:-3072}
folder=${3:-build/big-file}
limit=$((1 << 30))
mkdir -p "$folder"
cd "$folder"

if [ "$(stat -c %s big.txt 2>/dev/null || echo 0)" -lt $((megabytes << 20)) ]; then
  echo "== write big.txt ($megabytes MiB)"
  # Lines of words with a skewed frequency, then the same lines with the alphabet rotated.
  awk -v most=$(((megabytes << 20) / 24 + 1)) 'BEGIN {
    srand(7)
    for (i = 0; i < 20000; ++i) { n = 2 + int(rand() * 8); for (j = 0; j < n; ++j) word[i] = word[i] sprintf("%c", 97 + int(rand() * 26)) }
    while (size < most) { line = ""; n = 5 + int(rand() * 20); for (j = 0; j < n; ++j) line = line word[int(20000 * rand() ^ 3)] " "; print line; size += length(line) + 1 } }' >part.txt
  letters=abcdefghijklmnopqrstuvwxyz
  for ((first = 0; first < 24; ++first)); do tr "$letters" "${letters:first}${letters:0:first}" <part.txt; done >big.txt
fi
[ -f tokenizer.json ] || { head -c 8000000 big.txt >sample.txt; "$program" tokenizer train --type byte-bpe --vocab-size 2000 -o tokenizer.json sample.txt; }
head -c 200000 big.txt >valid.txt

cat >run.toml <<TOML
task = "language-model"
[data]
train = ["big.txt"]
valid = ["valid.txt"]
[tokenizer]
file = "tokenizer.json"
[model]
layers = 1
hidden_size = 32
heads = 2
feed_forward_size = 64
[training]
batch_size = 8
context = 64
windows = "sequential"
max_steps = 40
[validation]
every_steps = 20
samples = 0
[output]
checkpoint_every_steps = 20
TOML
# limited COMMAND…: run it under the limit and print the peak of its private memory.
group=""
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  { [ -f "$parent/cgroup.procs" ] && [ -w "$parent" ] && mkdir -p "$parent/regard-big-file"; } 2>/dev/null || continue
  if echo $limit >"$parent/regard-big-file/memory.limit_in_bytes" || echo $limit >"$parent/regard-big-file/memory.max"; then
    group=$parent/regard-big-file
    break
  fi
done 2>/dev/null
limited() {
  (
    if [ -n "$group" ]; then echo "$BASHPID" >"$group/cgroup.procs"; else ulimit -d $((limit >> 10)); fi
    exec "$@"
  ) &
  local pid=$! now peak=0
  while kill -0 $pid 2>/dev/null; do
    now=$(awk '/^RssAnon/ { print $2 }' /proc/$pid/status 2>/dev/null || true)
    [ "${now:-0}" -le "$peak" ] || peak=$now
    sleep 0.2
  done
  wait $pid
  echo "peak of private memory: $((peak >> 10)) MiB; the file has $(($(stat -c %s big.txt) >> 20)) MiB"
}
[ -z "$group" ] || trap 'rmdir "$group"' EXIT
if [ -n "$group" ]; then echo "== limit: 1 GiB by $group"; else echo "== limit: 1 GiB of data segments"; fi

rm -rf whole halves token-cache
for run in whole halves; do
  steps=40
  [ $run = halves ] && steps=20
  echo "== train into $run, $steps steps"
  limited "$program" train run.toml --set output.folder=$run --set training.max_steps=$steps
done
echo "== resume halves"
limited "$program" train run.toml --set output.folder=halves --set training.max_steps=40 --resume
cmp "whole/checkpoints/$(ls whole/checkpoints | sort -n | tail -1)/model.safetensors" \
  "halves/checkpoints/$(ls halves/checkpoints | sort -n | tail -1)/model.safetensors"
echo "== passed: equal weights with and without the stop"
