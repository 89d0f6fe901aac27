#!/usr/bin/env bash
# `sonde report` on a real report that was multiplied to 100,000 launches, compared with one plain pass over the
# same mapped file, in one run. Medians of 5 (with 226 launches: of 21), interleaved.
#
#   bench/report.sh [REPORT.ncu-rep]        the big files are made under build/bench/ and removed
#   LAUNCHES=20000 bench/report.sh …        20,000 launches instead of 100,000
set -eu
cd "$(dirname "$0")/.."
report=${1:-tests/data/ncu/seed_kernel.ncu-rep}
launches=${LAUNCHES:-100000}
tenth=$((launches / 10))
dir=build/bench
command="report --format json"
trap 'rm -f "$dir"/x*.ncu-rep "$dir"/x*.sondecells' EXIT

median() { sort -g | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
row() { printf '| %s | %s | %s |\n' "$1" "$2" "$3"; }
calc() { awk "BEGIN {printf \"$1\", $2}"; }
# Seconds of one run; the peak of anonymous memory goes to $dir/kib.
took() {
	local s kib rc
	read -r s kib rc < <("$dir/watch" "$@")
	[ "$rc" -eq 0 ] || { echo "$* failed" >&2; return 1; }
	echo "$kib" >>"$dir/kib"
	echo "$s"
}

for n in 226 "$tenth" "$launches"; do "$dir/multiply" "$report" "$dir/x$n.ncu-rep" "$n"; done
big=$dir/x$launches.ncu-rep
bytes=$(stat -c %s "$big")
"$dir/plainpass" "$big" >/dev/null # both find it in the page cache
build/sonde report "$big" --partial -o "$dir/x.sondecells"
cells=$(stat -c %s "$dir/x.sondecells")
small= ten= plain= all= partial=
: >"$dir/kib"
for _ in 1 2 3 4 5; do
	plain="$plain $(took "$dir/plainpass" "$big")"
	all="$all $(took build/sonde $command "$big")"
	ten="$ten $(took build/sonde $command "$dir/x$tenth.ncu-rep")"
	partial="$partial $(took build/sonde $command "$dir/x.sondecells")"
done
kib=$(sort -n "$dir/kib" | tail -1)
for _ in 1 2 3 4 5 6 7; do
	small="$small $(took build/sonde $command "$dir/x226.ncu-rep")"
	small="$small $(took build/sonde $command "$dir/x226.ncu-rep")"
	small="$small $(took build/sonde $command "$dir/x226.ncu-rep")"
done
rm -f "$dir/kib"
partial=$(printf '%s\n' $partial | median)
plain=$(printf '%s\n' $plain | median) all=$(printf '%s\n' $all | median)
ten=$(printf '%s\n' $ten | median) small=$(printf '%s\n' $small | median)

echo "sonde $command, $(basename "$report") multiplied to $launches launches ($(calc %.2f "$bytes / 1e9") GB)"
echo
echo "| what | measured | bar |"
echo "|---|---|---|"
row "one plain pass over the mapped file" "$(calc %.3f "$plain") s" ""
row "sonde, $launches launches" "$(calc %.3f "$all") s" ""
row "sonde / plain pass" "$(calc %.2f "$all / $plain") ×" "≤ 6 ×"
row "per launch, $tenth / $launches launches" \
	"$(calc %.2f "$ten / $tenth * 1e6") / $(calc %.2f "$all / $launches * 1e6") µs ($(calc %+.1f "($all / $launches) / ($ten / $tenth) * 100 - 100") %)" "≤ +10 %"
row "memory beyond the mapping" \
	"$(calc %.1f "$kib / 1024") MiB, $(calc %.0f "$kib * 1024 / $launches") bytes per launch" \
	"≤ 64 MB + 200 bytes per launch"
row "partial report / capture" "$(calc %.4f "$cells / $bytes * 100") % ($cells bytes)" "≤ 5 %"
row "sonde, partial report" "$(calc %.1f "$partial * 1e3") ms, $(calc %.0f "$all / $partial") × faster" "≥ 20 ×"
row "226 launches" "$(calc %.1f "$small * 1e3") ms" "< 20 ms"
echo
echo "made by: bench/report.sh $report"
