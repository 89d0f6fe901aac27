#!/usr/bin/env bash
# Measures how often `sonde diff` is wrong, and how often it finds a real difference: runs the command on captures of
# programs with noise (tests/tools/noisy_program.c).
#
#   bench/diff_noise.sh [BUILD (build)] [PAIRS (200)]
#
# A/A compares a program with itself: how many comparisons name any region, even if only as likely. Power: one region of 30 is 5 %
# slower (200 entries, 5 % noise); how often it is found, how often the interval contains 1.05, and how often no other region
# is named. The numbers of programs and runs are the seeds, so the figures are the same every time.
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${1:-build} SONDE=$PWD/${1:-build}/sonde
pairs=${2:-200}
export T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

side() { # DIR FIRST-RUN RUNS PROGRAM OPTIONS…
	local dir=$1 first=$2 runs=$3 program=$4 i
	shift 4
	mkdir -p "$dir" && for i in $(seq "$runs"); do
		"$BUILD/tools/noisy_program" "$@" "$program" $((first + i)) "$dir/$i.sondecells" || return
	done
}
pair() { # PROGRAM RUNS BASE-OPTIONS NEW-OPTIONS: a line per region that is named or slowed: id, verdict, low, high
	local d=$T/$1
	side "$d/base" 0 "$2" "$1" $3 && side "$d/new" 1000 "$2" "$1" $4 &&
		"$SONDE" diff --base "$d"/base/* --new "$d"/new/* -f json -o "$d/diff.json" && python3 - "$d/diff.json" <<'PY'
import json, sys
regions = json.load(open(sys.argv[1]))["regions"]
named = {r["id"] for r in regions if r["verdict"].endswith(("slower", "faster"))}
slow = next(r for r in regions if r["id"] == "r7")
low, high = slow["ci"] or (0, 9)
print(bool(named), "r7" in named and slow["verdict"].endswith("slower"), low <= 1.05 <= high, bool(named - {"r7"}))
PY
	local rc=$?
	rm -rf "$d"
	return "$rc"
}
export -f side pair
all() { # RUNS BASE-OPTIONS NEW-OPTIONS: the lines of all pairs
	seq "$pairs" | xargs -P "$(nproc)" -I{} bash -c 'pair "$@"' _ {} "$1" "$2" "$3" >"$T/lines" || exit 1
	[ "$(wc -l <"$T/lines")" -eq "$pairs" ] || exit 1
}
count() { awk -v c="$1" -v want="$2" '$c == want { n++ } END { print n + 0 }' "$T/lines"; }

all 1 "" ""
echo "A/A, single captures: $(count 1 True) of $pairs comparisons name a region"
all 5 "-r 0.005" "-r 0.005"
echo "A/A, 5 runs a side: $(count 1 True) of $pairs comparisons name a region"
all 1 "-p" "-p -s 1.05"
echo "power: of $pairs, found in $(count 2 True), the interval holds 1.05 in $(count 3 True), no other region named in $(count 4 False)"
