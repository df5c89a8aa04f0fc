#!/usr/bin/env bash
# Packs Mica's programs for a machine with a GPU and nothing else: no LLVM, no CUDA toolkit, no
# packages; glibc 2.36 or later and the NVIDIA driver are enough. For cluster nodes and containers.
#
#   tools/gpu_bundle.sh [output]          default output: build/bundle/mica-bundle.tar.xz
#                                         (.tar.gz, larger, for machines without xz)
#
# On the other machine, with run_gpu_tests.sh (written beside the output) next to the bundle:
#
#   ./run_gpu_tests.sh                    unpacks, runs the tests labelled gpu, prints a summary
#   ./run_gpu_tests.sh numeric gpu perf   the same for other labels
#   tar xJf mica-bundle.tar.xz && mica-bundle/bin/mica --help
#
# Inside: bin/ (the mica tool, mica_test_<label>, the examples), lib/ (libmica.so with LLVM in it, and
# the shared libraries it needs), twins/ (CUDA kernels to time against, when nvcc was present).
set -euo pipefail
cd "$(dirname "$0")/.."

output=$(realpath -m "${1:-build/bundle/mica-bundle.tar.xz}")
build=build/bundle
scripts/install_packages.sh test
scripts/build.sh bundle

stage=$build/stage/mica-bundle
rm -rf "$build/stage"
mkdir -p "$stage/bin" "$stage/lib"
cp "$build"/bin/* "$stage/bin/"
cp "$build"/lib/libmica.so.? "$build"/lib/libfakecuda*.so "$stage/lib/"
cp tools/run_gpu_tests.sh "$stage/"
if compgen -G "$build/twins/*.cubin" >/dev/null; then
  mkdir "$stage/twins"
  cp "$build"/twins/*.cubin "$stage/twins/"
fi

# Everything but glibc (libc, libm, the loader, ...) and libmica itself travels along.
ldd "$stage"/bin/* "$stage"/lib/* | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
  grep -vE '^(libc|libm|libdl|librt|libpthread|libmica)\.so' |
  while read -r name path; do cp -L "$path" "$stage/lib/$name"; done
strip --strip-unneeded "$stage"/bin/* "$stage"/lib/*

newest=$(objdump -T "$stage"/bin/* "$stage"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
mkdir -p "$(dirname "$output")"
compress=(xz -6 -T0)
[[ $output == *.gz ]] && compress=(gzip -9)
tar -C "$build/stage" --sort=name --owner=0 --group=0 -c mica-bundle | "${compress[@]}" >"$output.part"
mv "$output.part" "$output"
[[ $(dirname "$output") -ef tools ]] || cp tools/run_gpu_tests.sh "$(dirname "$output")/"
echo "$output: $(du -h "$output" | cut -f1), needs ${newest/_/ }"
