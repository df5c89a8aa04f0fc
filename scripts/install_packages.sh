#!/usr/bin/env bash
# Installs the Debian packages that a use of Mica needs; does nothing when all are there.
# Usage: install_packages.sh [demo|test|tidy|coverage]     (default: test)
set -euo pipefail

demo=(g++ cmake ninja-build ccache lld llvm-22-dev libzstd-dev zlib1g-dev libtbb-dev libpng-dev libcairo2-dev fonts-dejavu-core
      nlohmann-json3-dev libsqlite3-dev libboost-context-dev libspdlog-dev libfmt-dev libcli11-dev libbenchmark-dev libgtest-dev librapidcheck-dev)
test=("${demo[@]}" git clang-format-14 pkg-config dpkg-dev doxygen pybind11-dev python3-dev python3-numpy)
tidy=("${test[@]}" clang-tidy-22)
coverage=("${test[@]}" gcovr)

case "${1:-test}" in
  demo) wanted=("${demo[@]}") ;;
  test) wanted=("${test[@]}") ;;
  tidy) wanted=("${tidy[@]}") ;;
  coverage) wanted=("${coverage[@]}") ;;
  *) echo "usage: $0 [demo|test|tidy|coverage]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
as_root+=(env DEBIAN_FRONTEND=noninteractive)
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
