#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS [TARGET...]]: build and run the fuzz targets (default: all), each for SECONDS (default: 60).
# Seeds are the test data and fuzz/seeds. Inputs that reach new code are added to fuzz/corpus/TARGET. If a target fails,
# prints the path of the input and stops with a nonzero exit code.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
wanted=" $* "
build=build/fuzz
export LSAN_OPTIONS=suppressions=fuzz/library_leaks.txt
cmake --preset fuzz >/dev/null
targets=(safetensors config index pickle torch_file model_config tokenizer_json sentencepiece marian vocabulary_files encode
  word_vectors chat_template image sound table labelled request)
[[ $# -eq 0 ]] || targets=("$@")
cmake --build "$build" -j "$(nproc)" --target "${targets[@]/#/fuzz_}"

data=tests/data
run() { # run TARGET LENGTH FOLDER…: LENGTH is the longest input in bytes; the folders contain seeds
  local target=$1 longest=$2
  shift 2
  [[ $wanted == "  " || $wanted == *" $target "* ]] || return 0
  mkdir -p "fuzz/corpus/$target"
  echo "== fuzz $target for $seconds s"
  local dictionary=()
  [[ -f fuzz/$target.dict ]] && dictionary=(-dict="fuzz/$target.dict")
  "$build/bin/fuzz_$target" "${dictionary[@]}" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="fuzz/finding-$target-" "fuzz/corpus/$target" "$@"
}
run safetensors 4096 $data/safetensors/good $data/safetensors/bad
run config 4096 $data/config-bad
run index 1024 fuzz/seeds/index
run model_config 256 fuzz/seeds/model_config
run pickle 2048 fuzz/seeds/pickle
run torch_file 4096 $data/torch
run tokenizer_json 4096 fuzz/seeds/tokenizer_json
run sentencepiece 4096 fuzz/seeds/sentencepiece
run marian 8192 fuzz/seeds/marian
run vocabulary_files 4096 fuzz/seeds/vocabulary_files
run encode 512 fuzz/seeds/encode
run word_vectors 2048 fuzz/seeds/word_vectors
run chat_template 2048 $data/chat-templates/templates
run image 4096 fuzz/seeds/image
run sound 4096 fuzz/seeds/sound
run table 4096 fuzz/seeds/table
run labelled 4096 fuzz/seeds/labelled
run request 1024 fuzz/seeds/request
