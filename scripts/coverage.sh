#!/usr/bin/env bash
# Builds with counters (preset coverage), runs the tests and prints, folder by folder, which share of the
# library's lines ran; the last line is that of all folders. Exit: 1 below 90 % there or with a failed test.
# build/coverage/lines.txt lists every file with the lines that did not run. Two things are not counted: runtime/export,
# in C, which is built without counters for the programs of others, and what processes have run that end by a
# signal or _Exit, as those of many tests of the driver do.
# Usage: coverage.sh [ctest arguments]     (default: all tests but perf, install, lint and soak)
set -euo pipefail
cd "$(dirname "$0")/.."

least=90  # percent
folders=(dsl runtime codegen schedules)
build=build/coverage

scripts/install_packages.sh coverage
scripts/build.sh coverage
find "$build" -name '*.gcda' -delete
[[ $# -gt 0 ]] || set -- -LE 'perf|install|lint|soak'
status=0
nice ctest --test-dir "$build" --parallel "${MICA_JOBS:-$(nproc)}" --output-on-failure --no-tests=error \
     "$@" || status=$?

trace=$build/trace.json
filters=()
for folder in "${folders[@]}"; do filters+=(--filter "$folder/"); done
nice gcovr --root . --object-directory "$build" -j "${MICA_JOBS:-$(nproc)}" "${filters[@]}" \
     --exclude-unreachable-branches --json "$trace" "$build"
gcovr --root . --add-tracefile "$trace" --txt "$build/lines.txt"
summary() { gcovr --root . --add-tracefile "$trace" --print-summary --txt /dev/null "$@" | grep '^lines:'; }
for folder in "${folders[@]}"; do echo "$folder/ $(summary --filter "$folder/")"; done
echo "all $(summary)"
gcovr --root . --add-tracefile "$trace" --txt /dev/null --fail-under-line "$least" || status=1
exit "$status"
