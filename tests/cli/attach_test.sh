#!/usr/bin/env bash
# sonde env and sonde attach: programs in which the library sleeps until it is woken, with the fake CUPTI.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so SERVER=$PWD/$BUILD/fake/fake_server
[ -e "$SERVER" ] || skip_all "the CUPTI headers were not found when building"
export FAKE_CUPTI_LOG=$TMP/log FAKE_SERVER_COUNT=$TMP/count

asleep() { # in a subshell
	eval "$("$SONDE" env ${THREAD:-})" || return
	case $1 in refusing) "$@" ;; *) exec "$@" ;; esac
}
pid=
end_server() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null || true; } # of a test that failed
begin() { # [HOW]: a server that sleeps and can be woken; $pid is its number
	end_server
	rm -f "$TMP/served" "$TMP/err"
	: >"$TMP/log"
	head -c 8 /dev/zero >"$TMP/count"
	(asleep ${INSIDE:-} "$SERVER" "$FAKE" "$@" >"$TMP/served") &
	pid=$!
	wait_for grep -qx ready "$TMP/served"
}
finish() { # it ends as it would without sonde: nothing of ours is left in it
	kill "${1:-$pid}"
	wait $pid && grep -qx 'served all' "$TMP/served" && grep -qx "threads ${THREADS:-1}, descriptors $((descriptors + 1)), children none" "$TMP/served" || {
		cat "$TMP/served"
		return 1
	}
}
attach() { # ARGUMENT…: into $run
	run=$TMP/run
	rm -rf "$run"
	status "${STATUS:-0}" "$SONDE" attach -o "$run" counters=off pipeline.native.cupti="$FAKE" "$@"
}
"$SERVER" "$FAKE" >"$TMP/served" &
pid=$!
wait_for grep -qx ready "$TMP/served" && kill $pid && wait $pid
descriptors=$(sed -n 's/.*descriptors \([0-9]*\),.*/\1/p' "$TMP/served")

served() { od -An -t u8 "$TMP/count" | tr -d ' '; }
more() { [ "$(served)" -ge "$1" ]; }
awake_for() { # REQUESTS: that it serves while it is awake
	wait_for grep -q 'is awake' "$TMP/err" && wait_for more $(($(served) + $1))
}
FIFTY="--window request[0:50]"
shares() { # PREFIX REPORT: the report is right, and regions have the shares that were planted
	"$SONDE" validate "$2" && python3 - "$@" <<-'P'
		import json, sys
		prefix, r = sys.argv[1], json.load(open(sys.argv[2]))
		print(r["coverage"], *r["notes"], *r["losses"], sep="\n")
		g = {x["id"]: x for x in r["aggregate"]["regions"]}
		of = g[prefix + "request"]
		for name, share in ("prefill", 20), ("decode", 50), ("serve@sample", 10):
		    part = g[name if "@" in name else prefix + "request/" + name]
		    for key in "kernel_count", "total_ms":
		        print(name, key, 100 * part[key] / of[key])
		        assert abs(100 * part[key] / of[key] - share) < 2
		assert of["kernel_count"] >= 100 and not any("pop" in n for n in r["notes"])
	P
}
same_as_a_run() { # a planted program, as `sonde run` sees all of it and as an attach sees a part
	FAKE_CUPTI_LOG= "$SONDE" run -q -o "$TMP/whole" counters=off pipeline.native.cupti="$FAKE" -- timeout -s TERM 1 "$SERVER" "$FAKE" >/dev/null 2>&1
	shares 'serve forever/' "$TMP/whole/report.json" && begin && attach $pid --window 'request[0:200]' && shares '' "$run/report.json" && finish
}
on_the_stand_in() { FAKE_CUPTI_LOG= FAKE_SERVER_COUNT= WHOLE=1 WARM=0 FOR=300ms KEEP=$TMP/agree OVERRIDES="counters=off pipeline.native.cupti=$FAKE" tests/gpu/attach_gpu.sh "$BUILD" "$SERVER" "$FAKE"; }
reports() { # as `sonde run` does: the tree, findings, files, and what is not known
	begin && attach $pid --for 300ms && finish && grep -q '^request ' "$TMP/out" && tr -s '\n ' ' ' <"$TMP/out" | grep -q 'ranges that were already open are not known' &&
		grep -q "fake_server.*($pid) is awake, captured for 0.3 s" "$TMP/err" && for f in report.html report.json report.md inputs.yaml config.yaml native/cmd.txt; do [ -s "$run/$f" ] || return; done &&
		grep -q fake_server "$run/inputs.yaml" && ! grep -q 'serve forever\|epoch' "$run/report.md"
}
again() { # ten times: each report has its own time, and CUPTI goes after each
	local i
	begin || return
	for i in 1 2 3 4 5 6 7 8 9 10; do
		attach $pid --for 60ms && "$SONDE" validate "$run/report.json" && [ "$(ls "$run"/native/*.sonde | wc -l)" = 1 ] || return
	done
	wait_for logged gone 10 && ! grep -v ' 0$' "$TMP/log" && finish
}
lists() {
	begin && "$SONDE" attach >"$TMP/list" && finish && grep -qE "^ *$pid  $(id -un) .* asleep  +fake_server libcupti_fake.so$" "$TMP/list" && head -1 "$TMP/list" | grep -q 'pid  user'
}
by_name() { # the process and its child: both are in the report
	local child
	ln -sf "$SERVER" "$TMP/server.$$" && SERVER=$TMP/server.$$ begin pair && child=$(sed -n 's/^child //p' "$TMP/served") && attach "server.$$" --for 300ms || return
	ls "$run"/native/$pid.0.sonde "$run"/native/$child.0.sonde || return
	attach "$child" --for 100ms && [ "$(echo "$run"/native/*.sonde)" = "$run/native/$child.0.sonde" ] && finish
}
below() { # a shell does not sleep, what it started does
	local shell
	begin && shell=$$ && attach $shell --for 100ms && ls "$run/native/$pid.0.sonde" && finish
}
second_is_told() {
	local first
	begin || return
	"$SONDE" attach $pid -o "$TMP/first" counters=off pipeline.native.cupti="$FAKE" --for 60s >/dev/null 2>&1 &
	first=$!
	wait_for sh -c "'$SONDE' attach | grep -q 'awake for process $first'" && STATUS=1 attach $pid &&
		grep -qE "is being captured by another .sonde attach.: process $first, since [0-9:]{8}; try again" "$TMP/err" && [ ! -e "$run" ] || return
	kill -INT $first
	wait $first && "$SONDE" validate "$TMP/first/report.json" && attach $pid --for 50ms && finish
}
interrupted() { # Ctrl-C: it sleeps, and the report is there
	local first
	begin || return
	"$SONDE" attach $pid -o "$TMP/int" counters=off pipeline.native.cupti="$FAKE" --for 60s >"$TMP/out" 2>"$TMP/err" &
	first=$!
	awake_for 20 && kill -INT $first && wait $first && grep -q '^request ' "$TMP/out" && grep -q 'stopped; what was captured is in' "$TMP/err" && finish
}
killed() { # nobody tells the program: it notices by itself, and can be woken again
	local first
	begin || return
	"$SONDE" attach $pid -o "$TMP/killed" counters=off pipeline.native.cupti="$FAKE" --for 60s >/dev/null 2>"$TMP/err" &
	first=$!
	awake_for 20 && kill -9 $first
	wait $first
	wait_for sh -c "'$SONDE' attach | grep -q '^ *$pid .*:[0-9]*  asleep '" && "$SONDE" report "$TMP/killed" >"$TMP/out" && grep -q '^request ' "$TMP/out" && tr '\n' ' ' <"$TMP/out" | grep -q 'stopped or killed: the *program went back to' && attach $pid --for 50ms && finish
}
PM=$PWD/$BUILD/fake/libpm_fake.so
counted() { # SONDE_ATTACH ARGUMENT…: attach with counters, of a device that says what it did
	[ -e "$PM" ] || cannot "CUPTI's headers (12.6 or newer) were not found when building" || return
	rm -f "$TMP/told"
	SONDE_CUPTI=$PM FAKE_PM_TOLD=$TMP/told attach "$@" counters=basic
}
with_counters() { # sampled beside it, and once more
	local first
	[ -e "$PM" ] || cannot "CUPTI's headers (12.6 or newer) were not found when building" || return
	FAKE_CUPTI_SAMPLED=1 begin || return
	for _ in 1 2; do
		rm -rf "$TMP/counted" "$TMP/told"
		SONDE_CUPTI=$PM FAKE_PM_TOLD=$TMP/told "$SONDE" attach $pid -o "$TMP/counted" counters=basic pipeline.native.cupti="$FAKE" --for 60s >"$TMP/out" 2>"$TMP/err" &
		first=$!
		awake_for 120 && wait_for awk '$1 == "start" {n++} n > 1 && $1 == "gave" && $3 {ok = 1} END {exit !ok}' "$TMP/told" && kill -INT $first && wait $first && ls "$TMP"/counted/native/samples-*.sonde || return
	done
	# CUPTI names no device whose context is older than its subscriber: the samples find their launches all the same.
	finish && "$SONDE" validate "$TMP/counted/report.json" && shares '' "$TMP/counted/report.json" &&
		jq -e '.aggregate.regions[0].metrics["sm__cycles_active.sum"] > 0' "$TMP/counted/report.json"
}
sees() { # DEVICES: so the sampler did
	grep '^visible' "$TMP/told" | sort -u | grep -qx "visible $1" || { cat "$TMP/told" && return 1; }
}
devices_of_all() { # those that any of the programs sees
	local other
	FAKE_SERVER_COUNT= CUDA_VISIBLE_DEVICES=2,0 begin && other=$pid && pid= && CUDA_VISIBLE_DEVICES=0,1 begin && CUDA_VISIBLE_DEVICES=7 counted $other $pid --for 200ms && sees 2,0,1 && CUDA_VISIBLE_DEVICES=7 counted $other --for 200ms && sees 2,0 && kill $other && finish || return
	FAKE_SERVER_COUNT= begin && other=$pid && pid= && CUDA_VISIBLE_DEVICES=1 begin && CUDA_VISIBLE_DEVICES=7 counted $other $pid --for 200ms && sees all && kill $other && finish
}
outlived() { # the sampler goes on by itself, and does not keep the program awake
	local first sampler left=
	[ -e "$PM" ] || cannot "CUPTI's headers (12.6 or newer) were not found when building" || return
	begin || return
	SONDE_CUPTI=$PM "$SONDE" attach $pid -o "$TMP/outlived" counters=basic pipeline.native.cupti="$FAKE" --for 60s >/dev/null 2>"$TMP/err" &
	first=$!
	awake_for 20 && sampler=$(pgrep -P $first) && kill -STOP $sampler && kill -9 $first
	wait $first
	wait_for sh -c "'$SONDE' attach | grep -q '^ *$pid .*:[0-9]*  asleep '" && left=yes
	kill -9 $sampler
	[ $left ] && attach $pid --for 50ms && finish
}
stopped() { # a caller that does not go on holds it for some seconds, no longer
	local first
	begin || return
	"$SONDE" attach $pid -o "$TMP/stopped" counters=off pipeline.native.cupti="$FAKE" --for 60s >/dev/null 2>"$TMP/err" &
	first=$!
	wait_for grep -q 'is awake' "$TMP/err" && kill -STOP $first && wait_for sh -c "grep -c . /proc/$pid/task/*/comm | wc -l | grep -qx 1" && kill -CONT $first && wait $first && finish
}
ends() { # SIGNAL: meanwhile, by that; what there was is reported, and the status says that it is not all
	begin || return
	(awake_for 50 && kill "$1" $pid) &
	STATUS=1 attach $pid --for 60s && grep -q 'ended while it was captured: the report has what it did until then' "$TMP/err" && shares '' "$run/report.json" && grep -q 'the program ended [0-9.]* s after it was woken' "$run/report.md"
}
by_window() { # entries count from when it is awake, and the end of the last one ends the attach
	begin && attach $pid --window 'request[5:25]' && finish && python3 - "$run/report.json" <<-'P'
		import json, sys
		g = {x["id"]: x for x in json.load(open(sys.argv[1]))["aggregate"]["regions"]}
		print(g["request"])
		assert g["request"]["instances"] == 20 and g["request"]["kernel_count"] == 200
	P
}
other_settings() { # each wake has its own: patterns too, though labels are known from the last one
	begin && attach $pid --for 100ms pipeline.native.nvtx.include='[decode]' && "$SONDE" report "$run" | tee /dev/stderr | grep -q '^decode' && ! "$SONDE" report "$run" | grep '^request' &&
		attach $pid --for 100ms pipeline.native.cupti=off && grep -q 'CUPTI is switched off' "$run/report.md" && attach $pid --for 100ms && grep -q '^request ' "$TMP/out" && finish
}
silent() { # what wakes it does not come
	begin silent && STATUS=1 attach $pid --for 1s && grep -q 'has made no NVTX call for 3 s, and can only wake at one: still waiting' "$TMP/err" && grep -q 'sonde env --thread' "$TMP/err" || return
	kill $pid && wait $pid
}
with_thread() { # one that waits needs no call
	THREAD=--thread begin silent && attach $pid --for 1s && kill $pid && wait $pid && python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["coverage"]
print(c)
assert c["launches_unattributed"] >= 10' "$run/report.json"
}
waits_for_no_main() { # the thread that waits does not keep a process whose main thread has left
	(THREAD=--thread asleep timeout -k 1 20 "$WORK/lifetimes" mainexit 20)
}
handler_forks() { # in the middle of a hook: the child goes on in it, and exits
	begin moment && attach $pid --window 'request[0:100]' && attach $pid --window 'request[0:20]' || return
	kill $pid && wait $pid && ! grep crashed "$TMP/served"
}
named_twice() { begin && attach $pid fake_server $pid --window 'request[0:5]' && finish; }
waits_for_another() { # longer than a program stays awake of which nobody hears: the first one is captured all the same
	local child
	begin pair && child=$(sed -n 's/^child //p' "$TMP/served") && phase "$child" 4 || return
	(sleep 8 && phase "$child" 0) &
	attach $pid "$child" --for 300ms && finish && ls "$run"/native/$pid.0.sonde "$run"/native/$child.0.sonde && ! tr '\n' ' ' <"$TMP/out" | grep -q 'stopped or killed'
}
phase() { # PID PHASE: as its page has it
	python3 - "$@" <<-'P'
		import mmap, os, struct, sys
		fds = f"/proc/{sys.argv[1]}/fd/"
		m = mmap.mmap(os.open(next(fds + n for n in os.listdir(fds) if "sonde-asleep" in os.readlink(fds + n)), os.O_RDWR), 4096)
		m[40:44] = struct.pack("<I", struct.unpack_from("<I", m, 40)[0] & ~7 | int(sys.argv[2]))
	P
}
forks() { begin fork && attach $pid $FIFTY && shares '' "$run/report.json" && finish; }

refused() { # STATUS TEXT ARGUMENT…
	status "$1" "$SONDE" attach "${@:3}" && grep -qF -- "$2" "$TMP/err"
}
errors() {
	local other
	sleep 600 &
	other=$!
	begin && refused 1 "there is no process 4000000" 4000000 && refused 1 "was started without sonde, which cannot enter a running program" $other && refused 1 "no program called 'nobody' can be woken" nobody && refused 1 "no program called 'nobody' can be woken" $pid nobody &&
		refused 2 "Python loads it when it starts" $pid --modules && refused 2 "Nsight Compute cannot be added to a running program" $pid pipeline.ncu.enable=true &&
		refused 2 "a time is written 500ms, 10s or 5min" $pid --for ever && refused 2 "capture.window=ctl is for" $pid --window ctl
	code=$?
	kill $other
	finish && return $code
}
in_a_run() {
	local r
	rm -f "$TMP/served" # of the server before
	"$SONDE" run -q -o "$TMP/running" counters=off pipeline.native.cupti="$FAKE" -- "$SERVER" "$FAKE" >"$TMP/served" 2>/dev/null &
	r=$!
	wait_for grep -qx ready "$TMP/served" && refused 1 "is in a \`sonde run\` already" "$(pgrep -P $r -x fake_server)"
	code=$?
	kill $r
	wait $r
	return $code
}
run_wins() { # in a shell that has the variables `sonde run` is as ever
	(eval "$("$SONDE" env)" && "$SONDE" run -q -o "$TMP/within" counters=off pipeline.native.cupti="$FAKE" -- timeout -s TERM 1 "$SERVER" "$FAKE" >/dev/null 2>&1)
	shares 'serve forever/' "$TMP/within/report.json"
}
other_user() {
	[ "$(id -u)" = 0 ] || cannot "only root can be another user" || return
	cp "$SONDE" "$TMP/sonde" && chmod 755 "$TMP" "$TMP/sonde" && setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/sonde" --version || cannot "another user cannot run sonde here" || return
	begin || return
	status 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/sonde" attach $pid && grep -q 'you may not look at process' "$TMP/err" && status 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/sonde" attach && finish
}
roots() { # root wakes another user's, who writes to a place of his own
	[ "$(id -u)" = 0 ] || cannot "only root can be another user" || return
	setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$LIB" -a -x "$SERVER" || cannot "another user cannot run the program here" || return
	INSIDE="setpriv --reuid 65534 --regid 65534 --clear-groups" begin && attach $pid $FIFTY && shares '' "$run/report.json" && finish && ! ls -d /tmp/sonde-attach-$pid-*
}
weak_root() { # root who may not be another user
	[ "$(id -u)" = 0 ] || cannot "only root can be another user" || return
	setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$LIB" -a -x "$SERVER" || cannot "another user cannot run the program here" || return
	INSIDE="setpriv --reuid 65534 --regid 65534 --clear-groups" begin && status 1 setpriv --bounding-set -setuid,-setgid "$SONDE" attach $pid -o "$TMP/weak" counters=off && grep -q 'needs the capabilities SETUID and SETGID' "$TMP/err" && finish
}
undumpable() { # /proc/PID is root's then, the process is not
	[ "$(id -u)" = 0 ] || cannot "only root may look at it" || return
	setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$LIB" -a -x "$SERVER" || cannot "another user cannot run the program here" || return
	INSIDE="setpriv --reuid 65534 --regid 65534 --clear-groups" begin undumpable && "$SONDE" attach | grep -E "^ *$pid  nobody" && attach $pid $FIFTY && shares '' "$run/report.json" && finish
}
# Programs of a user who makes traps for root: $victim is root's, and must stay as it is.
trapped() { # COMMAND: by which the program's namespace begins
	[ "$(id -u)" = 0 ] || cannot "only root can be another user" || return
	case $SERVER in /tmp/*) cannot "the build is in /tmp, which is hidden here" || return ;; esac
	setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --mount test -r "$LIB" -a -x "$SERVER" || cannot "another user cannot make namespaces here" || return
	victim=$(mktemp -d /var/tmp/victim.XXXXXX) && chmod 755 "$TMP" "$victim" && touch -d 2000-01-01 "$victim" || return
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --mount sh -c '"'%s && exec"' "$@"'"'"' %s "$@"\n' "$1" "$victim" >"$TMP/trap" && chmod 755 "$TMP/trap" && INSIDE=$TMP/trap begin
}
unharmed() { [ "$(stat -c '%U %Y' "$victim")" = "root $(date -d 2000-01-01 +%s)" ] && rmdir "$victim"; }
mounted_tmp() { # its /tmp is a directory of root's: another place serves
	trapped 'mount --bind "$0" /tmp' && attach $pid $FIFTY && unharmed && shares '' "$run/report.json" && finish
}
mounted_place() { # the program mounts such a directory on the place as soon as there is one
	local asan
	command -v gcc >/dev/null || cannot "there is no gcc" || return
	asan=$(ldd "$SONDE" | sed -n 's/.*=> \(.*libasan[^ ]*\).*/\1/p')
	cat >"$TMP/quick.c" <<-'C' && gcc -shared -fPIC -o "$TMP/quick.so" "$TMP/quick.c" || return
		#define _GNU_SOURCE
		#include <stdlib.h>
		#include <string.h>
		#include <sys/stat.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int mkdirat(int dir, const char *name, mode_t mode)
		{
			int rc = (int)syscall(SYS_mkdirat, dir, name, mode);
			const char *trap = getenv("TRAP");

			if (rc == 0 && trap && strstr(name, "sonde-attach-") && setenv("PLACE", name, 1) == 0)
				return system(trap);
			return rc;
		}
	C
	trapped true || return
	TRAP="setpriv --reuid 65534 --regid 65534 --clear-groups nsenter --preserve-credentials -t $pid -U -m mount --bind $victim /tmp/\$PLACE && echo \$PLACE >$TMP/place; true" LD_PRELOAD="$asan $TMP/quick.so" attach $pid $FIFTY && unharmed && shares '' "$run/report.json" && finish
	code=$?
	[ -s "$TMP/place" ] && return $code # the trap was there
}
leased() { # a file that is called like a page, and that cannot be opened before its owner lets it
	unshare --mount true 2>/dev/null || cannot "namespaces cannot be made here" || return
	unshare --mount python3 - "$TMP" <<-'P' &
		import fcntl, os, subprocess, sys, time
		here = sys.argv[1] + "/leased"
		os.mkdir(here)
		subprocess.run(["mount", "-t", "tmpfs", "tmpfs", here], check=True)
		f = os.open(here + "/memfd:sonde-asleep (deleted)", os.O_RDWR | os.O_CREAT)
		fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
		fcntl.fcntl(f, fcntl.F_SETSIG, 17)  # told by a signal that is ignored
		subprocess.run(["umount", "-l", here], check=True)
		open(sys.argv[1] + "/is_leased", "w").close()
		end = time.monotonic() + 60
		while time.monotonic() < end: time.sleep(1)
	P
	local owner=$!
	begin && wait_for test -e "$TMP/is_leased" && readlink /proc/$owner/fd/* | grep memfd && timeout 30 "$SONDE" attach | grep "^ *$pid "
	code=$?
	kill -9 $owner
	finish && return $code
}
container() { # PID and mount namespaces: it is 1, or so, and sees another /tmp
	local outside
	unshare --pid --mount --fork --mount-proc true 2>/dev/null || cannot "namespaces cannot be made here" || return
	case $SERVER in /tmp/*) cannot "the build is in /tmp, which is hidden here" || return ;; esac
	rm -f "$TMP/served"
	end_server
	(asleep unshare --pid --mount --fork --mount-proc --kill-child sh -c 'mount -t tmpfs tmpfs /tmp && exec "$0" "$1"' "$SERVER" "$FAKE" >"$TMP/served") &
	pid=$!
	wait_for grep -qx ready "$TMP/served" && outside=$(pgrep -x fake_server -P $pid) && attach "$outside" $FIFTY && shares '' "$run/report.json" && ls "$run"/native/1.0.sonde && attach $pid $FIFTY && shares '' "$run/report.json" && [ -z "$(ls -A "/proc/$outside/root/tmp")" ] && finish "$outside"
}

absent() { # nothing is in a program that uses neither NVTX nor CUDA
	local want
	want=$(sh -c 'ls /proc/self/fd /proc/self/task | wc -l') && [ "$want" = "$(asleep sh -c 'ls /proc/self/fd /proc/self/task | wc -l')" ] && ! (asleep cat /proc/self/maps) | grep sonde
}
setuid() { # a program with other rights than its caller does not listen to the environment
	local fd
	[ "$(id -u)" = 0 ] || cannot "only root can make one" || return
	mkdir -p "$TMP/su" && chmod 755 "$TMP" "$TMP/su" && cp "$SERVER" "$TMP/su/server" && chown 65534 "$TMP/su/server" && chmod 4755 "$TMP/su/server" || return
	rm -f "$TMP/served"
	(asleep "$TMP/su/server" "$FAKE" >"$TMP/served") &
	pid=$!
	wait_for grep -qx ready "$TMP/served" && [ "$(awk '/^Uid/ { print $3 }' /proc/$pid/status)" = 65534 ] || cannot "it cannot be another user here" || {
		fd=$?
		kill $pid
		return $fd
	}
	! ls -l /proc/$pid/fd | grep memfd && kill $pid && wait $pid && grep -q "descriptors $descriptors," "$TMP/served"
}
env_forms() {
	[ "$("$SONDE" env --library "/a b/it's.so" | sed -n 2p)" = "export CUDA_INJECTION64_PATH='/a b/it'\''s.so'" ] && [ "$("$SONDE" env -f docker --library '/x"$y' | tail -1)" = 'ENV NVTX_INJECTION64_PATH="/x\"\$y"' ] &&
		[ "$("$SONDE" env -f systemd --thread --library /l%n.so | head -2)" = $'Environment="SONDE_ASLEEP=thread"\nEnvironment="CUDA_INJECTION64_PATH=/l%%n.so"' ] && [ "$("$SONDE" env -f kubernetes --library /l.so | head -2)" = $'- name: SONDE_ASLEEP\n  value: "1"' ] && status 2 "$SONDE" env --library l.so
}
refusing() { # NUMBERS COMMAND…: as a unit with SystemCallFilter= and SystemCallErrorNumber=EPERM, without these system calls (x86-64)
	exec python3 - "$@" <<-'P'
		import ctypes, os, struct, sys
		numbers = [int(n) for n in sys.argv[1].split(",")]
		code = struct.pack("HBBI", 0x20, 0, 0, 0)
		for i, n in enumerate(numbers): code += struct.pack("HBBI", 0x15, len(numbers) - i, 0, n)
		code += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000) + struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
		at = ctypes.create_string_buffer(code)
		program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(at)))
		libc = ctypes.CDLL(None)
		assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
		os.execv(sys.argv[2], sys.argv[2:])
	P
}
filtered() { # kcmp, memfd_create, statx, pidfd_open, close_range: those that a list may not have
	[ "$(uname -m)" = x86_64 ] || cannot "the numbers of system calls are those of x86-64" || return
	INSIDE="refusing 312,332,434,436" begin && attach $pid $FIFTY && shares '' "$run/report.json" && finish || return
	INSIDE="refusing 319" begin && refused 1 'cannot be woken' $pid && kill $pid && wait $pid && grep -qx 'served all' "$TMP/served"
}
hostile() { # orders that are none do no harm, and the next good one is obeyed
	begin && mkdir -p "$TMP/orders" && ln -sf /dev/zero "$TMP/orders/inject.conf" && python3 - $pid "$TMP" <<-'P' && attach $pid $FIFTY && shares '' "$run/report.json" && finish
		import mmap, os, random, struct, sys, time
		fd = next(f"/proc/{sys.argv[1]}/fd/{n}" for n in os.listdir(f"/proc/{sys.argv[1]}/fd") if "sonde-asleep" in os.readlink(f"/proc/{sys.argv[1]}/fd/{n}"))
		f = os.open(fd, os.O_RDWR)
		try: os.ftruncate(f, 0); raise SystemExit("it can be shortened")
		except PermissionError: pass
		m = mmap.mmap(f, 4096)
		word, dir_at = 40, 64
		assert struct.unpack_from("<Q", m, 0)[0] == 0x7065656c7361656e
		random.seed(7)
		def order(path, bits): m[dir_at:dir_at + 2048] = path.ljust(2048, b"\0")[:2048]; struct.pack_into("<I", m, word, bits); time.sleep(0.05)
		for path in b"relative", b"", b"/" * 2048, b"/nonexistent", sys.argv[2].encode() + b"/orders", random.randbytes(2048):
		    for bits in 1, 9, 2, 7, 12, random.getrandbits(32): order(path, bits)
		m[0:40] = random.randbytes(40) # not even its own bytes
		time.sleep(0.05)
		struct.pack_into("<QIIQ", m, 0, 0x7065656c7361656e, 1, int(sys.argv[1]), time.time_ns())
		m[24:40] = bytes(16)
		struct.pack_into("<I", m, word, 0)
	P
}

ok "the variables are printed in every form" env_forms
ok "nothing is in a program that uses neither NVTX nor CUDA" absent
may_skip "a setuid program does not listen" setuid
ok "who sleeps is listed" lists
ok "an attach reports as a run does, and says what it cannot know" reports
ok "the shares of an attach are those of the whole run" same_as_a_run
ok "the GPU's test of an attach holds on the stand-in" on_the_stand_in
ok "ten attaches leave nothing behind" again
ok "a name stands for all that have it, and a child has a number of its own" by_name
ok "a process stands for the sleepers below it" below
ok "the second is told who is first" second_is_told
ok "Ctrl-C ends the capture, and the report comes" interrupted
ok "a program whose attach is killed goes back to sleep" killed
may_skip "counters are sampled beside an attach" with_counters
may_skip "counters are of the devices that any of the programs sees" devices_of_all
may_skip "what an attach has started keeps no program awake" outlived
ok "a program whose attach is stopped goes back to sleep" stopped
ok "a program that is killed meanwhile is reported" ends -KILL
ok "a program that ends meanwhile is reported" ends -TERM
ok "a window ends an attach" by_window
ok "each attach has settings of its own" other_settings
ok "a program without NVTX calls is told how it can be woken" silent
ok "with a thread it needs no NVTX call" with_thread
ok "the thread that waits does not keep a process" waits_for_no_main
ok "a program may fork meanwhile" forks
ok "a signal handler may fork in the middle of an NVTX call" handler_forks
ok "a program that is named twice is captured once" named_twice
ok "one that waits for another stays awake" waits_for_another
ok "who cannot be woken is told why" errors
ok "a program of a run is told" in_a_run
ok "sonde run is as ever beside the variables" run_wins
may_skip "another user is refused" other_user
may_skip "root wakes another user's program" roots
may_skip "root who may not be another user is told" weak_root
may_skip "root wakes a program that nobody else may look at" undumpable
may_skip "root makes nothing where the program's user could not" mounted_tmp
may_skip "root follows no mount of the program's user" mounted_place
may_skip "a file that is only called like a page is not waited for" leased
may_skip "a program in a container is woken from outside" container
may_skip "a program that may not make some system calls goes on" filtered
ok "orders that are none do no harm" hostile
end_server
