#!/usr/bin/env bash
# Train the word vectors that `regard explain` uses without options, and write recipes/explain-vectors/vectors.txt.
# Usage: recipes/explain-vectors/make.sh REGARD DATA; DATA holds lm-presidential, lm-tinyshakespeare and enhi-tatoeba.
#
# Skip-gram with negative sampling on 3.4 MB of text, one thread (reproducible), seconds. Sources and licences: README.md.
set -eu
regard=$(realpath "$1")
data=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat "$data"/lm-presidential/state_union/*.txt | tr '\n' ' ' | sed 's/[.?!] /&\n/g' >"$work/speeches.txt"
cp "$data/lm-tinyshakespeare/input.txt" "$work/plays.txt"
cut -f1 "$data/enhi-tatoeba/train.tsv" >"$work/tatoeba.txt"
"$regard" demo --export "$work/phrasebook" -q
"$regard" vectors train "$work/speeches.txt" "$work/plays.txt" "$work/tatoeba.txt" "$work/phrasebook/train.en" \
  -o "$work/vectors.vec" --split words --lower-case --size 32 --epochs 25 --min-count 4 -t 1 -q
python3 "$here/pack.py" "$work/vectors.vec" "$work/phrasebook/train.en" >"$here/vectors.txt.new"
mv "$here/vectors.txt.new" "$here/vectors.txt"
ls -l "$here/vectors.txt"
