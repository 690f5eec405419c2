#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS]: builds the fuzz targets and runs each for so long (60). Inputs that reach new code are
# kept in fuzz/corpus/TARGET, beside the seeds that the tests and fuzz/seeds give. Exits 1 at a finding and says where its input is.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
build=build/fuzz
cmake --preset fuzz >/dev/null
cmake --build "$build" -j "$(nproc)" --target fuzz_{safetensors,config,index,pickle,torch_file,tokenizer_json,sentencepiece,vocabulary_files,encode}

data=tests/data
run() { # target, longest input in bytes, folders of seeds
  local target=$1 longest=$2
  shift 2
  mkdir -p "fuzz/corpus/$target"
  echo "== fuzz $target for $seconds s"
  "$build/bin/fuzz_$target" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="fuzz/finding-$target-" "fuzz/corpus/$target" "$@"
}
run safetensors 4096 $data/safetensors/good $data/safetensors/bad
run config 4096 $data/config-bad
run index 1024 fuzz/seeds/index
run pickle 2048 fuzz/seeds/pickle
run torch_file 4096 $data/torch
run tokenizer_json 4096 fuzz/seeds/tokenizer_json
run sentencepiece 4096 fuzz/seeds/sentencepiece
run vocabulary_files 4096 fuzz/seeds/vocabulary_files
run encode 512 fuzz/seeds/encode
