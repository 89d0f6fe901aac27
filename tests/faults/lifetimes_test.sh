#!/usr/bin/env bash
# Processes that end or change in unusual ways: the library must not keep them alive, hide a signal
# from them, change the result of a system call, or lose events. If it cannot write something, it reports that.
. "$(dirname "$0")/../native.sh"

page() { head -c 4096 /dev/zero >"$OUT/inject.status"; }
counts() { od -An -v -t u4 -N 44 "$OUT/inject.status" | tr -s ' \n' ' '; } # attached begun ended, then number and errno of each fault

faults() { od -An -v -t u4 -j $((12 + 8 * $1)) -N 8 "$OUT/inject.status" | tr -s ' \n' ' '; } # NUMBER: of that one alone

lives() { # MODE COUNT LINE...: behaves as without the library, and the lines are recorded
	fresh
	same_with_and_without "$WORK/lifetimes" "$1" "$2" && has "${@:3}"
}

none_is_left() { # as many ends as beginnings and failures to begin
	set -- $(counts)
	echo "$@"
	[ $(($2 + $4 + $6 + $8)) -ge "$1" ]
}
all_ended() { wait_for none_is_left; }

daemon() { # nobody waits for it, so the test does
	fresh
	same_with_and_without "$WORK/lifetimes" daemon 100 && wait_for has "range push_pop daemon entries=100 open=0 threads=1"
}

sandbox() { # nothing of ours is in it
	"$WORK/lifetimes" sandbox 1 >/dev/null || cannot "a program cannot enter a strict sandbox here" || return
	lives sandbox 100 "range push_pop before entries=100 open=0 threads=1" "range push_pop inside entries=100 open=0 threads=1"
}

newpid() { # a process of ours would be the namespace's first, and end it with itself
	"$WORK/lifetimes" newpid 1 >/dev/null || cannot "a program cannot make a PID namespace here" || return
	fresh
	page
	same_with_and_without "$WORK/lifetimes" newpid 10 && [ -z "$(ls "$OUT"/*.sonde 2>/dev/null)" ] && [ "$(faults 4)" = " 1 0 " ] &&
		said newpid "$nowhere"
}
nowhere="sonde cannot share the program's memory (it runs under valgrind or an emulator, or has entered a PID namespace)"

under_valgrind() {
	command -v valgrind >/dev/null || cannot "there is no valgrind" || return
	fresh
	page
	same_with_and_without valgrind -q --error-exitcode=9 "$WORK/resnet_cpu" 2 && [ -z "$(ls "$OUT"/*.sonde 2>/dev/null)" ] && [ "$(faults 4)" = " 1 0 " ] || return
	"$SONDE" run hydra.run.dir="$TMP/run-valgrind" -- valgrind -q --error-exitcode=9 "$WORK/resnet_cpu" 2 2>&1 | tee /dev/stderr | grep -qF "$nowhere, in 1 process: "
}

on_old_kernel() { # it is not told there when the program has ended or become another: it has to look
	local mode
	"$WORK/lifetimes" nothing 1 old || cannot "a program cannot forbid itself system calls here" || return
	for mode in mainexit:worker killed:work exec:before moment:child; do
		fresh
		page
		same_with_and_without "$WORK/lifetimes" ${mode%:*} 20 old && all_ended && dump | tee /dev/stderr | grep "^range push_pop ${mode#*:} entries=20" &&
			! dump | grep '^note' || return
	done
}

said() { # MODE TEXT: sonde run passes on what the library says
	"$SONDE" run hydra.run.dir="$TMP/run-$1" -- "$WORK/lifetimes" "$1" 10 2>&1 | tee /dev/stderr | grep -qF "$2"
}

service() { # a child that goes on is there as long as the test wants it
	"$SONDE" run hydra.run.dir="$TMP/run-service" -- "$WORK/lifetimes" service 10 >"$TMP/service" 2>&1
	cat "$TMP/service"
	kill "$(sed -n 's/^service \([0-9]*\)$/\1/p' "$TMP/service")" && grep -qF "1 process of the run goes on; what it does from now on is not in the report" "$TMP/service"
}

said_of_user() {
	[ "$(id -u)" = 0 ] || cannot "only root can become another user" || return
	said setuid "the native capture could not be made (Permission denied), in 1 process: choose a run directory"
}

moment() { # children that are gone before anybody could write for them
	fresh flush_ms=60000
	page
	traced "$WORK/lifetimes" moment 100 && all_ended && has "range push_pop parent entries=1 open=0 threads=1" "range push_pop child entries=1000 open=0 threads=100" &&
		[ "$(counts)" = " 101 101 101 0 0 0 0 0 0 0 0 " ]
}

gone() { # nothing is missing, so nothing is said
	fresh flush_ms=60000
	page
	traced "$WORK/lifetimes" killed 1000
	all_ended && has "range push_pop work entries=1000 open=0 threads=1" && ! dump | grep '^note'
}

setuid() { # a child that may not write leaves a reason instead
	[ "$(id -u)" = 0 ] || cannot "only root can become another user" || return
	fresh
	page
	chmod 700 "$OUT"
	traced "$WORK/lifetimes" setuid 10 && all_ended && has "range push_pop parent entries=20 open=0 threads=1" &&
		[ "$(counts)" = " 2 1 1 0 0 0 0 1 13 0 0 " ]
}

limited() { # what was reserved is given back, and the reason is there
	fresh
	page
	same_with_and_without "$WORK/lifetimes" limit 10 && [ "$(counts)" = " 1 0 0 1 12 0 0 0 0 0 0 " ]
}

full_disk() { # the capture says what ended it, at the cost of its last bytes
	local small=$TMP/small rc
	mkdir -p "$small"
	mount -t tmpfs -o size=64k tmpfs "$small" 2>/dev/null || cannot "a small file system cannot be mounted here" || return
	fresh flush_ms=5
	OUT=$small
	sed -i "s|^output=.*|output=$small|" "$CONF"
	page
	same_with_and_without "$WORK/faults" labels 20000 &&
		dump | tee /dev/stderr | grep -q '^note the disk was full: ' && ! dump | grep 'has no end' &&
		counts | grep ' 1 28 $'
	rc=$?
	umount "$small"
	OUT=$TMP/out
	return $rc
}

said_of_disk() { # the runner passes it on
	local small=$TMP/small rc
	mkdir -p "$small"
	mount -t tmpfs -o size=256k tmpfs "$small" 2>/dev/null || cannot "a small file system cannot be mounted here" || return
	"$SONDE" run hydra.run.dir="$small/run" -- "$WORK/faults" labels 60000 2>&1 | tee /dev/stderr |
		grep -q 'the native capture could not be written to its end (No space left on device), in 1 process: free some space'
	rc=$?
	umount "$small"
	return $rc
}

statically() { # such a program has a second libc for what it loads
	[ -e "$WORK/static" ] || cannot "there is no static libc" || return
	fresh
	page
	same_with_and_without "$WORK/static" && all_ended && has "range push_pop static entries=100 open=0 threads=1"
}

python() { # Python counts its threads at a fork and warns
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' || cannot "Python warns from 3.12 on" || return
	fresh
	cat >"$TMP/fork.py" <<-'P'
		import ctypes, os, sys, warnings
		lib = ctypes.CDLL(sys.argv[1])
		lib.plugin_work(3)
		warnings.simplefilter("error")
		if os.fork() == 0:
		    os._exit(0)
		os.wait()
	P
	traced python3 "$TMP/fork.py" "$WORK/plugin.so" && has "range push_pop plugin/call entries=3 open=0 threads=1"
}

threads() { # the process has the threads it has alone
	fresh
	cat >"$TMP/count.py" <<-'P'
		import ctypes, os, sys
		ctypes.CDLL(sys.argv[1]).plugin_work(3)
		print("threads", len(os.listdir("/proc/self/task")))
		try:
		    os.wait()
		except ChildProcessError:
		    print("no child")
	P
	same_with_and_without python3 "$TMP/count.py" "$WORK/plugin.so" && has "range push_pop plugin/call entries=3 open=0 threads=1"
}

ok "a process whose main thread ends alone ends with its last thread" lives mainexit 100 \
	"range push_pop main entries=1 open=0 threads=1" "range push_pop worker entries=100 open=0 threads=1"
ok "a signal ends such a process" lives term 100 "range push_pop main entries=100 open=0 threads=1"
ok "a process may enter a user namespace of its own" lives newuser 100 \
	"range push_pop before entries=100 open=0 threads=1" "range push_pop after entries=100 open=0 threads=1"
ok "a daemon is captured" daemon
ok "a program is captured up to its exec" lives exec 100 "range push_pop before entries=100 open=0 threads=1"
may_skip "a program in a strict sandbox is captured" sandbox
ok "a fork inside a range is no entry of it" lives inside 3 "range push_pop step entries=1 open=0 threads=4" \
	"range push_pop step/child entries=3 open=0 threads=3"
ok "100 children that leave by _exit at once leave everything" moment
ok "a program that is killed leaves everything" gone
ok "the library adds no thread and no child that can be waited for" threads
ok "the program's own children are all that it can wait for, and no signal comes" lives waits 100 \
	"range push_pop before entries=100 open=0 threads=1" "range push_pop after entries=100 open=0 threads=1"
ok "a program that orphans are given to does not find ours" lives reaper 100 \
	"range push_pop before entries=100 open=0 threads=1" "range push_pop after entries=100 open=0 threads=1"
may_skip "a program that has entered a PID namespace is left alone, and sonde run says so" newpid
may_skip "a program under valgrind is left alone, and sonde run says so" under_valgrind
may_skip "programs are captured to their end on an older kernel" on_old_kernel
may_skip "a child that may not write leaves a reason" setuid
ok "memory that was reserved in vain is given back" limited
may_skip "a full disk is told as that" full_disk
may_skip "sonde run says that the disk was full" said_of_disk
may_skip "sonde run says that a child may not write" said_of_user
ok "sonde run says that there was no memory" said limit "no memory for the buffers of the native capture (Cannot allocate memory), in 1 process: a smaller pipeline.native.buffer_mb"
ok "sonde run says what goes on after the program" service
may_skip "a statically linked program is captured" statically
may_skip "Python does not warn at a fork" python
