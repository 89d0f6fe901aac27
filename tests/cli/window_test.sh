#!/usr/bin/env bash
# capture.window: its syntax, the options that ncu and nsys get for it, and windows opened by a signal.
. "$(dirname "$0")/../native.sh"

plan() { "$SONDE" run -n "$@" -- true 2>&1; }

takes() { # OPTION WINDOW TEXT: the command line has it
	plan $1 capture.window="$2" | tee /dev/stderr | grep -qF -- "$3"
}

refuses() { # OPTION WINDOW TEXT
	local said
	said=$(plan $1 capture.window="$2") && return 1
	echo "$said"
	grep -qF -- "$3" <<<"$said"
}

grammar() {
	local w
	for w in 'step[100:110]' 'decode[5:]' 'LLM@dec*[:3]' 'step[7]' after=30s,for=10s for=500ms,every=10s after=10min after=0s,for=2s 'step [1:2]' profiler nvtx signal signal=USR1 ctl "'step[1:2]'"; do
		plan capture.window="$w" | grep -q '^plan: one native capture' || {
			echo "refused: $w"
			return 1
		}
	done
	plan --window 'step[1:2]' | grep -q '^plan:' || return
	for w in 'step[3:3]:it has no entry' 'step[a:b]:the entries must be FIRST:END' '[1:2]:no range before' often:'not a window' after=soon:'a time is written' after=30,for=10:'a time is written' for=0s:'a time is written' \
		for=1s,for=2s:'for= is given twice' after=1s,for=2s,after=1s:'after= is given twice' 'step[]:it has no entry; step[5] is one' \
		for=1ns,every=2ns:'for= must be 1ms or more, as in for=500ms' for=999us:'for= must be 1ms' for=1ms,every=1100us:'every= must be longer than for= by 1ms or more' \
		for=5s,every=2s:'every= needs for=' signal=HUP:'the signal must be USR1 or USR2'; do
		refuses "" "${w%:*}" "${w##*:}" || {
			echo "taken: $w"
			return 1
		}
	done
}

ncu() {
	takes --ncu 'step[100:110]' "--nvtx-include 'regex:^step\$/'" && takes --ncu 'step[100:110]' "--range-filter '::[101-110]'" &&
		takes --ncu profiler '--profile-from-start off' && takes --ncu nvtx "regex:^sonde\$@^capture\$/" &&
		refuses --ncu 'step[5:]' 'Nsight Compute cannot do that: it needs the last entry' && refuses --ncu after=5s 'Nsight Compute cannot do that' &&
		refuses --ncu ctl 'Nsight Compute cannot do that' && refuses "--ncu --nvtx-include decode" 'step[1:2]' 'not both'
}

nsys() {
	takes --nsys after=30s,for=10s '--delay=30 --duration=10' && takes --nsys profiler '--capture-range=cudaProfilerApi' &&
		takes --nsys nvtx '--capture-range=nvtx --capture-range-end=stop-shutdown --nvtx-capture=capture@sonde' && takes --nsys 'step[0:1]' "'--nvtx-capture=step@*'" &&
		refuses --nsys 'step[1:2]' 'Nsight Systems cannot do that' && refuses --nsys after=500ms 'in whole seconds' && refuses --nsys signal 'Nsight Systems cannot do that'
}

alone() { # OPTION WORDS KEY: only the native capture can do that
	local said
	said=$(plan $1 $2) && return 1
	echo "$said"
	grep -qF -- "$3 is for the native capture" <<<"$said" && plan $1 $2 pipeline.native.enable=true >"$TMP/plan"
}
native_only() {
	local tool
	for tool in --ncu --nsys; do
		alone $tool pipeline.native.budget=2% pipeline.native.budget && alone $tool capture.rotate=1GB capture.rotate &&
			alone $tool "capture.rotate=1GB capture.keep=2" capture.rotate && alone $tool "--every 60s" capture.every || return
	done
	plan --ncu pipeline.native.budget=off >"$TMP/plan"
}

signal() { # closed at first; the program does not get the signal, which would end it
	local run=$TMP/run pid status
	FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$run" pipeline.native.cupti=off capture.window=signal -- "$BUILD/fake/fake_loop" "$PWD/$BUILD/fake/libcupti_fake.so" 1 1 1000 >"$TMP/out" 2>&1 &
	pid=$!
	wait_for grep -qx "window=order" "$run/native/inject.conf" && wait_for sh -c "ls $run/native/*.sonde" && kill -USR2 $pid &&
		wait_for sh -c "'$SONDE' report '$run/native' -f json | grep -q '\"id\": \"train/step\"'"
	status=$?
	touch "$TMP/stop"
	wait $pid && [ $status = 0 ] || {
		cat "$TMP/out"
		return 1
	}
	"$SONDE" report "$run/native" | tee /dev/stderr | grep -q 'captured in 1 window (signal)'
}

ok "windows are written in one of seven ways" grammar
ok "Nsight Compute opens windows by its own options or refuses" ncu
ok "Nsight Systems opens windows by its own options or refuses" nsys
ok "what only the native capture can do is refused without it" native_only
if [ -e "$BUILD/fake/fake_loop" ]; then
	ok "a signal to sonde opens a window" signal
else
	echo "skip a signal to sonde opens a window: the CUPTI headers were not found when building"
fi
