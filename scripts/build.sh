#!/usr/bin/env bash
# Configures a preset when needed and builds it in build/<preset>. One build of a preset runs at a
# time; a second one waits for it.
# Usage: build.sh [preset] [target...]     (default: dev, everything)
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-dev}
shift || true
mkdir -p "build/$preset"
exec 9>"build/$preset/.lock"
flock 9
[[ -f build/$preset/build.ninja ]] || cmake --preset "$preset" ${MICA_CMAKE_ARGS:-}
nice cmake --build "build/$preset" --parallel "${MICA_JOBS:-$(nproc)}" ${1:+--target "$@"} 9>&-
