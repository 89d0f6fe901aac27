#!/usr/bin/env bash
# Compares sonde with NVIDIA's own readers on the same report, in one run. Needs ncu (no GPU).
#
#   make bench-tools && bench/import.sh REPORT.ncu-rep [BUILD]
#
# Medians of 5 repetitions each (sonde: 21), interleaved.
set -eu
report=${1:?usage: bench/import.sh REPORT.ncu-rep [BUILD]}
build=${2:-build}
ncu_dir=$(dirname "$(readlink -f "$(command -v ncu)")")
python_dir=$(find "$ncu_dir" "$ncu_dir/.." /opt/nvidia/nsight-compute -path '*extras/python*' -name ncu_report.py -printf '%h\n' -quit 2>/dev/null || true)

median() { sort -g | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
once() { "$build/bench/watch" "$@" | cut -d' ' -f1; }

read_all='
import sys, ncu_report
c = ncu_report.load_report(sys.argv[1])
n = 0
for r in range(c.num_ranges()):
    g = c.range_by_idx(r)
    for a in range(g.num_actions()):
        k = g.action_by_idx(a)
        for name in k.metric_names():
            k.metric_by_name(name).value()
            n += 1
print(n)
'
s= p= y=
for _ in 1 2 3 4 5; do
	for _ in 1 2 3 4; do s="$s $(once "$build/sonde" report --format json "$report")"; done
	p="$p $(once ncu --import "$report" --csv --page raw --print-summary per-nvtx)"
	[ -z "$python_dir" ] || y="$y $(PYTHONPATH=$python_dir once python3 -c "$read_all" "$report")"
done
ms() { awk -v u="$1" 'BEGIN {printf "%.2f", u * 1000}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.0f", a / b}'; }
s=$(printf '%s\n' $s | median) p=$(printf '%s\n' $p | median)
echo "| reader | ms (median) | × sonde |"
echo "|---|---|---|"
echo "| sonde report --format json | $(ms "$s") | 1 |"
echo "| ncu --import --csv --page raw --print-summary per-nvtx | $(ms "$p") | $(ratio "$p" "$s") |"
if [ -n "$y" ]; then
	y=$(printf '%s\n' $y | median)
	echo "| NVIDIA's ncu_report module, all metrics | $(ms "$y") | $(ratio "$y" "$s") |"
fi
