#!/usr/bin/env bash
# Check that every C++ file is formatted by clang-format-16.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.cpp' '*.h' |
  xargs -n 200 -P "$(nproc)" clang-format-16 --dry-run --Werror && echo "format: clean"
