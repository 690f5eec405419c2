#!/usr/bin/env bash
# make claims: trains the small networks of docs/why-attention.md and writes recipes/claims/results.json.
# Usage: tools/make_claims.sh REGARD [FOLDER]; FOLDER keeps data and runs; results that are there are not computed again.
#
# Each text is a list of words w0 … w7, drawn independently; its label is its first word. A network that ignores the order
# is at most as accurate as always guessing the most frequent word of a text. The longer the text, the more steps a recurrent
# network has to keep the first word.
set -euo pipefail
regard=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${2:-$(mktemp -d)}
seeds=${SEEDS:-"1 2 3"}
lengths=${LENGTHS:-"3 20 60 240 500"}
distances=${DISTANCES:-"0 10 60 500"}
examples=${EXAMPLES:-$(dirname "$regard")/examples}
families=${FAMILIES:-"mlp cnn rnn lstm gru bert"}
networks="transformer attention gru lstm"
mkdir -p "$folder"

# texts LENGTH ROWS SEED: print random texts of LENGTH words with their first word as label
texts() {
  awk -v length_="$1" -v rows="$2" -v seed="$3" 'BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
      first = "w" int(rand() * 8); line = first
      for (j = 1; j < length_; j++) line = line " w" int(rand() * 8)
      print line "\t" first
    }
  }'
}

# accuracy RUN: print the accuracy of the last validation
accuracy() { grep -o '"accuracy":[0-9.]*' "$1/log.jsonl" | tail -1 | cut -d: -f2; }

one() {
  local family=$1 length=$2 seed=$3 run=$folder/$1-$2-$3
  [ -s "$run.accuracy" ] && return
  local data=$folder/length-$length more=()
  [ "$length" -gt 120 ] && more+=(--set "data.max_length=$((length + 2))")
  [ "$family" = bert ] && more+=(--set model.layers=2 --set model.heads=2 --set model.feed_forward_size=64)
  rm -rf "$run"
  "$regard" train "$root/recipes/claims/first-word.toml" -q -t 1 --set "model.family=$family" --set "seed=$seed" \
    --set "data.train=[\"$data.train.tsv\"]" --set "data.valid=[\"$data.valid.tsv\"]" \
    --set "output.folder=$run" "${more[@]}"
  accuracy "$run" >"$run.accuracy"
}

# Print sentences about the two kinds of bank: a sense, a tab, a sentence. HELD: words of the sentences that are held
# out.
banks() {
  awk -v held="$1" 'BEGIN {
    n = split(held ? "coins,salary" : "money,cash,gold,savings", money, ",")
    m = split(held ? "canal,brook" : "river,stream,lake,water", water, ",")
    for (i = 1; i <= n; i++) {
      print "money\tthe bank keeps the " money[i]; print "money\tthey put the " money[i] " in the bank"
      print "money\tshe got the " money[i] " from the bank"; print "money\tthe bank lent him the " money[i]
    }
    for (i = 1; i <= m; i++) {
      print "river\tthe bank of the " water[i] " is green"; print "river\tthey sat on the bank of the " water[i]
      print "river\tshe swam to the bank of the " water[i]; print "river\tthe bank along the " water[i] " is muddy"
    }
  }'
}

# Print the silhouette of the word bank at each layer of the trained classifier, for sentences with words that do not
# occur in its training data.
bank() {
  local run=$folder/bank
  banks 0 | awk -F'\t' '{print $2 "\t" $1}' >"$folder/bank.train.tsv"
  banks 1 >"$folder/bank.held.tsv"
  if [ ! -s "$run.json" ]; then
    rm -rf "$run"
    "$regard" train "$root/recipes/claims/bank.toml" -q -t 1 --set "data.train=[\"$folder/bank.train.tsv\"]" \
      --set "data.valid=[\"$folder/bank.train.tsv\"]" --set "output.folder=$run"
    "$regard" context "$run" bank --input "$folder/bank.held.tsv" --json >"$run.json"
  fi
  paste -d' ' <(grep -o '"layer":"[^"]*"' "$run.json") <(grep -o '"silhouette":[-0-9.e]*' "$run.json") |
    awk '{gsub(/"silhouette":/, ""); value = $NF; $NF = ""; sub(/ $/, "");
          printf "%s  {%s, \"silhouette\": %.3f}", separator, $0, value; separator = ",\n"}'
}

# Write RUN.accuracy, the fraction of the rows of FILE that the translator gets right: translated RUN FILE
translated() {
  cut -f1 "$2" | "$regard" translate "$1" -q -t 1 | paste - "$2" |
    awk -F'\t' '{right += $1 == $3} END {printf "%.4f", right / NR}' >"$1.accuracy.new"
  mv "$1.accuracy.new" "$1.accuracy"  # the file exists only if the translation succeeded
}

# Write "the man beats the boy<tab>man boy" for all ordered pairs of eight people. Eight of the 56 pairs are held out.
order_pairs() {
  awk -v held="$1" 'BEGIN {
    n = split("man boy woman girl king dog cat fox", who, " ")
    for (i = 1; i <= n; i++) for (j = 1; j <= n; j++)
      if (i != j && ((i * 3 + j * 5) % 4 == 0) == held)
        print "the " who[i] " beats the " who[j] "\t" who[i] " " who[j]
  }'
}

# Print the fraction of the held-out pairs that a translator gets right, with positions ("sinusoidal") or without
# ("none").
order() {
  local positions=$1 seed=$2 run=$folder/order-$1-$2
  [ -s "$run.accuracy" ] && return
  rm -rf "$run"
  "$regard" train "$root/recipes/claims/order.toml" -q -t 1 --set "model.positions=$positions" --set "seed=$seed" \
    --set "data.train=[\"$folder/order.train.tsv\"]" --set "data.valid=[\"$folder/order.valid.tsv\"]" \
    --set "output.folder=$run"
  translated "$run" "$folder/order.valid.tsv"
}

# Print texts of four random words and FILLERS words "x", a tab, and the four words: copies FILLERS ROWS SEED
copies() {
  awk -v fillers="$1" -v rows="$2" -v seed="$3" 'BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
      words = "w" int(rand() * 8)
      for (j = 1; j < 4; j++) words = words " w" int(rand() * 8)
      line = words
      for (j = 0; j < fillers; j++) line = line " x"
      print line "\t" words
    }
  }'
}

# Print the fraction of held-out texts whose four words a translator copies without a mistake: copy NETWORK FILLERS SEED.
# NETWORK: transformer; attention (recurrent, with attention); gru or lstm (recurrent, without attention)
copy() {
  local network=$1 fillers=$2 seed=$3 run=$folder/copy-$1-$2-$3 more=()
  [ -s "$run.accuracy" ] && return
  case $network in
    transformer) more=(--set model.heads=2 --set model.feed_forward_size=64) ;;
    attention) more=(--set model.family=rnn-search --set model.cell=gru) ;;
    *) more=(--set model.family=rnn-search --set "model.cell=$network" --set model.attention=none) ;;
  esac
  rm -rf "$run"
  "$regard" train "$root/recipes/claims/copy.toml" -q -t 1 --set "seed=$seed" \
    --set "data.train=[\"$folder/copy-$fillers.train.tsv\"]" --set "data.valid=[\"$folder/copy-$fillers.valid.tsv\"]" \
    --set "output.folder=$run" "${more[@]}"
  translated "$run" "$folder/copy-$fillers.valid.tsv"
}

# Train a recurrent network on texts of 20 words by stochastic gradient descent: clip NORM SEED. NORM 0: no clipping
clip() {
  local norm=$1 seed=$2 run=$folder/clip-$1-$2
  [ -s "$run.accuracy" ] && return
  rm -rf "$run"
  "$regard" train "$root/recipes/claims/first-word.toml" -q -t 1 --set model.family=rnn --set "seed=$seed" \
    --set "data.train=[\"$folder/length-20.train.tsv\"]" --set "data.valid=[\"$folder/length-20.valid.tsv\"]" \
    --set training.optimizer=sgd --set training.learning_rate=0.1 --set "training.clip_norm=$norm" \
    --set training.max_steps=600 --set "output.folder=$run"
  accuracy "$run" >"$run.accuracy"
}

# Measure the processor seconds of 50 training steps of 1,920 words each, in texts of LENGTH words.
cost() {
  local family=$1 length=$2 run=$folder/cost-$1-$2 more=()
  [ -s "$run.seconds" ] && return
  [ "$family" = bert ] && more+=(--set model.layers=1 --set model.heads=2 --set model.feed_forward_size=64)
  rm -rf "$run"
  local TIMEFORMAT=%U
  { time "$regard" train "$root/recipes/claims/first-word.toml" -q -t 1 --set "model.family=$family" \
    --set "data.train=[\"$folder/cost-$length.tsv\"]" --set "data.valid=[\"$folder/cost-valid-$length.tsv\"]" \
    --set training.max_steps=50 --set validation.every_steps=50 --set "training.batch_size=$((1920 / length))" \
    --set "data.max_length=$((length + 2))" --set "output.folder=$run" "${more[@]}" >"$run.log" 2>&1; } 2>"$run.seconds.new"
  mv "$run.seconds.new" "$run.seconds"  # the file exists only if the run succeeded
}

# Print the number of weights, from a dry run.
parameters() {
  local family=$1 length=$2 more=()
  [ "$family" = bert ] && more+=(--set model.layers=1 --set model.heads=2 --set model.feed_forward_size=64)
  "$regard" train "$root/recipes/claims/first-word.toml" --dry-run -t 1 --set "model.family=$family" \
    --set "data.train=[\"$folder/cost-$length.tsv\"]" --set "data.valid=[\"$folder/cost-valid-$length.tsv\"]" \
    --set data.max_length=256 --set "output.folder=$folder/none" "${more[@]}" 2>&1 | sed -n 's|^parameters: ||p'
}

# list KEY: print "KEY": [the lines of standard input],
list() { printf ' "%s": [\n' "$1"; sed -n 's/^/  /; $!s/$/,/; p'; printf ' ],\n'; }

for length in 20 $lengths; do
  texts "$length" 4000 1 >"$folder/length-$length.train.tsv"
  texts "$length" 400 2 >"$folder/length-$length.valid.tsv"
done
for length in 20 60 240; do
  texts "$length" 400 1 >"$folder/cost-$length.tsv"
  texts "$length" 20 2 >"$folder/cost-valid-$length.tsv"
done
order_pairs 0 >"$folder/order.train.tsv"
order_pairs 1 >"$folder/order.valid.tsv"
for positions in sinusoidal none; do for seed in $seeds; do order "$positions" "$seed"; done; done
for length in 20 60 240; do for family in cnn rnn lstm gru bert; do cost "$family" "$length"; done; done
# next COMMAND…: run a command in the background, after one of JOBS earlier commands has ended
next() {
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
  "$@" &
}
for fillers in $distances; do
  copies "$fillers" 2000 1 >"$folder/copy-$fillers.train.tsv"
  copies "$fillers" 200 2 >"$folder/copy-$fillers.valid.tsv"
done
for seed in $seeds; do
  for norm in 0 1; do next clip "$norm" "$seed"; done
  for length in $lengths; do for family in $families; do next one "$family" "$length" "$seed"; done; done
  for fillers in $distances; do for network in $networks; do next copy "$network" "$fillers" "$seed"; done; done
done
wait

{
  machine=$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | sed 's/^ *//')
  printf '{\n "machine": "%s",\n "threads": 1,\n "first_word": [\n' "$machine"
  separator=""
  for length in $lengths; do
    for family in $families; do
      values=""
      for seed in $seeds; do values="$values${values:+, }$(cat "$folder/$family-$length-$seed.accuracy")"; done
      printf '%s  {"length": %s, "family": "%s", "seeds": [%s], "accuracy": [%s]}' "$separator" "$length" "$family" \
        "$(echo "$seeds" | sed 's/ /, /g')" "$values"
      separator=$',\n'
    done
  done
  printf '\n ],\n'
  for positions in sinusoidal none; do
    for seed in $seeds; do
      echo "{\"positions\": \"$positions\", \"seed\": $seed, \"right\": $(cat "$folder/order-$positions-$seed.accuracy")}"
    done
  done | list order
  for fillers in $distances; do
    for network in $networks; do
      values=""
      for seed in $seeds; do values="$values${values:+, }$(cat "$folder/copy-$network-$fillers-$seed.accuracy")"; done
      echo "{\"fillers\": $fillers, \"network\": \"$network\", \"right\": [$values]}"
    done
  done | list copy
  for norm in 0 1; do
    values=""
    for seed in $seeds; do values="$values${values:+, }$(cat "$folder/clip-$norm-$seed.accuracy")"; done
    echo "{\"clip_norm\": $norm, \"accuracy\": [$values]}"
  done | list clipping
  for length in 20 60 240; do
    for family in cnn rnn lstm gru bert; do
      echo "{\"family\": \"$family\", \"length\": $length, \"seconds\": $(cat "$folder/cost-$family-$length.seconds")}"
    done
  done | list training_cost
  for family in cnn rnn lstm gru bert; do
    echo "{\"family\": \"$family\", \"20\": $(parameters "$family" 20), \"240\": $(parameters "$family" 240)}"
  done | list parameters
  "$examples/03_why_not_fully_connected" | sed -n 's/^ten words into the layer for nine: \(.*\)/"\1"/p' | list fully_connected_error
  "$examples/13_gradient_by_distance" | list gradients
  "$examples/14_idioms" | list idioms
  "$examples/15_cost_by_length" | list inference_cost
  printf ' "bank": [\n'
  bank
  printf '\n ]\n}\n'
} >"$root/recipes/claims/results.json.new"
mv "$root/recipes/claims/results.json.new" "$root/recipes/claims/results.json"
python3 "$root/tools/draw_claims.py"
