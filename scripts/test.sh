#!/usr/bin/env bash
# Installs what the tests need (Debian 12), builds everything, runs all tests and ends with the
# line "N passed, N failed, N skipped".
# Usage: test.sh [ctest arguments]     e.g. test.sh -L numeric
# Environment: MICA_PRESET (dev, release, asan, tsan; default dev), MICA_DATA_DIR (data files that
# some tests read, such as a velocity model; those tests are skipped without it).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${MICA_PRESET:-dev}
scripts/install_packages.sh test
scripts/build.sh "$preset"

results=build/$preset/test_results.xml
rm -f "$results"
status=0
ctest --test-dir "build/$preset" --parallel "${MICA_JOBS:-$(nproc)}" --output-on-failure --no-tests=error \
      --output-junit "$PWD/$results" "$@" || status=$?

[[ -f $results ]] || exit "$status"
count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$results" | head -n 1; }
total=$(count tests) failed=$(count failures)
skipped=$(($(count skipped) + $(count disabled)))
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit "$status"
