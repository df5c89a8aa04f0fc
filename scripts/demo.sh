#!/usr/bin/env bash
# From a fresh Debian 12 to pictures: installs packages, builds the examples and runs them.
# Usage: demo.sh [velocity model]
#   The velocity model is a raw file of 32-bit floats, 401 rows of 1601 (Marmousi, say); without one
#   wave2d uses its built-in layered model. Runs on the GPU when there is one, else on the CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:+$(realpath "$1")}

scripts/install_packages.sh demo
scripts/build.sh release wave2d blur

pictures=$PWD/build/demo
mkdir -p "$pictures"
build/release/bin/wave2d --output "$pictures" ${model:+--velocity "$model"}
build/release/bin/blur --output "$pictures"

echo
echo "Pictures:"
find "$pictures" -name '*.png' -newer scripts/demo.sh | sort
