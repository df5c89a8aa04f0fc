#!/usr/bin/env bash
# Counts the bytes that a case's kernels move, with NVIDIA Nsight Compute, beside those that Mica predicts:
# one line a kernel and level of memory, Mica's kernels and the twin's.
#
#   tools/measure_traffic.sh CASE [--size N]      e.g. tools/measure_traffic.sh seismic/z-window --size 512
#
# Environment: MICA, the program (default: build/release/bin/mica, else build/dev/bin/mica, else mica on
# PATH); NCU, Nsight Compute's command line (default: ncu on PATH, else /usr/local/cuda/bin/ncu).
# Exit: 0 measured, 1 something failed, 77 no Nsight Compute.
#
# Predictions are read from `mica traffic CASE --size N`, which prints
#   {"kernels": [{"name": ..., "l1_read": ..., "l1_write": ..., "l2_read": ..., "l2_write": ...,
#                 "dram_read": ..., "dram_write": ...}]}
# with the kernels' names as they are launched and all else in bytes of one launch. A number that is
# missing, or all when the tool has no such command, is shown as "-".
#
# Counted are, of a kernel's last launch: l1, bytes of global loads and stores that the L1 cache served;
# l2, 32-byte sectors read and written by the multiprocessors; dram, bytes of device memory (what a kernel
# wrote last is still in the L2 when it ends: up to its size less is counted than was written).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

case_name=${1:-}
[[ -n $case_name && $case_name != -* ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 1; }
shift
size=()
if [[ ${1:-} == --size ]]; then
  [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "--size takes a number of points" >&2; exit 1; }
  size=(--size "$2")
  shift 2
fi
[[ $# -eq 0 ]] || { echo "unknown argument: $1" >&2; exit 1; }

first_program() {
  for program in "$@"; do
    command -v "$program" && return
  done
  return 1
}
ncu=$(first_program "${NCU:-ncu}" ${NCU:-/usr/local/cuda/bin/ncu}) ||
  { echo "Nsight Compute (ncu) is not installed: nothing was counted"; exit 77; }
mica=$(first_program "${MICA:-$here/build/release/bin/mica}" ${MICA:-"$here/build/dev/bin/mica" mica}) ||
  { echo "there is no mica program: build it or name it in MICA" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$mica" traffic "$case_name" "${size[@]}" >"$work/predicted.json" 2>"$work/traffic.log" ||
  { echo "no predictions: \`mica traffic\` says: $(head -n 1 "$work/traffic.log")"; : >"$work/predicted.json"; }

metrics=l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum,l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum
metrics+=,lts__t_sectors_srcunit_tex_op_read.sum,lts__t_sectors_srcunit_tex_op_write.sum,dram__bytes_read.sum,dram__bytes_write.sum
"$ncu" --csv --print-units base --metrics "$metrics" --log-file "$work/counted.csv" \
       "$mica" bench "$case_name" "${size[@]}" --runs 1 >"$work/bench.log" 2>&1 ||
  { cat "$work/bench.log" "$work/counted.csv" >&2 2>/dev/null; echo "ncu failed" >&2; exit 1; }

# One object a line, then "name level_direction bytes".
tr -d ' \n' <"$work/predicted.json" | { grep -o '{[^{}]*"name"[^{}]*}' || true; } |
  awk '{
    if (!match($0, /"name":"[^"]*"/)) next
    name = substr($0, RSTART + 8, RLENGTH - 9)
    n = split("l1_read l1_write l2_read l2_write dram_read dram_write", keys, " ")
    for (i = 1; i <= n; ++i)
      if (match($0, "\"" keys[i] "\":[0-9.e+]+"))
        print name, keys[i], substr($0, RSTART + length(keys[i]) + 3, RLENGTH - length(keys[i]) - 3)
  }' >"$work/predicted.txt"

# ncu's table has every field in quotes, numbers with commas between thousands.
awk -F '","' -v predicted="$work/predicted.txt" '
  BEGIN {
    while ((getline line <predicted) > 0) {
      split(line, p, " "); expected[p[1], p[2]] = p[3]
      if (p[2] ~ /^dram/) expected[p[1], "dram"] += p[3]
    }
    key["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"] = "l1_read"
    key["l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum"] = "l1_write"
    key["lts__t_sectors_srcunit_tex_op_read.sum"] = "l2_read";  unit["l2_read"] = 32
    key["lts__t_sectors_srcunit_tex_op_write.sum"] = "l2_write"; unit["l2_write"] = 32
    key["dram__bytes_read.sum"] = "dram_read"
    key["dram__bytes_write.sum"] = "dram_write"
  }
  /^"/ && !heading {
    for (i = 1; i <= NF; ++i) { field = $i; gsub(/"/, "", field); column[field] = i }
    heading = 1
    next
  }
  /^"/ {
    name = $column["Kernel Name"]; sub(/\(.*/, "", name)
    metric = $column["Metric Name"]; value = $column["Metric Value"]
    gsub(/[",]/, "", value)
    if (!(metric in key)) next
    level = key[metric]
    if (!(name in seen)) { seen[name] = 1; names[++count] = name }
    counted[name, level] = value * (level in unit ? unit[level] : 1)
  }
  END {
    if (count == 0) { print "no kernel was counted"; exit 1 }
    format = "%-36s %-11s %16s %16s %8s\n"
    printf format, "kernel", "level", "predicted", "counted", "ratio"
    n = split("l1_read l1_write l2_read l2_write dram_read dram_write dram", levels, " ")
    for (k = 1; k <= count; ++k) {
      counted[names[k], "dram"] = counted[names[k], "dram_read"] + counted[names[k], "dram_write"]
      for (i = 1; i <= n; ++i) {
        at = names[k] SUBSEP levels[i]
        guess = (at in expected) ? sprintf("%.0f", expected[at]) : "-"
        found = (at in counted) ? sprintf("%.0f", counted[at]) : "-"
        ratio = (guess != "-" && found != "-" && guess > 0) ? sprintf("%.3f", found / guess) : "-"
        printf format, names[k], levels[i], guess, found, ratio
      }
    }
  }' "$work/counted.csv"
