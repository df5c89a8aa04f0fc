#!/usr/bin/env bash
# Puts small faults into the compiler, one at a time, and sees that the tests named for each find it within
# a minute: tests/mutants/*.ini has them, tests/mutants/mutants.py says how. Builds what they need first.
# Exit: 1 if a fault survives one of its tests, 2 if the list is wrong.
# Usage: mutants.sh [--list] [--few N] [NAME...]
#   NAME    those alone, * and ? allowed; without any, all: some ten minutes on two cores
#   --few N N of them, others each day of the year
#   --list  prints the names
# Environment: MICA_PRESET (default dev), MICA_JOBS (mutants at once, as many as CPUs).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${MICA_PRESET:-dev}
run=(python3 tests/mutants/mutants.py --build "build/$preset")
for argument in "$@"; do
  [[ $argument != --list && $argument != --help && $argument != -h ]] || exec "${run[@]}" "$@"
done
targets=$("${run[@]}" --targets "$@")
scripts/install_packages.sh test
# shellcheck disable=SC2086  # a list of targets
scripts/build.sh "$preset" $targets
exec "${run[@]}" "$@"
