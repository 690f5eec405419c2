#!/usr/bin/env bash
# tools/packages.sh GROUP: install the missing packages of GROUP (packages.txt) and print their names. Takes a few
# milliseconds if none is missing. Without dpkg, only prints the packages that are needed.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:?usage: tools/packages.sh GROUP}

mapfile -t wanted < <(awk -v group="$group" '!/^#/ && $2 == group { print $1 }' packages.txt)
if ! command -v dpkg-query >/dev/null; then
  echo "packages: this system has no dpkg; install the equivalents of these Debian packages:" >&2
  printf '  %s\n' "${wanted[@]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' | awk '$1 == "installed" { print $2 }')
missing=()
for package in "${wanted[@]}"; do
  grep -qxE "${package//+/\\+}(:$(dpkg --print-architecture))?" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "== install from the distribution: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "packages: not root and no sudo; run: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
# Two groups may be installed at the same time, and apt-get does not wait for another apt-get.
exec 9>"${TMPDIR:-/tmp}/regard-packages.lock"
flock 9
if printf '%s\n' "${missing[@]}" | grep -q ':arm64$'; then
  "${as_root[@]}" dpkg --add-architecture arm64
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
