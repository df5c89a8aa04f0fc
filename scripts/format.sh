#!/usr/bin/env bash
# Formats the C++ and CUDA sources, new ones too, with clang-format 14; with --check only says which
# differ.
# Usage: format.sh [--check] [file...]     Exit: 0 clean, 1 differences, 77 no clang-format 14
set -euo pipefail
cd "$(dirname "$0")/.."

check=false
[[ ${1:-} == --check ]] && { check=true; shift; }
tool=$(command -v clang-format-14) || { echo "skipped: clang-format-14 is not installed"; exit 77; }
if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <((git ls-files -co --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh' 2>/dev/null ||
                        find . -path ./build -prune -o -regex '.*\.\(h\|cpp\|cu\|cuh\)' -print) |
                       while read -r file; do [[ ! -f $file ]] || echo "$file"; done)
fi
[[ ${#files[@]} -gt 0 ]] || exit 0
$check || exec "$tool" -i "${files[@]}"

mapfile -t unformatted < <("$tool" --dry-run -Werror "${files[@]}" 2>&1 |
                           sed -n 's/:[0-9]*:[0-9]*: error: code should be clang-formatted.*//p' | sort -u)
[[ ${#unformatted[@]} -gt 0 ]] || exit 0
printf 'not formatted: %s\n' "${unformatted[@]}"
echo "scripts/format.sh formats them"
exit 1
