#!/usr/bin/env bash
# tools/check_viewer.sh PROGRAM: check, test and build viewer/, compare the result with viewer/page.html, and open pages that
# PROGRAM writes in Chromium.
# tools/check_viewer.sh --speed: measure how fast Chromium opens and scrolls pages.
set -euo pipefail
program=${1:?usage: tools/check_viewer.sh PROGRAM, or --speed}
[ "$program" = --speed ] || program=$(realpath "$program")
cd "$(dirname "$0")/../viewer"
command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' || {
  echo "viewer: Node.js 20.19 or later with npm is needed" >&2
  exit 1
}
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
[ -d node_modules ] && cmp -s package-lock.json node_modules/.package-lock.source || {
  npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.package-lock.source
}
if [ "$program" = --speed ]; then
  exec node_modules/.bin/playwright test --project speed --workers 1
fi
npm run --silent check
npm test --silent
node_modules/.bin/vite build --logLevel warn
cmp dist/index.html page.html || { echo "viewer/page.html is not what viewer/ builds: run npm run build there" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Use an encoder with a tokenizer and several heads, and a pair of texts.
"$program" attend ../tests/data/hf-more/bert-nli "Green and blue." --pair "A <b> & green." --html "$scratch/page.html" --json -q >"$scratch/capture.json"
REGARD="$program" PAGE="$scratch/page.html" CAPTURE="$scratch/capture.json" node_modules/.bin/playwright test --project pages
echo "viewer: page.html is current; tests passed"
