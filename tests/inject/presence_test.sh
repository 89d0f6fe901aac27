#!/usr/bin/env bash
# CUPTI leaves the process when nothing is recorded any more, and comes back. The fake CUPTI aborts whenever the real one would harm the
# program.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"
export FAKE_CUPTI_LOG=$TMP/log

loop() { # ARGUMENTS LINE…: a run and its report
	: >"$TMP/log" && fresh cupti="$FAKE" "${@:2}"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" $1 >"$TMP/said" && grep -qx done "$TMP/said" &&
		"$SONDE" report "$OUT" report.threads=own -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json"
}

until_logged() { # WORD TIMES ARGUMENTS LINE…: the same, for as many steps as that takes
	: >"$TMP/log" # not that of the test before
	goes_on_until "logged $1 $2" loop "${@:3}"
}

# Checks how often CUPTI left, and that no record was lost, except for a call during which recording ended (one per thread).
gone() {
	local n lost
	n=$(grep -c gone "$TMP/log") lost=$(awk '$2 > most { most = $2 } END { print most + 0 }' "$TMP/log")
	echo "CUPTI went $n times, $lost records were lost at most"
	[ "$lost" -le "${THREADS:-1}" ] && test "$n" "$@"
}

# The cost of callbacks is set so high that windows are short and pauses long: CUPTI leaves between the windows.
BUDGET="budget_ppm=200000 lever.call_ns=30000"

comes_back() { # every kernel has the region that launched it, though ids begin again
	until_logged gone 2 "1 8 100" $BUDGET && gone -ge 2 && python3 - "$TMP/r.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		c = r["coverage"]
		print(c, r["notes"])
		assert c["windows"]["count"] >= 2 and c["launches_attributed"] > 100 and c["launches_unattributed"] == 0
		names = {g["id"]: {k["kernel_name"].split("<")[0] for k in g["kernels"]} for g in r["aggregate"]["regions"]}
		print(names)
		assert names["train/step/layer"] == {"void gemm_tile"} and names["train"] == {"void gemm_tile", "fill(float *, int, float)"}, names
	P
}

graphs() { # FILE CONDITION TEST…: with a graph that CUPTI has seen it stays; the program goes on, and the work of all that a window launched has its 5 ms
	: >"$TMP/log" && rm -f "$TMP/graph"
	FAKE_LOOP_GRAPH=$1 goes_on_until "$2" loop "1 8 100" $BUDGET && gone "${@:3}" && python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
g = {g["id"]: g for g in r["aggregate"]["regions"]}["train/replay"]
print(g["kernel_count"], g["instances"], g["total_ms"], r["coverage"], r["notes"])
assert g["kernel_count"] and abs(g["total_ms"] - 5 * g["kernel_count"]) < 0.1 and g["kernel_count"] >= g["instances"] - 2 * r["coverage"]["windows"]["count"]' "$TMP/r.json"
}

recorded() { logged graph 1 && sleep 1; } # a second in which it could go
later() { logged gone 1 && : >"$TMP/graph" && recorded; }

stolen() { # records that go to somebody else are not ours to end; that they do is told, though nobody looks between windows
	FAKE_CUPTI_STOLEN=1 goes_on_until tells_theft loop "1 8 100" $BUDGET collect_ms=10 && gone -eq 0 && python3 -c '
import json, sys
assert any("has taken the records" in l for l in json.load(open(sys.argv[1]))["losses"])' "$TMP/r.json"
}
tells_theft() { grep -qa 'has taken the records' "$OUT"/*.sonde; }

taken() { # somebody else came while it was away: the program goes on, and the report says so
	FAKE_CUPTI_TAKEN_LATER=1 until_logged refused 1 "1 8 100" window=time window.after_us=20000 window.for_us=50000 window.every_us=400000 && gone -eq 1 && grep -q 'later GPU work has no times' "$TMP/r.json"
}

after_time() { # a window of time: open once, and then CUPTI has gone
	until_logged gone 1 "1 8 100" window=time window.after_us=20000 window.for_us=100000 && gone -eq 1
}

after_entries() {
	until_logged gone 1 "1 8 100" window=entries window.label=step window.first=10 window.end=20 && gone -eq 1 &&
		python3 -c 'import json, sys; g = {g["id"]: g for g in json.load(open(sys.argv[1]))["aggregate"]["regions"]}["train/step"]; print(g); assert g["instances"] == 10 and g["kernel_count"] == 80' "$TMP/r.json"
}

again_and_again() { # windows of time that the collector opens; each may cut a step at its beginning and one at its end
	until_logged gone 2 "1 8 100" window=time window.after_us=20000 window.for_us=50000 window.every_us=200000 && gone -ge 2 &&
		python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["coverage"]); g = {g["id"]: g for g in r["aggregate"]["regions"]}["train/step"]; n = g["instances"]; cut = 2 * r["coverage"]["windows"]["count"]; assert n > cut and 8 * (n - cut) <= g["kernel_count"] <= 8 * n and g["total_ms"] > 0' "$TMP/r.json"
}

runs_on() { # work that was recorded must have ended before it goes
	FAKE_CUPTI_LATE_MS=150 until_logged gone 1 "1 8 100" $BUDGET && gone -ge 1
}

threads() { # while others launch
	until_logged gone 1 "1000 8 100 4" $BUDGET && THREADS=5 gone -ge 1
}

idle() { # a window in which the program does nothing
	until_logged gone 1 "1 8 400000" window=time window.after_us=100000 window.for_us=50000 && gone -eq 1
}

ok "between windows of a budget CUPTI goes, and comes back" comes_back
ok "a graph from the beginning keeps it" graphs "$FAKE" recorded -eq 0
ok "a graph that comes later keeps it from then on" graphs "$TMP/graph" later -ge 1
ok "it stays where somebody else has the records" stolen
ok "where it is another's when it should come back the report says so" taken
ok "after a window of time it goes" after_time
ok "after a window of entries it goes, which has them all" after_entries
ok "windows of time may come again" again_and_again
ok "it waits for work that still runs" runs_on
ok "it goes while several threads launch" threads
ok "it goes after a window in which nothing ran" idle
