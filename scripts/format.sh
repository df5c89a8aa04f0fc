#!/usr/bin/env bash
# Formats the tracked C++ and CUDA sources with clang-format 14; with --check only says which differ.
# Usage: format.sh [--check] [file...]     Exit: 0 clean, 1 differences, 77 no clang-format 14
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
[[ ${1:-} == --check ]] && { mode=(--dry-run -Werror); shift; }
tool=$(command -v clang-format-14) || { echo "skipped: clang-format-14 is not installed"; exit 77; }
if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | while read -r f; do
                         [[ ! -f $f ]] || echo "$f"; done)
fi
[[ ${#files[@]} -eq 0 ]] || "$tool" "${mode[@]}" "${files[@]}"
