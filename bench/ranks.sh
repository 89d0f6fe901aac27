#!/usr/bin/env bash
# Jobs whose ranks start at the same time: how many programs ran, and how many jobs have a complete report.
#
#   bench/ranks.sh [JOBS (100)] [RANKS (8)] [named|default|pids …]
#
# named: the job gets one named directory; default: sonde chooses the directory; pids: as named, with every rank in its
# own namespace, so that all have the same process id.
set -u
cd "$(dirname "$0")/.." || exit 1
sonde=${SONDE:-$PWD/build/sonde} prog=$PWD/build/workloads/pairs
jobs=${1:-100} ranks=${2:-8}
[ $# -lt 3 ] && set -- "$jobs" "$ranks" named default pids
shift 2

rank() { # MODE JOB RANK
	local dir=() own=()
	[ "$1" = default ] || dir=("hydra.run.dir=out")
	[ "$1" != pids ] || own=(unshare -r -p -f)
	SLURM_JOB_ID=$2 SLURM_PROCID=$3 SLURM_NTASKS=$ranks SLURM_STEP_ID=0 \
		"${own[@]}" "$sonde" run -q "${dir[@]}" -- sh -c '"$0" 3 && : >"ran.$1"' "$prog" "$3" >"log.$3" 2>&1
}

for mode; do
	ran=0 captures=0 reports=0 start=$SECONDS
	for j in $(seq "$jobs"); do
		tmp=$(mktemp -d) && cd "$tmp" || exit 1
		for r in $(seq 0 $((ranks - 1))); do rank "$mode" "$j" "$r" & done
		wait
		n=$(find . -maxdepth 1 -name 'ran.*' | wc -l) c=$(find . -path '*native/[0-9]*.sonde' | wc -l)
		whole=$(find . -name .complete | wc -l) page=$(find . -path '*native/regions/report.json' | wc -l)
		ran=$((ran + n)) captures=$((captures + c))
		if [ "$whole" = 1 ] && [ "$page" = 1 ]; then
			reports=$((reports + 1))
			cd / && rm -rf "$tmp"
		else
			echo "job $j of $mode is kept in $tmp"
		fi
	done
	echo "$mode: $ran of $((jobs * ranks)) programs ran, $captures captures, $reports of $jobs reports complete, $((SECONDS - start)) s"
done
