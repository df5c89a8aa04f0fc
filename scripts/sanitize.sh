#!/usr/bin/env bash
# Builds and runs tests under a sanitizer: asan (addresses) and ubsan (undefined behaviour) the unit and
# error tests and, without a filter, a minute of random search, which counts as one test and draws other
# programs each day; tsan (threads) those unit tests in which threads or processes meet. Ends with the
# line "N passed, N failed, N skipped".
# Usage: sanitize.sh asan|ubsan|tsan [GoogleTest filter]
# Environment: MICA_SANITIZE_MINUTES, after which an unfinished build is given up and counted as one test
# skipped; the compiler's cache keeps what was compiled. Without it the build may take its time.
# MICA_SANITIZE_SHARE (1): one test in so many runs, others at each turn of the three sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?"usage: $0 asan|ubsan|tsan [filter]"}
case "$preset" in
  asan | ubsan) programs=(unit errors) ;;
  tsan) programs=(threads) ;;
  *) echo "usage: $0 asan|ubsan|tsan [filter]" >&2; exit 2 ;;
esac
filter=${2:-*}
[[ $preset != tsan && $filter == "*" ]] && search=true || search=false
build_programs=(scripts/build.sh "$preset" "${programs[@]/#/mica_test_}")
if $search; then build_programs+=(mica_cli); fi
if [[ -n ${MICA_SANITIZE_MINUTES:-} ]]; then
  status=0
  timeout "${MICA_SANITIZE_MINUTES}m" "${build_programs[@]}" || status=$?
  if [[ $status -eq 124 ]]; then
    echo "$preset: not built within $MICA_SANITIZE_MINUTES minutes"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
  fi
  [[ $status -eq 0 ]] || exit "$status"
else
  "${build_programs[@]}"
fi

# Each program runs in as many parts as there are jobs, several tests in one process: a process for each
# test would spend its time on loading LLVM.
build=$PWD/build/$preset
results=$build/sanitize
jobs=${MICA_JOBS:-$(nproc)}
share=${MICA_SANITIZE_SHARE:-1}
turn=$((10#$(date -u +%j) / 3 % share))  # the sanitizers take turns day by day
rm -rf "$results"
mkdir -p "$results"
export MICA_CACHE_DIR=$build/test_cache
# Leaks are not looked for: the condition of an RDom that names the domain's own dimensions keeps the domain
# alive, a few hundred bytes each. A request for more memory than there is gives none, as without it.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan_suppressions.txt:second_deadlock_stack=1:${TSAN_OPTIONS:-}

run_part() {  # program part
  local to=$results/$1.$2
  GTEST_TOTAL_SHARDS=$((jobs * share)) GTEST_SHARD_INDEX=$((jobs * turn + $2)) \
    "$build/bin/mica_test_$1" --gtest_filter="$filter" --gtest_output="xml:$to.xml" >"$to.log" 2>&1 ||
    echo "$?" >"$to.failed"
}

passed=0 failed=0 skipped=0
for program in "${programs[@]}"; do
  for ((part = 0; part < jobs; part++)); do run_part "$program" "$part" & done
  wait
done
for log in "$results"/*.log; do
  part=${log%.log}
  # The outcomes of the part's tests, as the results have them; none after a crash.
  attribute() {
    [[ ! -f $part.xml ]] || sed -n "/<testsuites /s/.* $1=\"\([0-9]*\)\".*/\1/p" "$part.xml" | head -n 1
  }
  tests=$(attribute tests) failures=$(attribute failures)
  skips=$(grep -c 'result="skipped"' "$part.xml" 2>/dev/null || true)
  # A report makes the program fail, even one that comes after the last test.
  [[ ! -f $part.failed || ${failures:-0} -gt 0 ]] || failures=1 tests=$((${tests:-0} + 1))
  [[ ! -f $part.failed ]] || { echo "$preset: $(basename "$part") failed:"; tail -n 200 "$log"; }
  failed=$((failed + ${failures:-0})) skipped=$((skipped + ${skips:-0}))
  passed=$((passed + ${tests:-0} - ${failures:-0} - ${skips:-0}))
done
if $search; then
  if "$build/bin/mica" fuzz --seconds 60 --target emulator --seed "$(date -u +%Y%j)0000" \
       >"$results/search" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$preset: the search found:"
    tail -n 200 "$results/search"
  fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
