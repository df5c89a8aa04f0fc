#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) over the sources that build/dev compiles.
# Usage: tidy.sh [file...]     (default: all; needs 16 or later)
set -euo pipefail
cd "$(dirname "$0")/.."

tool=
for version in 22 19 16; do
  tool=$(command -v "clang-tidy-$version") && break
done
[[ -n $tool ]] || { echo "no clang-tidy 16, 19 or 22: scripts/install_packages.sh tidy" >&2; exit 1; }
[[ -f build/dev/compile_commands.json ]] || cmake --preset dev

if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files '*.cpp' ':!tests/install' ':!bench/halide')
fi
printf '%s\0' "${files[@]}" |
  nice xargs -0 -n 1 -P "${MICA_JOBS:-$(nproc)}" "$tool" -p build/dev --quiet --warnings-as-errors='*'
