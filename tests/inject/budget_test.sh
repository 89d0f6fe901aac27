#!/usr/bin/env bash
# pipeline.native.budget: GPU work is timed now and then, launches are counted all the time.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"
export FAKE_CUPTI_VARIES=1 # every launch takes as long in every run

loop() { # NAME ARGUMENTS LINE…: the report of a run, valid; threads that have no ranges are left alone
	fresh cupti="$FAKE" "${@:3}"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" $2 >/dev/null && "$SONDE" report "$OUT" report.threads=own -f json >"$TMP/$1.json" && "$SONDE" validate "$TMP/$1.json"
}

# What callbacks and records are taken to cost makes a small budget one that counts all launches, or one that does not.
COUNTED="lever.call_ns=0 lever.record_ns=2000" SAMPLED="lever.call_ns=30000"

judge() { # NAME…: entries are exact, times within their ±; launches exact, or within theirs where they are estimates
	python3 - "$TMP" "$@" <<-'P'
		import json, sys
		read = lambda n: json.load(open(f"{sys.argv[1]}/{n}.json"))
		full = read("full")
		truth = {g["id"]: g for g in full["aggregate"]["regions"]}
		assert "timed" not in full["coverage"] and "total_ms_error" not in truth["train"]
		for name in sys.argv[2:]:
		  r = read(name)
		  t = r["coverage"]["timed"]
		  print(name, t, *r["notes"], sep="\n")
		  is_sampled = name == "sampled"
		  assert t["method"] == "windowed" and 0 < t["launches_timed"] <= t["launches"] and t["launches_are"] == ("estimated" if is_sampled else "counted"), t
		  assert is_sampled or t["launches_timed"] < t["launches"] == truth["train"]["kernel_count"] + truth["sonde@capture"]["kernel_count"]
		  assert is_sampled == any("their numbers are estimates too" in n for n in r["notes"])
		  for g in r["aggregate"]["regions"]:
		    w = truth[g["id"]]
		    print(g["id"], w["total_ms"], g["total_ms"], g.get("total_ms_error"), g.get("timed_launches"), w["kernel_count"], g["kernel_count"], g.get("kernel_count_error"))
		    assert g["instances"] == w["instances"]
		    assert is_sampled or (g["kernel_count"] == w["kernel_count"] and "kernel_count_error" not in g), (g, w)
		    if is_sampled and "kernel_count_error" in g:
		      assert abs(g["kernel_count"] - w["kernel_count"]) <= 1 + 3 * g["kernel_count_error"], (g, w)
		    if ("total_ms_error" in g or not is_sampled) and w["kernel_count"] > 1000: # the others are too rare; one in twenty is beyond ±, none beyond three times that
		      assert abs(g["total_ms"] - w["total_ms"]) <= 3 * g["total_ms_error"], (g, w)
		      assert is_sampled or (abs(g["total_ms"] - w["total_ms"]) < 0.05 * w["total_ms"] and 0 < g["total_ms_error"] < 0.2 * w["total_ms"]), (g, w)
	P
}

# How many windows there are is a matter of time. Those of few steps are enough, or it takes more steps.
STEPS=4000
estimates() {
	for STEPS in 4000 8000 16000 32000; do
		loop part "$STEPS 8 200" budget_ppm=3000 $COUNTED && loop more "$STEPS 8 200" budget_ppm=6000 $COUNTED || return
		if tells part && tells more; then break; fi
	done
	cp -r "$OUT" "$TMP/more" && loop full "$STEPS 8 200" && rm -r "$OUT" && mv "$TMP/more" "$OUT" && judge part more
}
tells() { # NAME: of what was launched often enough ± is narrower than a fifth
	python3 -c 'import json, sys; sys.exit(not all(g.get("total_ms_error", g["total_ms"]) < 0.2 * g["total_ms"] for g in json.load(open(sys.argv[1]))["aggregate"]["regions"] if g["kernel_count"] > 1000))' "$TMP/$1.json"
}

sampled() { # callbacks follow the windows; text says about, and ±
	FAKE_LOOP_VARIES=1 loop sampled "4000 8 200" budget_ppm=200000 $SAMPLED && "$SONDE" report "$OUT" report.threads=own >"$TMP/text" &&
		grep -q '^about [0-9]* of [0-9]* launches in regions' "$TMP/text" && tr '\n' ' ' <"$TMP/text" | grep -q 'times and numbers *of *launches *are *estimates' &&
		grep -q '^region .*launches *± ' "$TMP/text" && FAKE_LOOP_VARIES=1 loop full "4000 8 200" && judge sampled
}

unseen() { # a region that nobody looked at is said to be unknown, not to be empty
	FAKE_LOOP_VARIES=1 loop unseen "3000 2 200" budget_ppm=100 lever.call_ns=100000 && python3 - "$TMP/unseen.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		g = {g["id"]: g for g in r["aggregate"]["regions"]}
		print(r["notes"], g["last"])
		assert g["last"]["kernel_count"] == 0 and g["last"]["instances"] == 1 and "kernel_count_error" not in g["last"]
		assert any("too rare to be looked at" in n for n in r["notes"])
	P
}

formats() { # every format has ±
	"$SONDE" report "$OUT" | tee /dev/stderr | grep -q '± .s *timed' && "$SONDE" report "$OUT" | tr '\n' ' ' | grep -q 'windowed: [0-9.]*% of *the *launches were timed' &&
		"$SONDE" report "$OUT" -f csv | head -1 | grep -q ',inclusive_ms_error,timed_launches,' && "$SONDE" report "$OUT" -f md | grep -q '± .s' && "$SONDE" report "$OUT" -f html | grep -q 'total_ms_error\|± ms'
}

partial() { # a partial report keeps it all
	"$SONDE" report "$OUT" --partial -o "$TMP/p.sondecells" && "$SONDE" report "$TMP/p.sondecells" -f json report.deterministic=true | grep -v '"command"\|"files"' >"$TMP/a" &&
		"$SONDE" report "$OUT" -f json report.deterministic=true | grep -v '"command"\|"files"' | diff - "$TMP/a"
}

rare() { # what was never timed is counted and said
	loop rare "3000 2 200" budget_ppm=200 $COUNTED && python3 - "$TMP/rare.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		g = {g["id"]: g for g in r["aggregate"]["regions"]}
		print(r["notes"], g["sonde@capture"])
		assert g["train/step"]["kernel_count"] == 6000
		unseen = g["sonde@capture"]["timed_launches"] == 0
		assert unseen == any("too rare to be timed" in n for n in r["notes"])
		assert not unseen or g["sonde@capture"]["total_ms"] == 0
	P
}

selected() { # a choice of kernels is estimated by all launches of their places; where nothing was timed no name is known, and they are not among the chosen
	"$SONDE" report "$OUT" -f json >"$TMP/a.json" && "$SONDE" report "$OUT" --kernel-include gemm_tile -f json >"$TMP/s.json" && "$SONDE" validate "$TMP/s.json" && python3 - "$TMP/s.json" "$TMP/a.json" "$STEPS" <<-'P'
		import json, sys
		g, all = ({g["id"]: g for g in json.load(open(f))["aggregate"]["regions"]} for f in sys.argv[1:3])
		unnamed = sum(k["calls"] for k in all["train/step"]["kernels"] if k["kernel_name"] == "(not timed)")
		print(g["train"], unnamed)
		assert unnamed in (0, 16) # two steps lie in a second range as well: a place of their own, where perhaps nothing was timed
		assert g["train/step"]["kernel_count"] == g["train"]["kernel_count"] == 8 * int(sys.argv[3]) - unnamed
		for r in g["train"], g["train/step"]: # an estimate has an error, and no times that need every launch
		  assert r["timed_launches"] < r["kernel_count"] and r["total_ms_error"] > 0 and r.get("busy_ms") is None, r
	P
}

few() { # a window costs more than the rest of the run can pay for
	loop few "50 2 100" budget_ppm=100 && grep -Eq 'timed in [123] windows?, and' "$TMP/few.json" && grep -q 'so few windows say little about how far off the estimates are' "$TMP/few.json"
}

ranges() { # are paid too where patterns choose among them: counting costs nothing here, so what goes on all the time is what they take
	loop gated "20000 1" budget_ppm=10000 lever.call_ns=0 'nvtx.include=*' && grep -Eo '[0-9.]+ % for what goes on all the time' "$TMP/gated.json" | tee /dev/stderr | grep -qv '^0.00 '
}

whole_again() { # with room for everything, everything is timed
	loop all "300 2 1000" budget_ppm=1000000 && python3 - "$TMP/all.json" <<-'P'
		import json, sys
		g = {g["id"]: g for g in json.load(open(sys.argv[1]))["aggregate"]["regions"]}["train"]
		assert g["timed_launches"] == g["kernel_count"] == 900 and g["total_ms_error"] == 0, g
	P
}

with_windows() { # both: counted and timed inside windows only
	loop both "2000 4 200" budget_ppm=5000 $COUNTED window=entries window.label=step window.first=500 window.end=1500 && python3 - "$TMP/both.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		g = {g["id"]: g for g in r["aggregate"]["regions"]}
		print(r["coverage"])
		assert g["train/step"]["instances"] == 1000 and g["train/step"]["kernel_count"] == 4000 and r["coverage"]["launches_unattributed"] == 0
	P
}

# The stand-in takes time: 6 µs of each recorded launch, 0.2 ms of a switch, and 2 ms behind it that no callback shows. What that came
# to is counted by it, in numbers of launches and switches: that is within the budget. What the clock says it took, which is more
# on a busy machine, is what the library sees: a tenth of the budget at least is used. (tests/unit/pace_test.c has many programs, and made-up time.)
kept() { # LINE…: eight seconds, and as many switches as it takes to tell
	rm -f "$TMP/cost"
	FAKE_CUPTI_COST=$TMP/cost FAKE_CUPTI_RECORD_NS=6000 FAKE_CUPTI_SWITCH_US=200 FAKE_CUPTI_FIRST_US=2000 \
		goes_on_until tells_cost loop kept "1 8 100" budget_ppm=50000 lever.record_ns=500 "$@" &&
		cat "$TMP/cost" && awk '{ exit !($6 >= 10 && $10 > 0.005 * ($4 - $2) && $2 < 0.075 * ($4 - $2)) }' "$TMP/cost"
}
tells_cost() { awk '{ ns = $4; n = $6 } END { exit !(ns >= 8e9 && n >= 12) }' "$TMP/cost"; }

key() {
	local said
	"$SONDE" run -n pipeline.native.budget=2% -- true | grep -q '^plan' && said=$("$SONDE" run -n pipeline.native.budget=lots -- true 2>&1)
	grep -q "not a share of the program's time: write 2%" <<<"$said" && said=$("$SONDE" run -n pipeline.native.budget=2% counters=basic -- true 2>&1)
	grep -q 'budget and counters do not go together' <<<"$said" && said=$("$SONDE" run -n pipeline.native.budget=2% pipeline.native.memory=true -- true 2>&1)
	grep -q 'memory do not go together' <<<"$said"
}

ok "entries and launches are exact and times within their interval" estimates
ok "every format says how far off times may be" formats
ok "a choice of kernels is estimated by all launches of their places" selected
ok "a partial report keeps estimates and intervals" partial
ok "regions too rare to be timed say so" rare
ok "a report of few windows says what they are worth" few
ok "ranges are paid though patterns choose among them" ranges
ok "a budget that is large enough times everything" whole_again
ok "a budget inside a window counts what is in it" with_windows
ok "the budget is a share of the program's time" key
ok "where counting exceeds the budget launches are estimates, within their interval" sampled
ok "regions too rare to be looked at say so" unseen
ok "what the program loses is within the budget, seen by callbacks or not" kept lever.call_ns=0
ok "so it is where launches are counted at times only" kept lever.call_ns=3000
