#!/usr/bin/env bash
# Every C++ file is as clang-format-16 writes it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.cpp' '*.h' | xargs clang-format-16 --dry-run --Werror && echo "format: clean"
