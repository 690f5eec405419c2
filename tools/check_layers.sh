#!/usr/bin/env bash
# Check the include order: each directory of src/ may include the directories listed for it
# in the table below and, transitively, those that they may include. Also check that namespace regard itself has only
# the public API: it is opened only by src/api and by the files of lower directories that define public types. The
# presets that build only some directories must build those that these include. Prints every violation; exits 1 if
# there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

# "asan:base;tensor tsan:base;kernels": the presets with a list of directories
presets=$(awk -F'"' '$2 == "name" { name = $4 } $2 == "REGARD_DIRECTORIES" { print name ":" $4 }' CMakePresets.json | tr '\n' ' ')

git ls-files -co --exclude-standard 'src/*.h' 'src/*.cpp' | xargs awk -v presets="$presets" '
BEGIN {
  # directory: directories that it may include directly
  may["base"] = ""; may["distributed"] = "base"; may["kernels"] = "base"; may["tensor"] = "base"; may["ops"] = "tensor kernels";
  may["nn"] = "ops"; may["formats"] = "tensor"; may["text"] = "base"; may["metrics"] = "text"; may["vectors"] = "text kernels tensor metrics"; may["models"] = "nn formats";
  may["data"] = "text tensor kernels"; may["demo"] = "base"; may["infer"] = "models data"; may["tasks"] = "infer metrics"; may["train"] = "infer vectors metrics tasks distributed"; may["inspect"] = "infer metrics"; may["report"] = "base";
  may["evaluate"] = "train tasks"; may["serve"] = "api inspect tasks"; may["api"] = "train inspect tasks"; may["cli"] = "demo distributed api serve train inspect tasks report evaluate";
  for (directory in may) reach(directory, directory);
  for (i = split(presets, lists, " "); i > 0; --i) {
    split(lists[i], pair, ":"); preset[pair[1]] = 1;
    for (j = split(pair[2], names, ";"); j > 0; --j) built[pair[1], names[j]] = 1;
  }
  # public headers and the directory that implements them; default: api
  split("src/base/error.cpp src/tensor/tensor.cpp src/tensor/dtype.cpp", files, " ");
  for (i in files) public[files[i]] = 1;
  owner["error.h"] = "base"; owner["head.h"] = "base"; owner["tensor.h"] = "tensor"; owner["attention.h"] = "tensor";  # plain data
}
function reach(from, directory,   n, i, next_ones) {
  if ((from, directory) in allowed) return;
  allowed[from, directory] = 1;
  n = split(may[directory], next_ones, " ");
  for (i = 1; i <= n; ++i) reach(from, next_ones[i]);
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
  split(FILENAME, part, "/"); directory = part[2];
  match($0, /"[^"]+"/); target = substr($0, RSTART + 1, RLENGTH - 2);
  split(target, where, "/"); aimed = where[1];
  if (aimed == "regard") aimed = (where[2] in owner) ? owner[where[2]] : "api";
  if (!(directory in may)) { print FILENAME ": src/" directory " is not in the table of directories"; bad = 1 }
  else if (!(aimed in may)) { print FILENAME ":" FNR ": \"" target "\" is in no directory; write directory/file.h"; bad = 1 }
  else if (!((directory, aimed) in allowed)) { print FILENAME ":" FNR ": " directory " may not include " aimed " (" target ")"; bad = 1 }
  for (name in preset)
    if ((name, directory) in built && !((name, aimed) in built) && aimed in may) {
      print "CMakePresets.json: preset " name " builds " directory ", but not " aimed " (" FILENAME ":" FNR ")"; bad = 1
    }
}
/^(inline )?namespace regard \{/ && FILENAME !~ /^src\/api\// && !(FILENAME in public) {
  split(FILENAME, part, "/"); print FILENAME ":" FNR ": expected namespace regard::" part[2] ", found regard"; bad = 1
}
END { exit bad }
' && echo "layers: includes go downwards only; internals are in the namespaces of their directories; presets build all that they include"
