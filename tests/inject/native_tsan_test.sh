#!/usr/bin/env bash
# The injected library under ThreadSanitizer, 16 threads at a time.
# Runs long.
. "$(dirname "$0")/../native.sh"
LIB=$PWD/build/tsan/libsonde_inject.so
needs_tsan
one_make tsan -j"$(nproc)" tsan >"$TMP/make.log" 2>&1 || {
	cat "$TMP/make.log"
	not_ok "the library builds with ThreadSanitizer"
	exit 1
}
export TSAN_OPTIONS="exitcode=66 log_path=$TMP/tsan"

quiet() { # PROGRAM ARGUMENT…: no report, and nothing lost
	fresh "${CONFIG:-flush_ms=2}"
	traced "build/tsan/workloads/$1" "${@:2}" || {
		cat "$TMP"/tsan.* 2>/dev/null
		return 1
	}
	dump
}

gpu() {
	[ -e build/tsan/fake/fake_cuda ] || return 0
	fresh cupti="$PWD/build/tsan/fake/libcupti_fake.so" collect_ms=1 flush_ms=2
	CUDA_INJECTION64_PATH=$LIB traced build/tsan/fake/fake_cuda \
		"$PWD/build/tsan/fake/libcupti_fake.so" 20000 || {
		cat "$TMP"/tsan.* 2>/dev/null
		return 1
	}
}

windows() { # LINE…: windows and a budget, changed by five threads
	[ -e build/tsan/fake/fake_loop ] || return 0
	fresh cupti="$PWD/build/tsan/fake/libcupti_fake.so" collect_ms=1 flush_ms=2 "$@"
	CUDA_INJECTION64_PATH=$LIB traced build/tsan/fake/fake_loop "$PWD/build/tsan/fake/libcupti_fake.so" 300 2 200 4 || {
		cat "$TMP"/tsan.* 2>/dev/null
		return 1
	}
}

presence() { # LINE…: until it went twice
	[ -e build/tsan/fake/fake_loop ] || return 0
	: >"$TMP/log"
	FAKE_CUPTI_LOG=$TMP/log goes_on_until "logged gone 2" windows "$@" && logged gone 2
}

warps() { # LINE… -- MODE…: PC samples, drained beside the program
	local lines=()
	[ -e build/tsan/fake/fake_pc ] || return 0
	for (( ; $# > 0; )); do
		[ "$1" = -- ] && shift && break
		lines+=("$1")
		shift
	done
	fresh cupti="$PWD/build/tsan/fake/libcupti_fake.so" collect_ms=1 flush_ms=2 pc=15 cubin_bytes=100000000 "${lines[@]}"
	rm -f "$TMP/log"
	CUDA_INJECTION64_PATH=$LIB FAKE_CUPTI_LOG=$TMP/log traced build/tsan/fake/fake_pc "$PWD/build/tsan/fake/libcupti_fake.so" "$@" || {
		cat "$TMP"/tsan.* 2>/dev/null
		return 1
	}
}

asleep() { # a server that is woken three times
	local pid i status=0 fake=$PWD/build/tsan/fake
	[ -e "$fake/fake_server" ] || return 0
	rm -f "$TMP/served" # of the server before
	(eval "$(SONDE_INJECT_LIB=$LIB "$SONDE" env)" && exec "$fake/fake_server" "$fake/libcupti_fake.so" "$@" >"$TMP/served") &
	pid=$!
	wait_for grep -qx ready "$TMP/served" || return
	for i in 1 2 3; do
		"$SONDE" attach $pid -o "$TMP/woken${1:-}$i" counters=off pipeline.native.cupti="$fake/libcupti_fake.so" --window 'request[0:20]' || status=1
	done
	kill $pid
	wait $pid && [ $status = 0 ] && grep -qx 'served all' "$TMP/served" || {
		cat "$TMP"/tsan.* 2>/dev/null
		return 1
	}
}

ok "16 threads under ThreadSanitizer show no race" quiet pairs 5000 16 64
ok "320 short threads under ThreadSanitizer show no race" quiet faults threads 20
ok "new labels under ThreadSanitizer show no race" quiet faults labels 5000
ok "the CPU workload under ThreadSanitizer shows no race" quiet resnet_cpu 3
CONFIG=buffer_bytes=1 ok "a full ring under ThreadSanitizer shows no race" quiet pairs 20000 16 64
ok "GPU activity under ThreadSanitizer shows no race" gpu
ok "windows by ranges of five threads under ThreadSanitizer show no race" windows window=range window.label=step
ok "windows by time and a budget under ThreadSanitizer show no race" windows window=time window.for_us=1000 window.every_us=2000 budget_ppm=20000
FAKE_LOOP_EPOCH=1 FAKE_LOOP_VARIES=1 ok "a budget inside windows of a range under ThreadSanitizer shows no race" windows window=range window.label=eval budget_ppm=200000 lever.call_ns=1000000
ok "CUPTI that goes and comes back under ThreadSanitizer shows no race" presence window=time window.after_us=20000 window.for_us=20000 window.every_us=300000
ok "CUPTI that goes between windows of a budget under ThreadSanitizer shows no race" presence budget_ppm=200000 lever.call_ns=30000
ok "PC samples of many contexts under ThreadSanitizer show no race" warps -- contexts 100
ok "PC samples of two contexts at once under ThreadSanitizer show no race" warps -- threads 8
ok "PC samples of many modules under ThreadSanitizer show no race" warps -- cubins 40
ok "PC samples in files that rotate under ThreadSanitizer show no race" warps rotate_ms=20 -- many 3000
FAKE_PC_MANY=128 ok "drains of many instructions under ThreadSanitizer show no race" warps -- many 300
FAKE_PC_SLOW=5 FAKE_PC_MANY=10000 ok "a context that goes while the program ends under ThreadSanitizer shows no race" warps -- race
ok "a program that is woken and sleeps again under ThreadSanitizer shows no race" asleep
ok "a program that forks while it is woken under ThreadSanitizer shows no race" asleep fork
