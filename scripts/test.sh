#!/usr/bin/env bash
# Installs what the tests need (Debian 12), builds everything, runs all tests, then two mutants (others each
# day; scripts/mutants.sh) and some tests again under a sanitizer, and ends with the line "N passed, N failed,
# N skipped" of all.
# Usage: test.sh [ctest arguments]     e.g. test.sh -L numeric
# Environment: MICA_PRESET (dev, release, asan, ubsan, tsan; default dev), MICA_SANITIZE_TESTS (asan, ubsan,
# tsan or none; by default the three take turns, a day of the year each, and none where ctest arguments
# or a preset of a sanitizer are given), MICA_TEST_MINUTES (what all of it should take, 33),
# MICA_SANITIZE_MINUTES (what the sanitizer's build may take of it: by default what is left, 1 to 9; a
# build that is not done by then counts as one test skipped, and the compiler's cache keeps what it made),
# MICA_SANITIZE_SHARE (2: every other of the sanitizer's tests runs; 1: all),
# MICA_DATA_DIR (data files that some tests read, such as a velocity model; those tests are skipped
# without it).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${MICA_PRESET:-dev}
if [[ $# -gt 0 || $preset == *san ]]; then
  sanitizer=none
else
  turns=(asan ubsan tsan)
  sanitizer=${turns[$((10#$(date -u +%j) % 3))]}
fi
sanitizer=${MICA_SANITIZE_TESTS:-$sanitizer}
[[ $sanitizer =~ ^(asan|ubsan|tsan|none)$ ]] ||
  { echo "MICA_SANITIZE_TESTS is \"$sanitizer\": it may be asan, ubsan, tsan or none" >&2; exit 2; }
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
passed=$((total - failed - skipped))

# The mutants of the day count as one test. A minute on two cores; with ten minutes left there are none.
if [[ $# -eq 0 && $preset == dev ]]; then
  mutants=0
  if ((SECONDS / 60 + 10 <= ${MICA_TEST_MINUTES:-33})); then
    timeout 4m scripts/mutants.sh --few 2 || mutants=$?
  else
    mutants=124
  fi
  case $mutants in
    0) passed=$((passed + 1)) ;;
    124) echo "skipped: the time is too short for mutants"; skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) status=1 ;;
  esac
fi

if [[ $sanitizer != none ]]; then
  log=build/sanitize.log
  # Three minutes are kept for the tests that were built; with asan on two cores all of them took nine, so
  # that every other one runs.
  left=$((${MICA_TEST_MINUTES:-33} - SECONDS / 60 - 3))
  left=$((left > 9 ? 9 : left < 1 ? 1 : left))
  MICA_SANITIZE_MINUTES=${MICA_SANITIZE_MINUTES:-$left} MICA_SANITIZE_SHARE=${MICA_SANITIZE_SHARE:-2} \
    scripts/sanitize.sh "$sanitizer" 2>&1 | tee "$log" || status=1
  # A build that was given up may write to the log after its last line.
  summary=$(grep -Ex '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1 || true)
  if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    echo "Of these under $sanitizer: ${BASH_REMATCH[0]}"
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
  else
    echo "The tests under $sanitizer could not be built or run"
    failed=$((failed + 1))
  fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
