#!/usr/bin/env bash
# From a fresh Debian 12 to pictures: installs packages, builds the examples and runs them.
# Usage: demo.sh [velocity file]
#   The file holds float32 velocities of a 1601 x 401 section, depth fastest (raw or NPY; Marmousi,
#   say); without one wave2d uses its built-in layered model. Runs on the GPU when there is one, else on
#   the CPU.
set -euo pipefail
model=${1:+$(realpath -e "$1")}
cd "$(dirname "$0")/.."

scripts/install_packages.sh demo
scripts/build.sh release wave2d blur

pictures=$PWD/build/demo
mkdir -p "$pictures"
build/release/bin/wave2d --picture "$pictures/wave2d.png" ${model:+--model "$model"}
build/release/bin/blur --picture "$pictures/blur.png"

echo
echo "Pictures: $pictures/wave2d.png $pictures/blur.png"
