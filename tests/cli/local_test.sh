#!/usr/bin/env bash
# capture.local: captures go to a disk of the node, and one archive per node to the run directory, even if ranks are killed.
. "$(dirname "$0")/../lib.sh"
PROG=$PWD/$BUILD/workloads/pairs
[ -x "$PROG" ] || skip_all "the NVTX headers were not found when building"
NODE=$(uname -n) PLACE=$TMP/place
mkdir "$PLACE"

run() { # NAME RANK SIZE ARGS…: one rank of a job into $TMP/NAME
	local name=$1 rank=$2 size=$3
	shift 3
	SLURM_JOB_ID=$name SLURM_PROCID=$rank SLURM_NTASKS=$size SLURM_STEP_ID=0 "$SONDE" run -q "capture.local=$PLACE" "hydra.run.dir=$TMP/$name" "$@" \
		>"$TMP/$name.$rank.out" 2>"$TMP/$name.$rank.err"
}
members() { tar tf "$TMP/$1/native/$NODE.sonde.tar" | sed 's/[0-9]*\.0\.sonde/CAPTURE/; /^node.txt$/d' | sort | tr '\n' ' '; }
is_empty() { [ -z "$(ls -A "$PLACE")" ] || { find "$PLACE"; return 1; }; }
local_of() { echo "$PLACE/sonde-$(id -u)-$(printf %s "$(realpath "$TMP/$1")" | md5sum | cut -c1-32)"; }

alone() {
	"$SONDE" run -q "capture.local=$PLACE" "hydra.run.dir=$TMP/alone" -- "$PROG" 3 >"$TMP/out" 2>"$TMP/err" || return
	[ "$(members alone)" = "alone/CAPTURE alone/cmd.txt " ] && is_empty && [ -s "$TMP/alone/report.html" ] &&
		"$SONDE" report "$TMP/alone" | grep -q '^layer0.attention  *1 '
}
job() { # four ranks at once: one file of captures, no marks of single ranks, and the report of them all
	local r
	for r in 0 1 2 3; do run job "$r" 4 -- "$PROG" 3 & done
	wait
	[ "$(members job)" = "rank0/CAPTURE rank0/cmd.txt rank1/CAPTURE rank1/cmd.txt rank2/CAPTURE rank2/cmd.txt rank3/CAPTURE rank3/cmd.txt " ] && is_empty &&
		[ "$(find "$TMP/job" -name '*rank*' | wc -l)" = 0 ] && [ "$(find "$TMP/job/native" -maxdepth 1 -type f | wc -l)" = 1 ] && "$SONDE" report "$TMP/job" --per-scope | grep -q '^rank 3 · ' && grep -q '^| layer0.attention | 4 ' "$TMP/job/report.md"
}
rotated() { # a capture of several files goes into the archive as one
	"$SONDE" run -q "capture.local=$PLACE" capture.rotate=1s "hydra.run.dir=$TMP/rotated" -- "$PWD/$BUILD/workloads/resnet_cpu" 20 >"$TMP/out" 2>"$TMP/err" || return
	[ "$(members rotated)" = "alone/CAPTURE alone/cmd.txt " ] && is_empty &&
		[ "$("$SONDE" report "$TMP/rotated" -f json | jq '.aggregate.regions[] | select(.id == "step") | .instances')" = 20 ]
}
mpi() { # LAUNCHER…: the same by a real one, chosen ranks among them
	local name=mpi.${1##*.}
	"$@" -n 4 "$SONDE" run -q 'ranks=[1,2]' "capture.local=$PLACE" "hydra.run.dir=$TMP/$name" -- "$PROG" 3 >"$TMP/out" 2>"$TMP/err" || return
	[ "$(members "$name")" = "rank1/CAPTURE rank1/cmd.txt rank2/CAPTURE rank2/cmd.txt " ] && is_empty &&
		grep -q "2 of the job's 4 ranks are here: 1-2" "$TMP/$name/report.md"
}
try_mpi() { # NAME LAUNCHER ARGS…
	local name=$1
	shift
	if command -v "$1" >/dev/null; then ok "$name" mpi "$@"; else skip "$name" "$1 is not installed"; fi
}
killed_rank() { # sonde and its program are gone: a rank that ends later takes what they left
	local sonde
	SLURM_JOB_ID=dead SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_STEP_ID=0 "$SONDE" run -q "capture.local=$PLACE" "hydra.run.dir=$TMP/dead" \
		-- sh -c 'echo $$ >'"$TMP/pid.new; $PROG 3; mv $TMP/pid.new $TMP/pid; exec sleep 1000" >"$TMP/out" 2>"$TMP/err" &
	sonde=$!
	wait_for test -s "$TMP/pid" && kill -KILL "$sonde" "$(cat "$TMP/pid")" || return
	wait "$sonde"
	wait_for is_gone "$(cat "$TMP/pid")" && run dead 0 3 -- "$PROG" 3 && [ "$(members dead)" = "rank0/CAPTURE rank0/cmd.txt rank1/CAPTURE rank1/cmd.txt " ] &&
		is_empty && "$SONDE" report "$TMP/dead" 2>&1 | grep -q "2 of the job's 3 ranks are here: all but 2"
}
killed_runner() { # only sonde is gone, the program goes on: its captures stay until it has ended
	local sonde dir program
	SLURM_JOB_ID=runner SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_STEP_ID=0 "$SONDE" run -q "capture.local=$PLACE" "hydra.run.dir=$TMP/runner" \
		-- sh -c 'echo $$ >'"$TMP/runs.new; mv $TMP/runs.new $TMP/runs; exec $PROG 2000000000" >"$TMP/out" 2>"$TMP/err" &
	sonde=$!
	wait_for test -s "$TMP/runs" || return
	program=$(cat "$TMP/runs") dir=$(local_of runner)
	wait_for sh -c "ls $dir/rank1/$program.*.sonde >/dev/null 2>&1" && kill -KILL "$sonde" || return
	wait "$sonde" # only then: a group that has lost its parent and is stopped gets SIGHUP
	kill -STOP "$program"
	run runner 0 3 -- "$PROG" 3 && [ "$(members runner)" = "rank0/CAPTURE rank0/cmd.txt " ] && ls "$dir"/rank1/*.sonde >/dev/null || {
		members runner
		find "$dir"
		kill -KILL "$program"
		return 1
	}
	kill -KILL "$program"
	wait_for is_gone "$program" && wait_for flock -n "$(echo "$dir"/rank1/*.sonde)" true && run runner 2 3 -- "$PROG" 3 &&
		[ "$(members runner)" = "rank0/CAPTURE rank0/cmd.txt rank1/CAPTURE rank1/cmd.txt rank2/CAPTURE rank2/cmd.txt " ] && is_empty
}
full_disk() { # each capture fits, both together do not: they stay, and the program's status is its own
	local status size
	run size 0 2 -- "$PROG" 100000 || return
	size=$(tar tvf "$TMP/size/native/$NODE.sonde.tar" | awk '/sonde$/ {print int($3 / 1024)}')
	for status in 0 5; do
		(
			ulimit -f $((size + size / 2))
			run "full$status" 0 2 -- sh -c "$PROG 100000; $PROG 100000; exit $status"
		)
		[ $? = $status ] || return
		grep -q "could not be moved to the run directory: they are in $(local_of "full$status")/rank0, which .sonde report. reads too (.*/native/$NODE.sonde.tar: File too large; raise the limit of file sizes: ulimit -f)" "$TMP/full$status.0.err" ||
			{ cat "$TMP/full$status.0.err"; return 1; }
		! tar tf "$TMP/full$status/native/$NODE.sonde.tar" | grep rank && "$SONDE" report "$(local_of "full$status")/rank0" | grep -q '^layer0.attention' || return
		rm -r "$(local_of "full$status")"
	done
	is_empty
}
no_place() { # captures go to the run directory then, and it is said
	"$SONDE" run -q "capture.local=$TMP/nowhere" "hydra.run.dir=$TMP/np" -- "$PROG" 3 >"$TMP/out" 2>"$TMP/err" &&
		grep -q 'capture.local: .*/nowhere/.*: No such file or directory; captures are written to the run directory' "$TMP/err" && ls "$TMP"/np/native/*.sonde >/dev/null
}
foreign_place() { # a link that somebody put where the directory is to be
	mkdir "$TMP/fp" "$TMP/elsewhere" && ln -s "$TMP/elsewhere" "$(local_of fp)" || return
	"$SONDE" run -q "capture.local=$PLACE" "hydra.run.dir=$TMP/fp" -- "$PROG" 3 >"$TMP/out" 2>"$TMP/err" &&
		grep -q 'Operation not permitted; captures are written to the run directory' "$TMP/err" && [ -z "$(ls -A "$TMP/elsewhere")" ] && rm "$(local_of fp)"
}
cut_archive() { # without its end it may end inside a capture: nothing is written over that
	run cut 0 2 -- "$PROG" 3 && truncate -s -1024 "$TMP/cut/native/$NODE.sonde.tar" && cp "$TMP/cut/native/$NODE.sonde.tar" "$TMP/before" &&
		run cut 1 2 -- "$PROG" 3 && cmp "$TMP/before" "$TMP/cut/native/$NODE.sonde.tar" && tar tf "$TMP/cut/native/$NODE-2.sonde.tar" | grep -q '^rank1/.*sonde$' &&
		"$SONDE" report "$TMP/cut" --per-scope --width 1000 >"$TMP/out" 2>&1 && grep -q "$NODE.sonde.tar: truncated after $(stat -c %s "$TMP/before") bytes, where" "$TMP/out" &&
		grep -q '^rank 0 · ' "$TMP/out" && grep -q '^rank 1 · ' "$TMP/out"
}

ok local__a_run_leaves_one_archive alone
ok local__a_rotated_capture_is_one_member rotated
ok local__ranks_of_a_node_leave_one_archive job
try_mpi local__chosen_ranks_of_open_mpi mpirun.openmpi --allow-run-as-root --oversubscribe
try_mpi local__chosen_ranks_of_mpich mpirun.mpich
ok local__captures_of_a_killed_rank_are_taken_back killed_rank
ok local__captures_that_are_still_written_stay killed_runner
ok local__an_archive_without_its_end_is_left_alone cut_archive
ok local__a_full_disk_leaves_them_where_they_are full_disk
ok local__without_the_place_the_run_directory_is_used no_place
ok local__a_place_of_somebody_else_is_not_used foreign_place
