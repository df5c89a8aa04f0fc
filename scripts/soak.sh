#!/usr/bin/env bash
# Lets Mica work for a long time: first in processes and threads that share a kernel cache and a tune store and
# are killed and started again, then launching without a pause on a GPU, if there is one. Every result is
# compared bit by bit with that of an undisturbed computation. Prints figures of both and ends with 1 if
# anything is wrong: a bit, a lost or damaged entry, a crash, a hang, memory that grows.
# Usage: soak.sh [minutes] [mica_soak options]     (default: 10, for each of the two; mica_soak --help has them)
# Environment: MICA_PRESET (default dev; asan and tsan look for more, and do not judge memory).
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-10}
shift || true
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]] || { echo "usage: $0 [minutes] [mica_soak options]" >&2; exit 2; }
preset=${MICA_PRESET:-dev}
scripts/install_packages.sh test
scripts/build.sh "$preset" mica_soak
seconds=$(awk "BEGIN {print $minutes * 60}")
export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan_suppressions.txt:halt_on_error=1:history_size=7:${TSAN_OPTIONS:-}
# What oneTBB's threads hand to each other looks like races to the thread sanitizer; the soak's own are enough.
[[ $preset != tsan ]] || export MICA_NUM_THREADS=${MICA_NUM_THREADS:-1}

status=0
"build/$preset/bin/mica_soak" --seconds "$seconds" "$@" || status=1
if [[ -e /dev/nvidiactl ]]; then
  "build/$preset/bin/mica_soak" --gpu --seconds "$seconds" || status=1
fi
exit "$status"
