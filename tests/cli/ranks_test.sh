#!/usr/bin/env bash
# Ranks of one job that start together: every program runs, whatever becomes of the run directory.
. "$(dirname "$0")/../lib.sh"
PROG=$PWD/$BUILD/workloads/pairs
[ -x "$PROG" ] || skip_all "the NVTX headers were not found when building"

rank() { # JOB RANK SIZE ARGS…: its output in $TMP/JOB.RANK
	local job=$1 rank=$2 size=$3
	shift 3
	SLURM_JOB_ID=$job SLURM_PROCID=$rank SLURM_NTASKS=$size SLURM_STEP_ID=0 "$SONDE" run -q "$@" \
		>"$TMP/$job.$rank" 2>&1
	echo "status $?" >>"$TMP/$job.$rank"
}
jobs_of() { # NR RANKS DIRECTORY-FORMAT: all ranks of a job at once
	local j r lost=0 dir
	for j in $(seq "$1"); do
		# shellcheck disable=SC2059
		dir=$TMP/$(printf "$3" "$j")
		for r in $(seq 0 $(($2 - 1))); do rank "$3$j" "$r" "$2" "hydra.run.dir=$dir" -- "$PROG" 3 & done
		wait
		for r in $(seq 0 $(($2 - 1))); do
			grep -qx 'status 0' "$TMP/$3$j.$r" && ! grep -q 'without a profile' "$TMP/$3$j.$r" || {
				cat "$TMP/$3$j.$r"
				lost=$((lost + 1))
			}
		done
		dir=$(echo "$dir"*) # one that is named by the time may have got a number
		[ "$(find "$dir"/native -name '[0-9]*.sonde' | wc -l)" = "$2" ] || lost=$((lost + 1))
		[ -e "$dir/.complete" ] && [ -s "$dir/native/regions/report.json" ] || lost=$((lost + 1))
	done
	[ "$lost" = 0 ]
}
taken() { # another job's directory: the rank is told, and its program runs
	mkdir -p "$TMP/taken/native"
	rank x 1 2 "hydra.run.dir=$TMP/taken" -- sh -c 'echo ran; exit 4'
	grep -qx ran "$TMP/x.1" && grep -qx 'status 4' "$TMP/x.1" && grep -q 'already contains a run' "$TMP/x.1" &&
		grep -q 'rank 1 runs without a profile' "$TMP/x.1"
}
no_place() { # a directory that cannot be made
	: >"$TMP/file"
	rank y 0 2 "hydra.run.dir=$TMP/file/below" -- sh -c 'echo ran'
	grep -qx ran "$TMP/y.0" && grep -qx 'status 0' "$TMP/y.0" && grep -q 'runs without a profile' "$TMP/y.0"
}
alone() { # a run of one process is refused as ever: nothing has started that waits for it
	! "$SONDE" run -q "hydra.run.dir=$TMP/taken" -- sh -c 'echo ran' >"$TMP/alone" 2>&1 && ! grep -qx ran "$TMP/alone"
}

ok ranks__that_start_together_share_a_named_directory jobs_of 8 8 named%s
ok ranks__that_start_together_share_a_timed_directory jobs_of 2 8 20260131-12000%s
ok ranks__of_a_taken_directory_run_their_program taken
ok ranks__without_a_directory_run_their_program no_place
ok ranks__a_run_of_its_own_is_refused alone
