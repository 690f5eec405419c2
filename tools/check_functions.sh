#!/usr/bin/env bash
# Check every function: at most 60 lines from its signature to its closing brace. Also check that no name is declared in the
# anonymous namespaces of two files of one directory: `make` compiles the files of a directory together (cmake/unity.cmake).
set -euo pipefail
cd "$(dirname "$0")/.."
alone=$(sed -n 's/^set(REGARD_UNITY_ALONE "\(.*\)")$/\1/p' cmake/unity.cmake)
git ls-files -co --exclude-standard 'src/*.h' 'src/*.cpp' 'bench/*.cpp' 'tests/*.h' 'tests/*.cpp' 'examples/*.cpp' 'include/*.h' |
  xargs awk -v alone="$alone" -f tools/check_functions.awk && echo "functions: at most 60 lines, names differ within a directory"
