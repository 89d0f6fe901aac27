#!/usr/bin/env bash
# Programs that end badly, and directories that cannot be written to: the program's output and status
# never change, and all that was written can be read.
# Runs long.
. "$(dirname "$0")/../native.sh"
TRIES=${KILL_TRIES:-20}

ends() { # MODE: same output and status, and the ranges before the end are there
	fresh
	same_with_and_without "$WORK/faults" "$1" && has \
		"range push_pop work entries=100 open=0 threads=1" \
		"range push_pop work/inner entries=100 open=0 threads=1"
}

forks() {
	fresh
	same_with_and_without "$WORK/faults" fork && has \
		"range push_pop parent/after entries=100 open=0 threads=1" \
		"range push_pop parent/child entries=100 open=0 threads=1"
}

execs() {
	fresh
	same_with_and_without "$WORK/faults" exec && has \
		"range push_pop before entries=100 open=0 threads=1" \
		"range push_pop unclosed entries=1 open=1 threads=1"
}

closes() {
	fresh
	same_with_and_without "$WORK/faults" closeall && has \
		"range push_pop before entries=100 open=0 threads=1" \
		"range push_pop after entries=100 open=0 threads=1"
}

# A reader of the program's output sees the end as soon as the program closes it.
pipes() {
	local pid rc
	fresh
	mkfifo "$TMP/pipe" || return
	# Nothing around the program may hold the pipe either.
	SONDE_INJECT_CONFIG=$CONF NVTX_INJECTION64_PATH=$LIB "$WORK/faults" closeout >"$TMP/pipe" &
	pid=$!
	timeout 600 cat "$TMP/pipe"
	rc=$?
	kill "$pid"
	wait "$pid" 2>/dev/null
	[ $rc -eq 0 ]
}

kills() {
	local i pid delay size
	for i in $(seq "$TRIES"); do
		fresh flush_ms=5
		# The program itself in the background, not a shell around it: its number is needed.
		SONDE_INJECT_CONFIG=$CONF NVTX_INJECTION64_PATH=$LIB "$WORK/faults" forever >"$TMP/stdout" &
		pid=$!
		delay=$(printf '0.%03d' $((RANDOM % 150)))
		sleep "$delay"
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
		[ $? -eq 137 ] || return 1
		[ -n "$(ls "$OUT")" ] || continue # killed before it began
		# A file without a whole header has just been begun. Its size comes first: it may grow until it is read.
		size=$(cat "$OUT"/*.sonde | wc -c)
		"$BUILD/tools/capture_dump" --count "$OUT"/*.sonde >"$TMP/dump" 2>&1 || [ "$size" -lt 64 ] || { cat "$TMP/dump"; return 1; }
	done
}

file_size_limit() {
	fresh flush_ms=10
	same_with_and_without "$WORK/faults" fsize && dump
}

full_disk() {
	local small=$TMP/small
	mkdir -p "$small"
	mount -t tmpfs -o size=64k tmpfs "$small" 2>/dev/null || cannot "a small file system cannot be mounted here" || return
	fresh flush_ms=5
	sed -i "s|^output=.*|output=$small|" "$CONF"
	same_with_and_without "$WORK/faults" labels 20000
	local rc=$?
	[ $rc -eq 0 ] && "$BUILD/tools/capture_dump" --count "$small"/*.sonde
	rc=$?
	umount "$small"
	return $rc
}

read_only() {
	fresh
	sed -i "s|^output=.*|output=/proc|" "$CONF"
	same_with_and_without "$WORK/resnet_cpu" 3 && [ -z "$(ls "$OUT")" ]
}

no_directory() {
	fresh
	sed -i "s|^output=.*|output=$OUT/not/there|" "$CONF"
	same_with_and_without "$WORK/resnet_cpu" 3
}

broken_config() {
	head -c 70000 /dev/urandom >"$CONF"
	same_with_and_without "$WORK/resnet_cpu" 2 || return
	: >"$CONF"
	same_with_and_without "$WORK/resnet_cpu" 2
}

no_cupti() {
	fresh cupti=/not/there/libcupti.so
	same_with_and_without "$WORK/resnet_cpu" 2 && has "range push_pop step entries=2 open=0 threads=1"
}

two_injectors() {
	fresh
	cp "$LIB" "$TMP/second.so"
	SECOND_INJECTOR=$TMP/second.so traced "$WORK/faults" plugin 10 &&
		[ "$(ls "$OUT" | wc -l)" -eq 2 ] && has \
		"range push_pop host entries=1 open=0 threads=1" \
		"range push_pop plugin/call entries=10 open=0 threads=1"
}

sanitizer() {
	local asan
	asan=$(gcc -print-file-name=libasan.so)
	[ -e "$asan" ] || cannot "gcc has no libasan.so" || return
	fresh
	[ "$(LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0 traced "$WORK/resnet_cpu" 3)" = \
		"$("$WORK/resnet_cpu" 3)" ] && has "range push_pop step entries=3 open=0 threads=1"
}

own_malloc() {
	fresh
	same_with_and_without "$WORK/own_malloc" &&
		has "range push_pop work entries=100000 open=0 threads=1"
}

signals() {
	fresh
	same_with_and_without "$WORK/faults" signals 200000 &&
		has "range push_pop work/inner entries=200000 open=0 threads=1"
}

corner() { # MODE COUNT LINE...: behaves as without the library, and the lines are recorded
	fresh "${options[@]}"
	same_with_and_without "$WORK/corners" "$1" "$2" || return
	[ $# -eq 2 ] || has "${@:3}"
}

jumps() { # a thread whose hook was left by a jump comes back
	fresh
	traced "$WORK/corners" jump 100 && dump | grep -q '^range push_pop .*after entries='
}

big_tls() { # threads of ours carry the program's thread-local memory like its own
	fresh
	same_with_and_without "$WORK/bigtls" && has "range push_pop work entries=1000 open=0 threads=1"
}

ended_twice() { # the gate it held open closes once
	fresh nvtx.include=keep
	traced "$WORK/corners" twice && has "range push_pop inside entries=1 open=0 threads=1" && ! dump | grep 'push_pop after'
}

gates() { # nor does it take the gate from another range; what a start/end range excludes is left out
	fresh nvtx.include=keep nvtx.exclude=noise
	traced "$WORK/corners" gates && has "range push_pop inside entries=1 open=0 threads=1" \
		"range push_pop again entries=1 open=0 threads=1" && ! dump | grep -E 'push_pop (hidden|after)'
}

workers() { # 20 ms each: most of what they did is there
	fresh
	traced "$WORK/corners" workers 10 && dump | tee /dev/stderr | sed -n 's/^range push_pop worker entries=\([0-9]*\) .*/\1/p' |
		awk '{n = $1} END {exit !(n >= 30)}'
}

fork_ids() { # an id from before the fork ends no range of the child
	fresh
	traced "$WORK/corners" forkid && "$BUILD/tools/capture_dump" --times "$OUT"/*.sonde | tee /dev/stderr |
		awk '/^range start_end child/ {for (i = 1; i <= NF; i++) if (sub(/^wall_ms=/, "", $i) && $i + 0 > 15) ok = 1} END {exit !ok}'
}

late_gate() { # labels beyond the table go through the gate like any other
	fresh nvtx.exclude='request*'
	traced "$WORK/corners" late && ! dump | grep '^range push_pop request'
}

forked_cuda() { # a child of a CUDA program leaves the GPU's records to its parent
	[ -e "$BUILD/fake/fake_cuda" ] || cannot "the CUPTI headers were not found when building" || return
	fresh cupti="$PWD/$BUILD/fake/libcupti_fake.so"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_cuda" "$PWD/$BUILD/fake/libcupti_fake.so" fork
	[ "$(dump | grep -c '^launch kernel fill')" -eq 1 ]
}

for mode in exit _exit quick abort segv kill; do
	ok "a program that ends by $mode keeps its output, its status and its ranges" ends "$mode"
done
ok "a forked child has a capture of its own" forks
ok "an executed program starts a capture of its own" execs
ok "a program that closes every descriptor is not disturbed and loses nothing" closes
ok "the library holds no pipe open" pipes
ok "kill -9 at $TRIES random moments leaves a readable capture" kills
ok "a file size limit ends the capture, not the program" file_size_limit
may_skip "a full disk ends the capture, not the program" full_disk
ok "a directory that cannot be written is no matter to the program" read_only
ok "a directory that is not there is no matter to the program" no_directory
ok "a broken configuration is no matter to the program" broken_config
ok "without CUPTI ranges are captured all the same" no_cupti
ok "two injected libraries in one process do not meet" two_injectors
may_skip "a program under a preloaded sanitizer is captured" sanitizer
ok "a program with its own malloc is captured without calling it" own_malloc
options=()
ok "a fork in a signal handler that interrupts a hook harms neither process" corner handlerfork 200
ok "a child made by a bare system call exits at once" corner rawfork 1
ok "a thread whose hook was left by a jump is recorded again" jumps
ok "a handler that calls NVTX for long inside a hook harms nobody" corner longhandler 20
ok "a program with much thread-local memory is captured" big_tls
ok "a range ended twice leaves the gate as it was" ended_twice
ok "start/end ranges hold the gate until each is ended once" gates
ok "children of a moment that leave by _exit are recorded" workers
ok "a forked child's ranges are not ended by its parent's ids" fork_ids
ok "domains beyond the table are one, with a note" corner domains 1100 \
	"range push_pop domain 0@op entries=1 open=0 threads=1" "range push_pop (other domains)@op entries=78 open=0 threads=1" \
	"note the program uses more NVTX domains than sonde can tell apart: the others are shown as one, (other domains)"
ok "registered strings beyond the table leave a note" corner strings 140000 \
	"note the program registered more NVTX strings than sonde can store: ranges that use the others have no label"
ok "a hook allocates nothing, however many keys there are" corner keys 5000 \
	"range push_pop thread entries=5000 open=0 threads=5000"
ok "ranges deeper than the limit do not take the pops of another domain" corner deepdomain 1 \
	"range push_pop lib@op entries=1 open=0 threads=1" "range push_pop next entries=1 open=0 threads=1"
options=(buffer_bytes=67108864)
ok "1500 threads at once are all recorded" corner crowd 1500 "range push_pop once entries=1500 open=0 threads=1500"
options=()
ok "domains and registered strings have names when the table is full" corner late 1 \
	"range push_pop late@forward entries=1 open=0 threads=1"
ok "the gate holds when the table is full" late_gate
may_skip "a forked child does not write its parent's kernels again" forked_cuda
ok "ranges in signal handlers do not disturb those they interrupt" signals
