#!/usr/bin/env bash
# sonde ctl: a running program is captured, paused, marked and reported from outside.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
[ -e "$BUILD/fake/fake_loop" ] || skip_all "the CUPTI headers were not found when building"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so

begin() { # NAME ARGUMENT…: a program that runs until `finish`; $run is its directory, $pid its sonde
	run=$TMP/$1
	rm -f "$TMP/stop"
	FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$run" pipeline.native.cupti="$FAKE" counters=off "${@:2}" -- "$BUILD/fake/fake_loop" "$FAKE" 1 2 1000 >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	wait_for sh -c "ls $run/native/*.sonde $run/native/ctl.$pid"
}
finish() { # the status of the run
	touch "$TMP/stop"
	wait $pid
}
steps() { "$SONDE" ctl "$1" report -f json | python3 -c '
import json, sys
print(next((g["instances"] for g in json.load(sys.stdin)["aggregate"]["regions"] if g["id"] == "train/step"), 0))'; }
more_than() { local n; n=$(steps "$2") && echo "$n > $1?" && [ "$n" -gt "$1" ]; }
child() { pgrep -P "$pid" -f fake_loop; }

whole() {
	local n m
	begin whole capture.window=ctl || return
	! more_than 0 $pid || return # closed at first
	"$SONDE" ctl $pid start | grep -qx capturing && wait_for more_than 5 $pid && n=$(steps $(child)) && "$SONDE" ctl "$(child)" stop | grep -qx paused || return
	wait_for paused || return
	"$SONDE" ctl $pid mark half time | grep -qx marked && "$SONDE" ctl $pid start >"$TMP/said" && m=$(steps $pid) && wait_for more_than "$m" $pid && finish || return
	dump_run | grep -x 'mark half time' && "$SONDE" report "$run/native" | tee /dev/stderr | tr '\n' ' ' | grep -q 'captured in 2  *windows' && [ ! -e "$run/native/ctl.$pid" ]
}
paused() { # two looks in a row see the same
	local n
	n=$(steps $pid) && sleep 0.3 && [ "$(steps $pid)" = "$n" ]
}
dump_run() { "$BUILD/tools/capture_dump" "$run/native"; }

without_window() { # open until it is told to pause
	begin open && wait_for more_than 0 $pid && "$SONDE" ctl $pid stop && wait_for paused && finish && "$SONDE" report "$run/native" | tee /dev/stderr | tr '\n' ' ' | grep -q 'captured in 1  *window,'
}

helper_too() { # `ps` shows the library's own process with the program's words
	local helper
	begin helper && wait_for more_than 0 $pid || return
	helper=$(for p in $(pgrep -x sonde-flush); do tr '\0' '\n' <"/proc/$p/environ" | grep -qxF "SONDE_INJECT_CONFIG=$run/native/inject.conf" && echo "$p"; done)
	[ -n "$helper" ] && [ "$helper" != "$(child)" ] && "$SONDE" ctl "$helper" mark there | grep -qx marked && finish && dump_run | grep -x 'mark there'
}

every() { # the tree so far, on standard error, of what the run is to report
	begin every capture.every=200ms --nvtx-include step && wait_for grep -q 'not selected' "$TMP/err"
	finish && grep -q 'in regions' "$TMP/err" && grep -q train "$TMP/err" && grep -qx done "$TMP/out"
}

healthy() { # what is open while the program runs is no fault: one line says that it runs, in reports of the directory too
	local status
	begin healthy --every 200ms && wait_for more_than 5 $pid && wait_for grep -q 'still runs' "$TMP/err"
	"$SONDE" ctl $pid report >"$TMP/tree" && "$SONDE" ctl $pid report -f json >"$TMP/live.json" && "$SONDE" validate "$TMP/live.json" && "$SONDE" report "$run/native" -f md >"$TMP/live.md"
	status=$?
	cat "$TMP/tree"
	finish && [ $status = 0 ] && ! grep 'never\|has no end\|truncated' "$TMP/tree" "$TMP/live.json" "$TMP/live.md" "$TMP/err" || return
	[ "$(sed -n '/^notes/,$p' "$TMP/tree" | tr -s '\n ' ' ')" = 'notes • 1 program still runs: ranges that are still open count up to its last event ' ] &&
		python3 - "$TMP/live.json" <<-'P' && grep -q '^- host: ≥ .*; an entry is still open' "$TMP/live.md" && ! "$SONDE" report "$run/native" | grep 'still'
			import json, sys
			r = json.load(open(sys.argv[1]))
			train = next(g for g in r["aggregate"]["regions"] if g["id"] == "train")
			print(r["notes"], train)
			assert len(r["notes"]) == 1 and "1 program still runs" in r["notes"][0] and "an entry is still open" in train["notes"][-1]
		P
}

rank() { # NUMBER: one of two, with what it says in err0 and err1
	OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=every FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$TMP/ranks" pipeline.native.cupti="$FAKE" counters=off \
		--every 200ms -- "$BUILD/fake/fake_loop" "$FAKE" 1 2 1000 >"$TMP/out$1" 2>"$TMP/err$1"
}
every_of_ranks() { # the tree is that of both, and one of them prints it
	local first status
	rm -f "$TMP/stop"
	rank 0 & first=$!
	wait_for test -e "$TMP/ranks" && { rank 1 & } && wait_for grep -q 'over 2 scopes' "$TMP/err0"
	status=$?
	touch "$TMP/stop"
	wait $first && wait && [ $status = 0 ] && ! grep -q train "$TMP/err1"
}

refused() { # WORDS TEXT
	local said
	said=$("$SONDE" ctl $1 2>&1) && return 1
	echo "$said"
	grep -qF -- "$2" <<<"$said"
}
errors() {
	local other status
	sleep 600 &
	other=$!
	begin errors || return
	refused "4000000 start" "there is no process 4000000" && refused "$other start" "was not started by a \`sonde run\` with a native capture" && refused "$pid begin" "'begin' is not start, stop, mark" &&
		refused "start" "the number of a process comes first" && [ "$(stat -c %a "$run/native/ctl.$pid")" = 600 ]
	status=$?
	kill $other
	finish && [ $status = 0 ]
}

nonsense() { # whoever says nothing, or something else, is no harm
	begin nonsense && python3 - "$run/native/ctl.$pid" <<-'P' && wait_for more_than 0 $pid && finish
		import os, socket, sys
		os.chdir(os.path.dirname(sys.argv[1]))
		def say(text): s = socket.socket(socket.AF_UNIX); s.connect(os.path.basename(sys.argv[1])); s.send(text); s.close()
		for text in (b"", b"\n", b"\0" * 5000, b"dance\n", b"start"): say(text)
	P
}

another_user() { # even where anybody may connect
	local n status
	[ "$(id -u)" = 0 ] || cannot "only root can be another user" || return
	begin other && chmod 755 "$run/native" && chmod 666 "$run/native/ctl.$pid" && python3 - "$run/native/ctl.$pid" <<-'P'
		import os, socket, sys
		os.chdir(os.path.dirname(sys.argv[1]))
		os.setgid(65534)
		os.setuid(65534)
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.path.basename(sys.argv[1]))
		s.send(b"stop\n")
		got = s.recv(100)
		print(got)
		assert got == b"error this run is another user's\n"
	P
	status=$?
	n=$(steps $pid) && wait_for more_than "$n" $pid || status=1 # not paused
	finish && [ $status = 0 ]
}

hostile_answer() { # of a process that pretends to be a run: nothing of it moves the cursor
	local peer status
	mkdir "$TMP/peer" && cd "$TMP/peer" || return
	SONDE_INJECT_CONFIG=$TMP/peer/inject.conf python3 - <<-'P' &
		import os, socket
		s = socket.socket(socket.AF_UNIX)
		s.bind("ctl.%d" % os.getpid())
		s.listen()
		c = s.accept()[0]
		c.recv(100)
		c.send(b"ok \x1b[2J\x1b]0;title\x07 capturing\n")
		c.close()
	P
	peer=$! && wait_for test -S "ctl.$peer" && "$SONDE" ctl $peer start >"$TMP/said"
	status=$?
	wait $peer
	cd - >/dev/null || return
	[ $status = 0 ] && grep -qF '\x1b[2J\x1b]0;title\x07 capturing' "$TMP/said" && ! grep -q $'\x1b' "$TMP/said"
}

long_mark() { # cut between two characters, and both who marks and who reads is told
	local text status
	text=$(printf 'é%.0s' {1..2000})
	begin long && "$SONDE" ctl $pid mark "$text" >"$TMP/said" && wait_for sh -c "'$BUILD/tools/capture_dump' '$run/native' | grep '^mark é'" >"$TMP/mark"
	status=$?
	finish && [ $status = 0 ] && grep -qx 'marked: the text is longer than 511 bytes and was cut' "$TMP/said" &&
		dump_run | grep -qx "mark $(printf 'é%.0s' {1..254})…"
}

ok "a mark that is too long is cut, and that is told" long_mark
ok "an answer is shown as text" hostile_answer
ok "windows open and close from outside, and the tree so far is told" whole
may_skip "another user's orders are refused" another_user
ok "a capture without a window can be paused" without_window
ok "the number of the library's own process means its program" helper_too
ok "--every prints the tree while the program runs" every
ok "what is open while a program runs is no fault" healthy
ok "of a job one rank prints the tree of all" every_of_ranks
ok "who asks for what is not there is told why" errors
ok "a question that is none does no harm" nonsense
