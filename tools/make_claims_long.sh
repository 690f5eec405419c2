#!/usr/bin/env bash
# make claims-long: trains the translators of docs/why-attention.md and writes recipes/claims/results-long.json.
# Usage: tools/make_claims_long.sh REGARD [FOLDER]; FOLDER keeps data and runs; results that are there are not computed
# again. Needs Multi30k in $REGARD_SHARED/data/multi30k.
#
# Captions of Multi30k are joined to texts of one to five captions, so that sources of training and test have about 12
# to 60 words, evenly distributed (Bahdanau et al. 2015, figure 2, with other data).
set -eu
regard=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$(mktemp -d)}
corpus=${REGARD_SHARED:-$root/../shared}/data/multi30k
captions="1 2 3 4 5"
networks="transformer attention none"
mkdir -p "$folder"
[ -s "$corpus/train.en" ] || { echo "make_claims_long: no Multi30k in $corpus; set REGARD_SHARED" >&2; exit 1; }

# joined CAPTIONS FIRST: join each CAPTIONS lines of standard input, beginning with line FIRST, to one text. CAPTIONS is
# a number or a list of numbers, which are used in turn.
joined() {
  awk -v sizes="$1" -v first="$2" 'BEGIN { n = split(sizes, size, " "); i = 1 }
    NR < first { next }
    { text = text (text == "" ? "" : " ") $0; if (++count == size[i]) { print text; text = ""; count = 0; i = i % n + 1 } }'
}

for side in en de; do
  # Three different divisions of the captions into texts.
  for first in 1 5 9; do joined "$captions" "$first" <"$corpus/train.$side"; done >"$folder/train.$side"
  joined "$captions" 1 <"$corpus/val.$side" >"$folder/valid.$side"
  for count in $captions; do joined "$count" 1 <"$corpus/test_2016_flickr.$side" >"$folder/test-$count.$side"; done
done

# train NETWORK: transformer; attention (recurrent, with attention); none (recurrent, without attention)
train() {
  local run=$folder/$1 more=()
  [ -s "$run.trained" ] && return
  case $1 in
    transformer) more=(encoder_layers=3 decoder_layers=3 heads=4 feed_forward_size=256 norm=pre) ;;
    attention) more=(family=rnn-search cell=gru attention=additive encoder_layers=1 decoder_layers=1) ;;
    none) more=(family=rnn-search cell=gru attention=none encoder_layers=1 decoder_layers=1) ;;
  esac
  rm -rf "$run"
  local TIMEFORMAT=%U
  { time "$regard" train "$root/recipes/claims/length.toml" -t 1 --set "output.folder=$run" "${more[@]/#/--set=model.}" \
    --set "data.train=[\"$folder/train.en\", \"$folder/train.de\"]" \
    --set "data.valid=[\"$folder/valid.en\", \"$folder/valid.de\"]" >"$run.log" 2>&1; } 2>"$run.seconds"
  mv "$run.seconds" "$run.trained"  # the file exists only if the run succeeded
}

# score NETWORK CAPTIONS: write the metrics of the translations of texts of CAPTIONS captions.
score() {
  local out=$folder/$1-$2.json
  [ -s "$out" ] && return
  "$regard" evaluate "$folder/$1" "$folder/test-$2.en" "$folder/test-$2.de" -t 1 -q --lowercase --beam 4 --json >"$out.new"
  mv "$out.new" "$out"
}

for network in $networks; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
  { train "$network"; for count in $captions; do score "$network" "$count"; done; } &
done
wait
for network in $networks; do
  for count in $captions; do
    [ -s "$folder/$network-$count.json" ] || { echo "make_claims_long: no scores in $folder/$network-$count.json" >&2; exit 1; }
  done
done

# Print NAME of the metrics of NETWORK and CAPTIONS.
metric() { grep -o "\"$3\":[0-9.]*" "$folder/$1-$2.json" | head -1 | cut -d: -f2; }

{
  machine=$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | sed 's/^ *//')
  printf '{\n "machine": "%s",\n "threads": 1,\n "translation_by_length": [' "$machine"
  separator=""
  for network in $networks; do
    for count in $captions; do
      words=$(awk '{n += NF} END {printf "%.1f", n / NR}' "$folder/test-$count.en")
      printf '%s\n  {"network": "%s", "captions": %s, "words": %s, "bleu": %s}' "$separator" "$network" "$count" "$words" \
        "$(metric "$network" "$count" bleu)"
      separator=","
    done
  done
  printf '\n ],\n "training": ['
  separator=""
  for network in $networks; do
    weights=$(grep -o '^[0-9]* parameters' "$folder/$network.log" | cut -d' ' -f1)
    printf '%s\n  {"network": "%s", "weights": %s, "seconds": %.0f}' "$separator" "$network" "$weights" \
      "$(cat "$folder/$network.trained")"
    separator=","
  done
  printf '\n ]\n}\n'
} >"$root/recipes/claims/results-long.json.new"
mv "$root/recipes/claims/results-long.json.new" "$root/recipes/claims/results-long.json"
python3 "$root/tools/draw_claims.py"
