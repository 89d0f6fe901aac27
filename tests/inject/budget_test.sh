#!/usr/bin/env bash
# pipeline.native.budget: it chooses windows, and everything in them is captured. It works together with everything that works
# together with windows.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"

loop() { # NAME ARGUMENTS LINE…: the report of a run, valid; threads that have no ranges are left alone
	fresh cupti="$FAKE" "${@:3}"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" $2 >"$TMP/said" && "$SONDE" report "$OUT" report.threads=own -f json >"$TMP/$1.json" && "$SONDE" validate "$TMP/$1.json"
}
marks() { LC_ALL=C grep -aoP 'SBLK\x09\x00' "$OUT"/*.sonde | wc -l; } # blocks that say a window opens or closes
has_marks() { [ "$(marks)" -ge "$1" ]; }
until_marks() { # NUMBER COMMAND…: of a run that begins anew
	rm -rf "$OUT"
	goes_on_until "has_marks $1" "${@:2}"
}

# The number of launches of a step follows from its number: 8 and some more. The label of a step has its number, so the launches of
# a window are known: every step between the window's first and last one must be there, with all its launches.
whole() { # JSON: the dump has what the windows of the report hold, and the report has what the dump has
	dump >"$TMP/dump" && python3 - "$TMP/dump" "$1" <<-'P'
		import collections, json, re, sys
		def more(n):
		  m = (n + 1) * 0x9e3779b97f4a7c15 % 2**64
		  return ((m ^ m >> 29) * 0xbf58476d1ce4e5b9 % 2**64 >> 40) % 9
		r = json.load(open(sys.argv[2]))
		nr = collections.Counter()
		others = collections.Counter()
		for line in open(sys.argv[1]):
		  if line.startswith("launch"):
		    m = re.search(r"train/step (\d+)/layer", line)
		    if m: nr[int(m[1])] += 1
		    else: others[line] += 1
		runs, last = [], None
		for n in sorted(nr):
		  if last != n - 1: runs.append([])
		  runs[-1].append(n); last = n
		w = r["coverage"]["windows"]
		print(w, [(x[0], x[-1]) for x in runs], others, *r["notes"], sep="\n")
		assert 2 <= len(runs) <= w["count"] and sum(map(len, runs)) > 20, runs
		for x in runs: # a window may begin and end in the middle of a step
		  assert all(nr[n] == 8 + more(n) for n in x[1:-1]) and all(0 < nr[n] <= 8 + more(n) for n in (x[0], x[-1])), (x, nr)
		g = {g["id"]: g for g in r["aggregate"]["regions"]}
		assert sum(g[i]["kernel_count"] for i in g if i.endswith("/layer")) == sum(nr.values())
		assert 0 < w["captured_ms"] < w["of_ms"] and w["cost_pct"] > 0 and "total_ms_error" not in g["train"] and g["train"]["busy_ms"] > 0
	P
}
export FAKE_LOOP_VARIES=1
known() { FAKE_LOOP_NAMED=1 until_marks 9 loop known "1 8 100" flush_ms=5 budget_ppm=20000 && whole "$TMP/known.json"; }
start_end() { FAKE_LOOP_EPOCH=1 FAKE_LOOP_NAMED=1 until_marks 9 loop known "1 8 100" flush_ms=5 budget_ppm=20000 && whole "$TMP/known.json" && grep -q '"epoch"' "$TMP/known.json"; } # a start/end range around them is in every window

formats() { # every format says how much was captured, what it was allowed and what it took; a partial report too
	local f
	for f in text md html; do "$SONDE" report "$OUT" -f $f | tr -s '\n ' ' ' | grep -q 'captured in [0-9]* windows, [0-9.]* of [0-9.]* s (budget 2%, took [0-9.]*%)' || return; done
	"$SONDE" report "$OUT" --partial -o "$TMP/p.sondecells" && "$SONDE" report "$TMP/p.sondecells" -f json report.deterministic=true report.whatif=off | grep -v '"command"\|"files"' >"$TMP/a" &&
		"$SONDE" report "$OUT" -f json report.deterministic=true report.whatif=off | grep -v '"command"\|"files"' | diff - "$TMP/a" && grep -q '"budget_pct": 2' "$TMP/a" &&
		jq -e '.coverage.windows.captured_ms as $known | .findings | map(.cost.run_ms) | length > 0 and max <= $known' "$TMP/known.json" # of the time between windows nothing is known
}

ranges() { # outside windows they cost little, and something
	until_marks 9 loop ranges "1 1" flush_ms=5 budget_ppm=10000 && grep -Eo '[0-9.]+ % was lost between windows' "$TMP/ranges.json" | tee /dev/stderr | grep -qv '^0.00 '
}
unset_varies() { unset FAKE_LOOP_VARIES; "$@"; }

everything() { # with room for everything, all of it is one window
	loop all "300 2 1000" budget_ppm=1000000 && python3 - "$TMP/all.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		g = {g["id"]: g for g in r["aggregate"]["regions"]}["train"]
		assert g["kernel_count"] == 900 and r["coverage"]["windows"]["count"] == 1, g
	P
}

in_a_window() { # both: a budget's windows lie inside it
	FAKE_LOOP_NAMED=1 loop both "3000 4 200" budget_ppm=20000 window=entries 'window.label=step*' window.first=500 window.end=2500 && dump | python3 -c '
import re, sys
n = {int(m[1]) for m in re.finditer(r"^launch.* in train/step (\d+)/", sys.stdin.read(), re.M)}
print(min(n), max(n), len(n))
assert min(n) == 500 and max(n) < 2500 and len(n) < 1900'
}
in_times() { # in every other 100 ms of a loop
	until_marks 9 loop both "1 8 100" flush_ms=5 budget_ppm=200000 window=time window.for_us=100000 window.every_us=200000 && python3 -c '
import json, sys
w = json.load(open(sys.argv[1]))["coverage"]["windows"]
print(w)
assert w["count"] >= 3 and w["captured_ms"] < 0.6 * w["of_ms"] + 100' "$TMP/both.json"
}
by_profiler() { loop both "20 2" budget_ppm=1000000 window=profiler && python3 -c 'import json, sys; g = {g["id"]: g for g in json.load(open(sys.argv[1]))["aggregate"]["regions"]}; print(g); assert g["train/step"]["instances"] == 2 and g["train/step"]["kernel_count"] == 4' "$TMP/both.json"; }
by_range() { loop both "20 2" budget_ppm=1000000 window=range window.label=sonde@capture && python3 -c 'import json, sys; g = {g["id"]: g for g in json.load(open(sys.argv[1]))["aggregate"]["regions"]}; print(g); assert g["train/step"]["instances"] == 2 and g["train/step"]["kernel_count"] == 4' "$TMP/both.json"; }

without_cupti() { # ranges alone have their windows too
	FAKE_LOOP_NAMED=1 until_marks 9 loop ranges "1 1 100" flush_ms=5 cupti=off budget_ppm=1000 && python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
w = r["coverage"]["windows"]
print(w, *r["notes"])
assert w["count"] >= 3 and 0 < w["captured_ms"] < w["of_ms"]' "$TMP/ranges.json"
}

forked() { # each of five children begins with a window of its own, whatever the parent's budget allowed just then
	fresh cupti="$FAKE" budget_ppm=2000
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" 40 4 1000 0 fork >"$TMP/said" && dump >"$TMP/dump" &&
		[ "$(grep -c '^note this process was forked after CUDA began' "$TMP/dump")" = 5 ] && [ "$(grep -c '^note captured in [1-9]' "$TMP/dump")" = 6 ]
}

# The stand-in takes time: 6 µs of each recorded launch, 0.2 ms of a switch, and 2 ms behind it that no callback shows. What that came
# to is counted by it, in numbers of launches and switches: once the budget knows what windows cost, the windows that are paid for are
# within it. What the clock says it took, which is more on a busy machine, is what the library sees: a tenth of the budget at least is
# used. (tests/unit/pace_test.c has many programs, and made-up time.)
kept() { # LINE…: eight seconds, and as many windows as it takes to tell
	rm -f "$TMP/cost"
	FAKE_CUPTI_COST=$TMP/cost FAKE_CUPTI_RECORD_NS=6000 FAKE_CUPTI_SWITCH_US=200 FAKE_CUPTI_FIRST_US=2000 \
		goes_on_until tells_cost loop kept "1 8 100" budget_ppm=50000 lever.record_ns=500 "$@" &&
		cat "$TMP/cost" && read_cost && awk "BEGIN { exit !($spent > 0.005 * ($of - $lost) && $paid < 0.075 * ($paid_of - $paid)) }"
}
read_cost() { read -r _ lost _ of _ spent _ paid _ paid_of _ windows <"$TMP/cost"; }
tells_cost() { read_cost && [ "$paid_of" -ge 8000000000 ] && [ "$windows" -ge 8 ]; }

key() {
	local said
	"$SONDE" run -n pipeline.native.budget=2% -- true | grep -q '^plan' && said=$("$SONDE" run -n pipeline.native.budget=lots -- true 2>&1)
	grep -q "not a share of the program's time: write 2%" <<<"$said"
}

# --- what goes beside a budget, in runs -------------------------------------------------------------

run_with() { # NAME ARGUMENTS SETTING…: a run with a budget, and its report in $TMP/NAME.json
	local dir=$TMP/run.$1
	timeout 600 "$SONDE" run -q "hydra.run.dir=$dir" pipeline.native.budget=5% pipeline.native.cupti="$FAKE" "${@:3}" -- "$BUILD/fake/fake_loop" "$FAKE" $2 >"$TMP/said" 2>"$TMP/err" || {
		cat "$TMP/err"
		return 1
	}
	"$SONDE" report "$dir" -f json >"$TMP/$1.json" && "$SONDE" validate "$TMP/$1.json" && has_budget "$TMP/$1.json"
}
has_budget() { # JSON: there are windows, and launches in them, of which none is unknown
	python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["coverage"]
print(c)
assert c["windows"]["budget_pct"] == 5 and c["windows"]["count"] >= 1 and 0 < c["windows"]["captured_ms"] < c["windows"]["of_ms"]
assert c["launches_attributed"] > 0 and "launches_without_record" not in c' "$1"
}

with_counters() {
	[ -e "$BUILD/fake/libpm_fake.so" ] || return 0
	SONDE_CUPTI=$PWD/$BUILD/fake/libpm_fake.so run_with counters "10000 8 100" counters=basic && grep -q 'device 0 was sampled for' "$TMP/counters.json"
}
with_memory() { # the allocations of windows
	fresh cupti="$FAKE" memory=on budget_ppm=1000000
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_cuda" "$FAKE" 300 >"$TMP/said" && "$SONDE" report "$OUT" -f json | grep -q '"allocated_bytes"' && run_with memory "5000 8 100" pipeline.native.memory=true
}
with_rotation() { # one capture in several files
	run_with rotate "20000 8 100" capture.rotate=1s && ls "$TMP"/run.rotate/native | grep -q '\.sonde\.1$'
}
with_keep() { # the oldest of them are folded: windows and their launches are told once
	run_with keep "30000 8 100" capture.rotate=1s capture.keep=1 && grep -q 'its oldest files were folded' "$TMP/keep.json"
}
with_local() { mkdir -p "$TMP/place" && run_with local "5000 8 100" capture.local="$TMP/place" && [ -z "$(ls -A "$TMP/place")" ]; }
with_ranks() { # each rank has windows of its own
	local r
	for r in 0 1; do
		OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=budget timeout 600 "$SONDE" run -q hydra.run.dir="$TMP/run.ranks" pipeline.native.budget=5% pipeline.native.cupti="$FAKE" \
			-- "$BUILD/fake/fake_loop" "$FAKE" 5000 8 100 >"$TMP/out$r" 2>"$TMP/err$r" &
	done
	wait
	"$SONDE" report "$TMP/run.ranks" -f json >"$TMP/ranks.json" && "$SONDE" validate "$TMP/ranks.json" && has_budget "$TMP/ranks.json" && "$SONDE" report "$TMP/run.ranks" --per-scope | grep -q '^rank 1 '
}
with_ctl() { # paused, nothing opens; started, the budget's windows go on. With --every beside it.
	local run=$TMP/run.ctl OUT=$TMP/run.ctl/native pid status n
	rm -f "$TMP/stop"
	FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$run" pipeline.native.budget=5% pipeline.native.cupti="$FAKE" --every 200ms -- "$BUILD/fake/fake_loop" "$FAKE" 1 8 100 >"$TMP/said" 2>"$TMP/err" &
	pid=$!
	wait_for sh -c "ls $run/native/*.sonde $run/native/ctl.$pid" && wait_for has_marks 5 && wait_for grep -q 'budget 5%' "$TMP/err" && "$SONDE" ctl $pid stop | grep -qx paused && sleep 0.3 && n=$(marks) && sleep 0.7 && [ "$(marks)" = "$n" ] &&
		"$SONDE" ctl $pid start | grep -qx capturing && wait_for has_marks $((n + 3)) && "$SONDE" ctl $pid report | grep -q 'budget 5%'
	status=$?
	touch "$TMP/stop"
	wait $pid && [ $status = 0 ]
}

ok "a budget's windows have every launch of every step in them" known
ok "every format says how much was captured, what was allowed and what it took" formats
ok "a start/end range is known in each of a budget's windows" start_end
ok "ranges between windows are accounted for" ranges
ok "a budget that is large enough is one window" unset_varies everything
ok "a budget inside a window of entries has windows inside it" unset_varies in_a_window
ok "a budget inside windows of time has windows inside them" in_times
ok "a budget inside cudaProfilerStart and Stop" unset_varies by_profiler
ok "a budget inside the range sonde@capture" unset_varies by_range
ok "a budget without CUPTI chooses windows of ranges" without_cupti
ok "a child begins with a window" forked
ok "the budget is a share of the program's time" key
ok "what the program loses is within the budget, seen by callbacks or not" unset_varies kept lever.call_ns=0
ok "a budget beside counters" with_counters
ok "a budget beside memory" with_memory
ok "a budget beside capture.rotate" with_rotation
ok "a budget beside capture.keep" with_keep
ok "a budget beside capture.local" with_local
ok "a budget in several ranks" with_ranks
ok "a budget beside sonde ctl and --every" with_ctl
