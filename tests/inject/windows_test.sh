#!/usr/bin/env bash
# Windows of the native capture: everything inside is captured; what is outside is left out, and a note says that.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
if [ ! -e "$FAKE" ]; then
	echo "skip windows: the CUPTI headers were not found when building"
	exit 0
fi

loop() { CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" "$@" >"$TMP/said" && grep -qx done "$TMP/said"; }

entries() { # NAME COUNT…: entries of each region, no more regions than these
	"$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" >"$TMP/valid" || {
		cat "$TMP/valid"
		return 1
	}
	python3 - "$TMP/r.json" "$@" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		want = dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
		got = {g["id"]: g["instances"] for g in r["aggregate"]["regions"]} if r.get("aggregate") else {}
		print(got, r["coverage"], *r["notes"], sep="\n")
		assert got == want, want
	P
}

covered() { # IN OUTSIDE: launches in regions, launches outside any
	python3 - "$TMP/r.json" "$@" <<-'P'
		import json, sys
		c = json.load(open(sys.argv[1]))["coverage"]
		assert [c["launches_attributed"], c["launches_unattributed"]] == [int(v) for v in sys.argv[2:4]], c
		assert c["windows"]["count"] >= 1 and 0 < c["windows"]["captured_ms"] <= c["windows"]["of_ms"], c
	P
}

says() { grep -qF -- "$1" "$TMP/r.json" || {
	cat "$TMP/r.json"
	return 1
}; }

by_entry() { # entries 3 … 6 of step: four of them, and the kernel between them
	fresh cupti="$FAKE" window=entries window.label=step window.first=3 window.end=7 'window.text=step[3:7]'
	loop 20 && entries train 1 train/step 4 train/step/layer 4 sonde@capture 1 && covered 11 0 &&
		says 'captured in 1 window (step[3:7]): ' && says 'ranges and launches outside were not recorded'
}

to_the_end() {
	fresh cupti="$FAKE" window=entries window.label=step window.first=5
	loop 20 && entries train 1 train/step 15 train/step/layer 15 sonde@capture 1 && covered 45 0
}

by_domain() {
	fresh cupti="$FAKE" window=range window.label=sonde@capture
	loop 20 && entries train 1 train/step 2 train/step/layer 2 sonde@capture 1 && covered 6 0
}

by_profiler() {
	fresh cupti="$FAKE" window=profiler
	loop 20 && entries train 1 train/step 2 train/step/layer 2 && covered 6 0
}

by_time() { # some steps of 5 ms are before, some after: CUPTI has gone by then
	fresh cupti="$FAKE" flush_ms=5 window=time window.after_us=300000 window.for_us=900000
	until_gone 1 2 5000 && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && python3 - "$TMP/r.json" "$(sed -n 's/^steps //p' "$TMP/said")" <<-'P' && says 'captured in 1 window'
		import json, sys
		r = json.load(open(sys.argv[1]))
		step = next(g for g in r["aggregate"]["regions"] if g["id"] == "train/step")
		c = r["coverage"]
		print(step["instances"], sys.argv[2], c)
		assert 1 <= step["instances"] < int(sys.argv[2]) and c["launches_unattributed"] == 0
	P
}
until_gone() { # TIMES ARGUMENT…
	: >"$TMP/log"
	FAKE_CUPTI_LOG=$TMP/log goes_on_until "logged gone $1" loop 1 "${@:2}" && logged gone "$1"
}

many_times() { # every 200 ms for 50 ms
	fresh cupti="$FAKE" flush_ms=5 window=time window.for_us=50000 window.every_us=200000
	until_gone 4 2 1000 && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && python3 - "$TMP/r.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		c = r["coverage"]
		print(c)
		assert c["windows"]["count"] >= 4 and c["windows"]["captured_ms"] < 0.9 * c["windows"]["of_ms"], c
		assert c["launches_unattributed"] == 0
	P
}

never_by() { # TEXT SAYS LINES…: another way of asking for it
	fresh cupti="$FAKE" "window.text=$1" "${@:3}"
	loop 5 && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && says "nothing was captured: the window $1 never opened: $2"
}
never() { # the report says what was there
	fresh cupti="$FAKE" window=entries window.label=step window.first=100 window.end=110 'window.text=step[100:110]'
	loop 20 && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" &&
		says 'nothing was captured: the window step[100:110] never opened: its range was entered 20 times' &&
		never_by 'stepp[1:2]' 'its range was not entered' window=entries window.label=stepp window.first=1 window.end=2 &&
		never_by ctl '`sonde ctl PID start` opens it' window=order && never_by signal=USR1 'a signal to `sonde run` opens it' window=order &&
		never_by nvtx 'the program did not enter the range `capture`' window=range window.label=sonde@elsewhere &&
		never_by after=1h 'the program ended first' window=time window.after_us=3600000000
}

without_gpu() { # the host's ranges alone
	fresh cupti=off window=entries window.label=step window.first=3 window.end=7
	loop 20 && entries train 1 train/step 4 train/step/layer 4 sonde@capture 1
}

with_include() { # both at once: what the gate leaves out inside a window is left out
	fresh cupti="$FAKE" nvtx.include=layer window=entries window.label=step window.first=3 window.end=7
	loop 20 && entries layer 4 && covered 8 0
}

threads() { # a window is of the process: entries are counted over all threads, and as many as asked for are there, whoever makes them
	local i
	for i in 1 2 3; do
		fresh cupti="$FAKE" window=entries window.label=step window.first=50 window.end=1050
		loop 500 2 200 3 && "$SONDE" report "$OUT" report.threads=own -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" && python3 - "$TMP/r.json" <<-'P' || return
			import json, sys
			r = json.load(open(sys.argv[1]))
			sum_of = lambda key, end: sum(g[key] for g in r["aggregate"]["regions"] if g["id"].endswith(end))
			print(r["coverage"], r["notes"], *((g["id"], g["instances"], g["kernel_count"]) for g in r["aggregate"]["regions"]), sep="\n")
			assert sum_of("instances", "step") == sum_of("instances", "layer") == 1000 and sum_of("kernel_count", "layer") == 2000
		P
	done
}

nested() { # a pattern that ranges inside each other match: what is around an entry, and what is in it, is there
	fresh cupti="$FAKE" window=entries 'window.label=*' window.first=3 window.end=7
	loop 4 && entries train 1 train/step 2 train/step/layer 2 && covered 5 0 || return
	fresh cupti="$FAKE" window=entries 'window.label=*' window.first=1 window.end=2
	loop 3 && entries train 1 train/step 1 train/step/layer 1 && covered 2 0
}

carried() { # start/end ranges that began before a window are known in it, in every one
	fresh cupti="$FAKE" window=entries window.label=step window.first=3 window.end=7
	FAKE_LOOP_EPOCH=1 loop 20 && entries train 1 train/step 4 train/step/layer 4 sonde@capture 1 epoch@@ 1 && covered 11 0 && launches epoch@@ 11 || return 1
	fresh cupti="$FAKE" window=range window.label=step
	FAKE_LOOP_EPOCH=1 loop 20 && entries train 20 train/step 20 train/step/layer 20 sonde@capture 2 epoch@@ 20 && launches epoch@@ 40
}

launches() { # REGION COUNT
	python3 - "$TMP/r.json" "$@" <<-'P'
		import json, sys
		g = {g["id"]: g for g in json.load(open(sys.argv[1]))["aggregate"]["regions"]}[sys.argv[2]]
		assert g["kernel_count"] == int(sys.argv[3]), g
	P
}

graph() { # captured before the window, launched in it
	fresh cupti="$FAKE" window=entries window.label=replay window.end=1
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_cuda" "$FAKE" >/dev/null &&
		has "launch kernel reduce_sum(const float *, float *, int) in replay captured in capture" "range push_pop replay entries=1 open=0 threads=1"
}

ok "entries of a range open and close a window" by_entry
ok "a window can be open to the end" to_the_end
ok "the range capture of the domain sonde is a window" by_domain
ok "cudaProfilerStart and Stop are a window" by_profiler
ok "a window can be a time" by_time
ok "windows can come again and again" many_times
ok "a window that never opened is told with the entries there were" never
ok "windows work without a GPU" without_gpu
ok "windows and nvtx.include work together" with_include
ok "a window has as many entries as asked for, whatever threads do" threads
ok "entries inside each other open a window, and are there whole" nested
ok "start/end ranges begun before a window are known in it" carried
ok "a graph captured before the window keeps its origin" graph
