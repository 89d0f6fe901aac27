#!/usr/bin/env bash
# bench/whatif_time.sh BUILD [LAUNCHES]: measures `sonde whatif` on a trace of so many launches (1,000,000): real training steps, one
# behind the other until there are enough. Prints CPU seconds and peak memory for one change, for the list of the largest gains and, for
# comparison, for a report, all with the reading of the trace. Needs 3 GB of disk. The exit status is 1 where a change takes more than 3 s
# beside the report, or where nothing was predicted.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/${1:-build} launches=${2:-1000000} dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
zcat tests/data/kineto/h200_train.json.gz >"$dir/once.json"
"$build/bench/kineto_many" "$dir/once.json" "$dir/many.json" $(($(stat -c %s "$dir/once.json") * launches / 414)) >/dev/null
timed() { # NAME COMMAND…: leaves the CPU seconds in $took
	local name=$1 user system rest
	shift
	/usr/bin/time -f "%U %S %e %M" -o "$dir/time" "$@" >"$dir/out" 2>"$dir/err" || { cat "$dir/err" && exit 1; }
	read -r user system rest <"$dir/time"
	took=$(awk -v u="$user" -v s="$system" 'BEGIN {print u + s}')
	echo "$name: $took s of a processor, ${rest% *} s, ${rest#* } KB"
}
timed "a report without gains" "$build/sonde" report "$dir/many.json" report.whatif=off
report=$took
sed -n 2p "$dir/out"
timed "the list" "$build/sonde" whatif "$dir/many.json"
timed "one change" "$build/sonde" whatif "$dir/many.json" graph:forward
grep -q '^graph:forward: saves' "$dir/out" || { echo "nothing was predicted" && exit 1; }
awk -v a="$took" -v b="$report" 'BEGIN {exit a - b > 3}'
