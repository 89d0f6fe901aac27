#!/usr/bin/env bash
# Reports on captures of thousands of ranks: time and memory by number of ranks, cores and processes.
#
#   make bench-tools sonde-mpi && bench/scale.sh        captures are made under build/bench/ and removed (1 GB)
#   RANKS="512 1024" bench/scale.sh                     other numbers of ranks than 4096 and 8192
#   MPIRUN=mpirun.mpich MPI=build/mpi-mpicc.mpich/sonde-mpi bench/scale.sh
#
# Prints the best of 3, and CPU time besides wall time, because the machine may be busy with other work.
set -eu
cd "$(dirname "$0")/.."
ranks=${RANKS:-4096 8192}
run=${MPIRUN:-mpirun} mpi=${MPI:-build/sonde-mpi}
dir=build/bench/scale
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir"
gunzip -c tests/data/diff/train.sonde.gz >"$dir/one.sonde"

# The best of 3 by wall time: wall and CPU seconds.
took() {
	local i TIMEFORMAT='%R %U %S'
	for i in 1 2 3; do { time "$@" >/dev/null; } 2>&1 | tail -1; done | sort -g | awk 'NR==1 {printf "%.1f s | %.1f s", $1, $2 + $3}'
}
memory() { build/bench/watch "$@" | awk '{printf "%.0f MB", $2 / 976.6}'; }

echo "| command | captures | wall | CPU | memory |"
echo "|---|---|---|---|---|"
for n in $ranks; do
	in=$dir/$n
	build/bench/capture_many "$dir/one.sonde" "$in" "$n" >/dev/null
	cat "$in"/* >/dev/null # in the page cache for all
	echo "| \`sonde report\` | $n | $(took build/sonde report "$in") | $(memory build/sonde report "$in") |"
	echo "| \`sonde report -f json\` | $n | $(took build/sonde report "$in" -f json) | $(memory build/sonde report "$in" -f json) |"
	echo "| \`sonde report --cores 1\` | $n | $(took build/sonde report "$in" --cores 1) | $(memory build/sonde report "$in" --cores 1) |"
	echo "| \`sonde report report.scopes.keep=0\` | $n | $(took build/sonde report "$in" report.scopes.keep=0) | $(memory build/sonde report "$in" report.scopes.keep=0) |"
	if [ -x "$mpi" ] && command -v "$run" >/dev/null; then
		for p in 1 2; do echo "| \`mpirun -n $p sonde-mpi report --cores 1\` | $n | $(took "$run" -n $p "$mpi" report "$in" --cores 1) | |"; done
	fi
	rm -rf "$in"
done
echo
echo "made by: bench/scale.sh on $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
