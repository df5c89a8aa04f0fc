#!/usr/bin/env bash
# Runs the tests of a bundle made by gpu_bundle.sh, from inside it or beside mica-bundle.tar.xz (or .gz), and
# ends with the line "N passed, N failed, N skipped".
# Usage: run_gpu_tests.sh [label...]     (default: gpu)
# Environment: MICA_JOBS, processes at a time (default 4; perf tests always run one at a time);
# MICA_TEST_FILTER, a --gtest_filter.
# Every test suite runs in a process of its own, so a fault on the device ends no other suite.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MICA_CACHE_DIR=$work/cache
if [[ ! -d $here/bin ]]; then
  tar -C "$work" -xf "$(ls -t "$here"/mica-bundle.tar.?z | head -n 1)" || exit 1
  here=$work/mica-bundle
fi

run_suite() {  # program suite log
  local start=$SECONDS status=0
  { "$1" --gtest_filter="$2" || status=$?; } >"$3" 2>&1
  local passed failed skipped
  passed=$(grep -c '^\[       OK \]' "$3")
  skipped=$(grep -cE '^\[  SKIPPED \].* \([0-9]+ ms\)$' "$3")
  failed=$(grep -cE '^\[  FAILED  \].* \([0-9]+ ms\)$' "$3")
  # A process that dies leaves its last test without a result.
  [[ $status -ne 0 && $failed -eq 0 ]] && failed=1
  echo "$passed $failed $skipped" >"$3.count"
  {
    echo "$(basename "$1") $2: $passed passed, $failed failed, $skipped skipped ($((SECONDS - start)) s)"
    if [[ $failed -gt 0 ]]; then
      echo "--- exit $status"
      tail -n 60 "$3"
      echo "---"
    fi
  } >"$3.report"
  cat "$3.report"
}
export -f run_suite

labels=("$@")
[[ $# -gt 0 ]] || labels=(gpu)
for label in "${labels[@]}"; do
  program=$here/bin/mica_test_$label
  if [[ ! -x $program ]]; then
    echo "no tests labelled $label in this bundle"
    echo "0 1 0" >"$work/$label.count"
    continue
  fi
  jobs=${MICA_JOBS:-4}
  [[ $label == perf ]] && jobs=1
  # Lines of --gtest_list_tests: "Suite." or "  test"; a filter becomes one per suite.
  "$program" --gtest_list_tests --gtest_filter="${MICA_TEST_FILTER:-*}" | grep -v '^Running main' |
    awk -v filter="${MICA_TEST_FILTER:-}" '
      /^[^ ]/ {suite = $1; if (filter == "") print suite "*"; next}
      filter != "" {tests[suite] = tests[suite] (tests[suite] == "" ? "" : ":") suite $1}
      END {for (suite in tests) print tests[suite]}' |
    awk -v log_prefix="$work/$label" '{print $0; print log_prefix "." NR ".log"}' |
    xargs -r -d '\n' -n 2 -P "$jobs" bash -c 'run_suite "$0" "$1" "$2"' "$program"
done

cat "$work"/*.count 2>/dev/null |
  awk '{p += $1; f += $2; s += $3}
       END {print p + 0 " passed, " f + 0 " failed, " s + 0 " skipped"; exit f > 0 || p + s == 0}'
